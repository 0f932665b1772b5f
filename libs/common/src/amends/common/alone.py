"""A service in a process of its own, on a NATS that somebody else runs: settings, health, signals, and its end."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from amends.common import children
from amends.common.bus.link import Link
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import Reporter
from amends.common.logs import say, set_up
from amends.common.ops import Ops, OpsNotServed
from amends.common.owned import InUse
from amends.common.settings import Settings

_LOG = logging.getLogger(__name__)
OK, USAGE, UNREACHABLE = 0, 2, 3
_SOON = 2.0  # within which a server that is there lets us in


class Checked(Protocol):
    """A service, at work."""

    def checks(self) -> dict[str, str]:
        """What has to be right for it to be of use, one key each."""
        ...


Work = Callable[[NatsRecorder, Link], AbstractAsyncContextManager[Checked]]


@dataclass
class Post:
    """Where a service stands: a link that opens as soon as it can, the address of its health, a signal to end."""

    service: Reporter
    link: Link
    opening: asyncio.Task[Link]
    stop: asyncio.Event
    address: str = ""
    working: Checked | None = None

    @property
    def recorder(self) -> NatsRecorder:
        """Whom it reports to."""
        return NatsRecorder(self.link, self.service)

    def checks(self) -> dict[str, str]:
        """What has to be right for it to be of use, one key each."""
        working = self.working.checks() if self.working else {str(self.service): "not at work yet"}
        return {**working, "nats": self.link.health()}


def serve(settings: Settings, service: Reporter, work: Work, unusable: tuple[type[Exception], ...]) -> int:
    """Have it work until a signal; answers the exit code. `unusable` is what its settings or this machine lack."""
    if not told(settings):
        return USAGE
    try:
        # Not `amends.common.runner`: uvloop leaves files open in the processes it starts, and some run strangers' code.
        children.run(_served(settings, service, work))
    except unusable as error:
        say(str(error))
        return USAGE
    except (OpsNotServed, InUse) as error:
        say(str(error))
        return UNREACHABLE
    return OK


def told(settings: Settings) -> bool:
    """Whether it was told where NATS is, which is said if not; from here on there are logs."""
    set_up(settings.log_level, settings.secrets)
    if not settings.nats_url:
        say("nats_url is not set: give --nats, or AMENDS_NATS_URL, or use `amends up`")
    return bool(settings.nats_url)


def told_to_end() -> asyncio.Event:
    """Set by a signal to end: also by the end of the terminal, unless `nohup` says that it is to be survived."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) != signal.SIG_IGN:
            loop.add_signal_handler(name, stop.set)
    return stop


async def opened(link: Link) -> Link:
    """Connect, however long that takes; whoever waits for us is told what we wait for."""
    opening = asyncio.create_task(link.open())
    try:
        await asyncio.wait({opening}, timeout=_SOON)
        if not opening.done():
            _LOG.warning("NATS does not answer: waiting for it", extra={"error": link.health()})
        return await opening
    finally:
        opening.cancel()


@asynccontextmanager
async def standing(settings: Settings, service: Reporter) -> AsyncIterator[Post]:
    """A service's post for the length of a block; NATS may come later."""
    stop = told_to_end()
    link = Link(settings.nats_as(service), service)
    post = Post(service, link, asyncio.create_task(opened(link)), stop)
    ops = Ops(settings.ops_host, settings.ops_port, post.checks)
    try:
        post.address = ops.start()
        yield post
    finally:
        post.opening.cancel()
        await link.close()
        ops.stop()


async def _served(settings: Settings, service: Reporter, work: Work) -> None:
    async with standing(settings, service) as post:
        say(f"{service}, health and metrics {post.address}")
        stopping = asyncio.create_task(post.stop.wait())
        await asyncio.wait({stopping, post.opening}, return_when=asyncio.FIRST_COMPLETED)
        if post.opening.done():
            async with work(post.recorder, post.link) as post.working:
                await stopping
