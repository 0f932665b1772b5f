"""`amends up`: a nats-server of our own and all services that exist, in one process, with one directory of data.

The services are imported while nats-server starts: half of the time until it is ready is the loading of libraries.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amends.common.bus.embedded import EmbeddedServer, NotStarted, write_private
from amends.common.logs import set_up
from amends.common.settings import Settings

if TYPE_CHECKING:
    from amends.evaluator.app import Evaluator

log = logging.getLogger(__name__)
OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
STUCK_SECONDS = 15.0


class InUse(Exception):
    """Another amends works with this directory."""


def main(settings: Settings) -> int:
    """Run until a signal; answers the exit code."""
    set_up(settings.log_level, settings.secrets)
    try:
        with owned(settings.data_dir):
            return _until_the_end(_up(settings))
    except InUse as error:
        return _failed(error, UNREACHABLE)


def serve(settings: Settings) -> int:
    """`amends run evaluator`: the evaluator alone, on a NATS that somebody else runs."""
    set_up(settings.log_level, settings.secrets)
    if not settings.nats_url:
        sys.stderr.write("amends: nats_url is not set: give --nats, or AMENDS_NATS_URL, or use `amends up`\n")
        return USAGE
    return _until_the_end(_evaluate(settings, settings.nats_address))


def _until_the_end(work: Coroutine[Any, Any, None]) -> int:
    try:
        asyncio.run(work)
    except Exception as error:
        code = _ended_by(error)
        if code is None:
            raise
        return code
    return OK


def _ended_by(error: Exception) -> int | None:
    """The exit code after this, which is told; None when it was not foreseen."""
    from amends.common.log import LogUnreachable
    from amends.common.ops import OpsNotServed
    from amends.evaluator.relay import STOPPED

    away = (NotStarted, LogUnreachable, OpsNotServed)
    if isinstance(error, away):
        return _failed(error, UNREACHABLE)
    if isinstance(error, STOPPED):
        return _failed(error, FAILED)
    if isinstance(error, ExceptionGroup):
        known = (*STOPPED, *away)
        return max(_failed(one if isinstance(one, known) else repr(one), FAILED) for one in error.exceptions)
    return None


def _failed(why: object, code: int) -> int:
    sys.stderr.write(f"amends: {why}\n")
    return code


async def _up(settings: Settings) -> None:
    if settings.nats_url:
        with _told(settings, settings.nats_address):
            await _evaluate(settings, settings.nats_address)
        return
    loading = asyncio.create_task(asyncio.to_thread(import_module, "amends.evaluator.app"))
    async with EmbeddedServer(settings.data_dir / "nats") as server:
        await loading
        with _told(settings, *server.urls):
            await _evaluate(settings, server.url("evaluator"), server)


@contextmanager
def _told(settings: Settings, *nats_urls: str) -> Iterator[None]:
    """Leave word of where it is, and of how its users are let in, for the other commands of whoever owns it."""
    where = settings.data_dir / "nats.url"
    write_private(where, "".join(f"{url}\n" for url in nats_urls))
    try:
        yield
    finally:
        where.unlink(missing_ok=True)


async def _evaluate(settings: Settings, nats_url: str, server: EmbeddedServer | None = None) -> None:
    from amends.common.log.engine import database, named
    from amends.evaluator.app import run

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    async with AsyncExitStack() as stack:

        async def ready(evaluator: Evaluator, ops: str) -> None:
            sys.stderr.write(f"amends: up. log {named(database(settings.database))}, health and metrics {ops}\n")
            sys.stderr.flush()
            if server is not None:
                stack.callback(asyncio.create_task(_nursed(server, evaluator)).cancel)

        await run(settings, nats_url, stop, ready)


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


@contextmanager
def owned(data_dir: Path) -> Iterator[None]:
    """The directory, made if it is not there, and ours alone; a predecessor that was killed holds nothing."""
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUse(f"{data_dir} is in use by another amends: stop it, or give another --data-dir") from error
        yield
    finally:
        os.close(lock)
