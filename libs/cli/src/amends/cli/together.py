"""The services in one process: the evaluator, and what runs beside it. Slow to load, which `up` does on the side."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TypeAlias, TypeVar

from amends.cli import child
from amends.comment_fetcher import app as comment_fetcher
from amends.common.alone import Checked, told_to_end
from amends.common.bus.embedded import EmbeddedServer, NotStarted
from amends.common.bus.link import Link
from amends.common.events import Reporter
from amends.common.git import GitMissing
from amends.common.github.client import Nobody
from amends.common.log import LogUnreachable
from amends.common.log.engine import database, named
from amends.common.logs import say
from amends.common.ops import OpsNotServed
from amends.common.owned import InUse
from amends.common.settings import Settings
from amends.evaluator.app import Evaluator, run
from amends.evaluator.following import followed
from amends.evaluator.recorder import LocalRecorder
from amends.evaluator.relay import STOPPED
from amends.evaluator.situations import KnowingRecorder
from amends.gateway import app as gateway
from amends.notifier import app as notifier
from amends.publisher import app as publisher

log = logging.getLogger(__name__)
STUCK_SECONDS = 15.0
Begun = TypeVar("Begun", bound=Checked)
Work: TypeAlias = AbstractAsyncContextManager[Checked]
Beside: TypeAlias = Callable[[Evaluator, str], AbstractAsyncContextManager[None]]
UNREACHABLE = (NotStarted, LogUnreachable, OpsNotServed, gateway.NotServed, Nobody, GitMissing, InUse)
FORESEEN = (*STOPPED, *UNREACHABLE)


async def evaluate(settings: Settings, nats_url: str, beside: Beside) -> None:
    """The evaluator, and what runs beside it once it accepts reports, until a signal."""
    await run(settings, nats_url, told_to_end(), beside)


@asynccontextmanager
async def nobody(settings: Settings, _evaluator: Evaluator, ops: str) -> AsyncIterator[None]:
    _say_up(settings, f"health and metrics {ops}")
    yield


@asynccontextmanager
async def others(
    settings: Settings, server: EmbeddedServer | None, evaluator: Evaluator, ops: str
) -> AsyncIterator[None]:
    """The other services, which report to the evaluator directly, and somebody who looks after our nats-server."""
    async with AsyncExitStack() as stack:
        if server is not None:
            stack.callback(asyncio.create_task(_nursed(server, evaluator)).cancel)

        def local(service: Reporter) -> LocalRecorder:
            return LocalRecorder(evaluator.recorder, service, evaluator.log.blob)

        async def begun(work: AbstractAsyncContextManager[Begun]) -> Begun:
            working = await stack.enter_async_context(work)
            evaluator.beside.append(working.checks)
            return working

        def hearing(service: Reporter, work: Callable[[Link], Work]) -> Work:
            return _linked(_bus(settings, server, service), service, work)

        serving = await begun(gateway.serving(settings, local(gateway.SERVICE)))
        if settings.github.known:
            following = partial(asyncio.to_thread, followed, evaluator.log)
            fetching = partial(comment_fetcher.fetching, settings, local(comment_fetcher.SERVICE), following)
            publishing = partial(publisher.publishing, settings, local(publisher.SERVICE))
            await begun(hearing(comment_fetcher.SERVICE, fetching))
            await begun(child.fixing(settings, _bus(settings, server, "fixer")))
            await begun(hearing(publisher.SERVICE, publishing))
        if notifier.useful(settings):
            recorder = KnowingRecorder(evaluator.recorder, notifier.SERVICE, evaluator.log)
            await begun(hearing(notifier.SERVICE, partial(notifier.notifying, settings, recorder)))
        _say_up(settings, f"gateway {serving.address}, health and metrics {ops}")
        if not settings.github.known:
            say("GitHub is not read, nothing is fixed: set github.app_id and its private key, or github.token")
        yield


@asynccontextmanager
async def _linked(nats_url: str, service: Reporter, work: Callable[[Link], Work]) -> AsyncIterator[Checked]:
    """A service that hears events over the bus, and reports to the evaluator directly."""
    link = await Link(nats_url, service).open()
    try:
        async with work(link) as working:
            yield working
    finally:
        await link.close()


def _bus(settings: Settings, server: EmbeddedServer | None, service: Reporter) -> str:
    return server.url(service) if server else settings.nats_as(service)


def _say_up(settings: Settings, where: str) -> None:
    say(f"up. log {named(database(settings.database))}, {where}")


async def _nursed(server: EmbeddedServer, evaluator: Evaluator) -> None:
    """A nats-server whose disk was full takes nothing more until it is restarted, and nobody else would do that."""
    since = time.monotonic()
    while True:
        await asyncio.sleep(1)
        relay, now = evaluator.relay, time.monotonic()
        if relay.standing != "failing" or evaluator.recorder.trouble or not evaluator.link.connected:
            since = now
        elif now - since > STUCK_SECONDS:
            log.warning("nats-server takes nothing any more: restarting it", extra={"error": relay.error})
            server.restart()
            since = now
