"""A service in a process of its own, on a NATS that somebody else runs: settings, health, signals, and its end."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from amends.common.bus.link import Link
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import Reporter
from amends.common.logs import set_up
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


def serve(settings: Settings, service: Reporter, work: Work, unusable: tuple[type[Exception], ...]) -> int:
    """Have it work until a signal; answers the exit code. `unusable` is what its settings or this machine lack."""
    set_up(settings.log_level, settings.secrets)
    if not settings.nats_url:
        sys.stderr.write("amends: nats_url is not set: give --nats, or AMENDS_NATS_URL, or use `amends up`\n")
        return USAGE
    try:
        # Not `amends.common.runner`: uvloop leaves files open in the processes it starts, and some run strangers' code.
        asyncio.run(_served(settings, service, work))
    except unusable as error:
        sys.stderr.write(f"amends: {error}\n")
        return USAGE
    except (OpsNotServed, InUse) as error:
        sys.stderr.write(f"amends: {error}\n")
        return UNREACHABLE
    return OK


def told_to_end() -> asyncio.Event:
    """Set by a signal to end: also by the end of the terminal, unless `nohup` says that it is to be survived."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(name) != signal.SIG_IGN:
            loop.add_signal_handler(name, stop.set)
    return stop


async def opened(link: Link) -> None:
    """Connect, however long that takes; whoever waits for us is told what we wait for."""
    opening = asyncio.create_task(link.open())
    try:
        await asyncio.wait({opening}, timeout=_SOON)
        if not opening.done():
            _LOG.warning("NATS does not answer: waiting for it", extra={"error": link.health()})
        await opening
    finally:
        opening.cancel()


async def _served(settings: Settings, service: Reporter, work: Work) -> None:
    stop = told_to_end()
    link = Link(settings.nats_as(service), service)
    running: list[Checked] = []

    def checks() -> dict[str, str]:
        working = running[0].checks() if running else {str(service): "not at work yet"}
        return {**working, "nats": link.health()}

    ops = Ops(settings.ops_host, settings.ops_port, checks)
    sys.stderr.write(f"amends: {service}, health and metrics {ops.start()}\n")
    sys.stderr.flush()
    stopping = asyncio.create_task(stop.wait())
    opening = asyncio.create_task(opened(link))
    try:
        await asyncio.wait({stopping, opening}, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            async with work(NatsRecorder(link, service), link) as working:
                running.append(working)
                await stopping
    finally:
        opening.cancel()
        await link.close()
        ops.stop()
