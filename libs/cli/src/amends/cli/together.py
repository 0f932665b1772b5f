"""The services in one process: the evaluator, and what runs beside it. Slow to load, which `up` does on the side."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TypeAlias

from amends.cli import child
from amends.comment_fetcher import app as comment_fetcher
from amends.common.bus.embedded import EmbeddedServer, NotStarted
from amends.common.bus.link import Link
from amends.common.events import Reporter
from amends.common.git import GitMissing
from amends.common.github.client import Nobody
from amends.common.log import LogUnreachable
from amends.common.log.engine import database, named
from amends.common.ops import OpsNotServed
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
Beside: TypeAlias = Callable[[Evaluator, str], AbstractAsyncContextManager[None]]
UNREACHABLE = (NotStarted, LogUnreachable, OpsNotServed, gateway.NotServed, Nobody, GitMissing)
FORESEEN = (*STOPPED, *UNREACHABLE)


async def evaluate(settings: Settings, nats_url: str, beside: Beside) -> None:
    """The evaluator, and what runs beside it once it accepts reports, until a signal."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    await run(settings, nats_url, stop, beside)


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
        recorder = LocalRecorder(evaluator.recorder, gateway.SERVICE, evaluator.log.blob)
        serving = await stack.enter_async_context(gateway.serving(settings, recorder))
        evaluator.beside.append(serving.checks)
        if settings.github.known:
            entered = stack.enter_async_context
            fetcher = await entered(_fetching(settings, _bus(settings, server, comment_fetcher.SERVICE), evaluator))
            fixer = await entered(child.fixing(settings, _bus(settings, server, "fixer")))
            publishing = await entered(_publishing(settings, _bus(settings, server, publisher.SERVICE), evaluator))
            evaluator.beside += [fetcher.checks, fixer.checks, publishing.checks]
        if notifier.useful(settings):
            notifying = _notifying(settings, _bus(settings, server, notifier.SERVICE), evaluator)
            evaluator.beside.append((await stack.enter_async_context(notifying)).checks)
        _say_up(settings, f"gateway {serving.address}, health and metrics {ops}")
        if not settings.github.known:
            sys.stderr.write(
                "amends: GitHub is not read, nothing is fixed: set github.app_id and its private key, or github.token\n"
            )
        yield


@asynccontextmanager
async def _fetching(settings: Settings, nats_url: str, evaluator: Evaluator) -> AsyncIterator[comment_fetcher.Fetcher]:
    """The comment-fetcher: it hears events over the bus, and reports to the evaluator directly."""
    recorder = LocalRecorder(evaluator.recorder, comment_fetcher.SERVICE, evaluator.log.blob)
    link = await Link(nats_url, comment_fetcher.SERVICE).open()
    try:
        following = partial(asyncio.to_thread, followed, evaluator.log)
        async with comment_fetcher.fetching(settings, recorder, following, link) as fetcher:
            yield fetcher
    finally:
        await link.close()


@asynccontextmanager
async def _publishing(settings: Settings, nats_url: str, evaluator: Evaluator) -> AsyncIterator[publisher.Publishing]:
    """The publisher, in the same way."""
    recorder = LocalRecorder(evaluator.recorder, publisher.SERVICE, evaluator.log.blob)
    link = await Link(nats_url, publisher.SERVICE).open()
    try:
        async with publisher.publishing(settings, recorder, link) as working:
            yield working
    finally:
        await link.close()


@asynccontextmanager
async def _notifying(settings: Settings, nats_url: str, evaluator: Evaluator) -> AsyncIterator[notifier.Notifying]:
    """The notifier, in the same way."""
    recorder = KnowingRecorder(evaluator.recorder, notifier.SERVICE, evaluator.log)
    link = await Link(nats_url, notifier.SERVICE).open()
    try:
        async with notifier.notifying(settings, recorder, link) as working:
            yield working
    finally:
        await link.close()


def _bus(settings: Settings, server: EmbeddedServer | None, service: Reporter) -> str:
    return server.url(service) if server else settings.nats_as(service)


def _say_up(settings: Settings, where: str) -> None:
    sys.stderr.write(f"amends: up. log {named(database(settings.database))}, {where}\n")
    sys.stderr.flush()


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
