"""`amends up`: a nats-server of our own and all services that exist, in one process, with one directory of data."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from amends.cli import child
from amends.comment_fetcher import app as comment_fetcher
from amends.common.bus.embedded import EmbeddedServer, NotStarted, write_private
from amends.common.bus.link import Link
from amends.common.git import GitMissing
from amends.common.github.client import Nobody
from amends.common.log import LogUnreachable
from amends.common.log.engine import database, named
from amends.common.logs import set_up
from amends.common.ops import OpsNotServed
from amends.common.settings import Settings
from amends.evaluator.app import Evaluator, run
from amends.evaluator.following import followed
from amends.evaluator.recorder import LocalRecorder
from amends.evaluator.relay import STOPPED
from amends.gateway import app as gateway
from amends.publisher import app as publisher

log = logging.getLogger(__name__)
OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3
STUCK_SECONDS = 15.0
Beside: TypeAlias = Callable[[Evaluator, str], AbstractAsyncContextManager[None]]
_UNREACHABLE = (NotStarted, LogUnreachable, OpsNotServed, gateway.NotServed, Nobody, GitMissing)


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
    return _until_the_end(_evaluate(settings, settings.nats_address, partial(_nobody, settings)))


def _until_the_end(work: Coroutine[Any, Any, None]) -> int:
    try:
        asyncio.run(work)
    except _UNREACHABLE as error:
        return _failed(error, UNREACHABLE)
    except STOPPED as error:
        return _failed(error, FAILED)
    except ExceptionGroup as group:
        codes = {failure: UNREACHABLE if isinstance(failure, _UNREACHABLE) else FAILED for failure in group.exceptions}
        return max(_failed(failure, code) for failure, code in codes.items())
    return OK


def _failed(error: Exception, code: int) -> int:
    known = isinstance(error, (*STOPPED, *_UNREACHABLE, InUse))
    sys.stderr.write(f"amends: {error if known else repr(error)}\n")
    return code


async def _up(settings: Settings) -> None:
    if settings.nats_url:
        with _told(settings, settings.nats_address):
            await _evaluate(settings, settings.nats_address, partial(_others, settings, None))
        return
    async with EmbeddedServer(settings.data_dir / "nats") as server:
        with _told(settings, *server.urls):
            await _evaluate(settings, server.url("evaluator"), partial(_others, settings, server))


@contextmanager
def _told(settings: Settings, *nats_urls: str) -> Iterator[None]:
    """Leave word of where it is, and of how its users are let in, for the other commands of whoever owns it."""
    where = settings.data_dir / "nats.url"
    write_private(where, "".join(f"{url}\n" for url in nats_urls))
    try:
        yield
    finally:
        where.unlink(missing_ok=True)


async def _evaluate(settings: Settings, nats_url: str, beside: Beside) -> None:
    """The evaluator, and what runs beside it once it accepts reports, until a signal."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    await run(settings, nats_url, stop, beside)


@asynccontextmanager
async def _nobody(settings: Settings, _evaluator: Evaluator, ops: str) -> AsyncIterator[None]:
    _say_up(settings, f"health and metrics {ops}")
    yield


@asynccontextmanager
async def _others(
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
            nats_url = server.url(comment_fetcher.SERVICE) if server else settings.nats_address
            fetcher = await stack.enter_async_context(_fetching(settings, nats_url, evaluator))
            evaluator.beside.append(fetcher.checks)
            fixer_url = server.url("fixer") if server else settings.nats_address
            fixer = await stack.enter_async_context(child.fixing(settings, fixer_url))
            evaluator.beside.append(fixer.checks)
            nats_url = server.url(publisher.SERVICE) if server else settings.nats_address
            publishing = await stack.enter_async_context(_publishing(settings, nats_url, evaluator))
            evaluator.beside.append(publishing.checks)
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
