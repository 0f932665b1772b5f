"""`amends up`: a nats-server of our own and all services that exist, in one process, with one directory of data.

The services are loaded while nats-server starts: loading libraries is most of the time until it is ready.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from amends.common.bus.embedded import EmbeddedServer, write_private
from amends.common.events import EVERYONE
from amends.common.logs import say, set_up
from amends.common.owned import InUse, owned
from amends.common.runner import run
from amends.common.settings import Settings

OK, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 3


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
    from amends.common.alone import told

    return _until_the_end(_alone(settings)) if told(settings) else USAGE


def _until_the_end(work: Coroutine[Any, Any, None]) -> int:
    try:
        run(work)
    except ExceptionGroup as group:
        return max(_failed(error, _code(error) or FAILED) for error in group.exceptions)
    except Exception as error:
        code = _code(error)
        if code is None:
            raise
        return _failed(error, code)
    return OK


def _code(error: Exception) -> int | None:
    """The exit code after this; None when it was not foreseen."""
    from amends.cli.together import FORESEEN
    from amends.cli.together import UNREACHABLE as AWAY

    return UNREACHABLE if isinstance(error, AWAY) else FAILED if isinstance(error, FORESEEN) else None


def _failed(error: Exception, code: int) -> int:
    known = isinstance(error, InUse) or _code(error) is not None
    say(str(error) if known else repr(error))
    return code


async def _alone(settings: Settings) -> None:
    from amends.cli.together import evaluate, nobody

    await evaluate(settings, settings.nats_as("evaluator"), partial(nobody, settings))


async def _up(settings: Settings) -> None:
    if settings.nats_url:
        await _together(settings, None)
        return
    loading = asyncio.create_task(asyncio.to_thread(import_module, "amends.cli.together"))
    async with EmbeddedServer(settings.data_dir / "nats") as server:
        await loading
        await _together(settings, server)


async def _together(settings: Settings, server: EmbeddedServer | None) -> None:
    from amends.cli.together import evaluate, others

    with _told(settings, *(server.urls if server else map(settings.nats_as, EVERYONE))):
        nats_url = server.url("evaluator") if server else settings.nats_as("evaluator")
        await evaluate(settings, nats_url, partial(others, settings, server))


@contextmanager
def _told(settings: Settings, *nats_urls: str) -> Iterator[None]:
    """Leave word of where it is, and of how its users are let in, for the other commands of whoever owns it."""
    where = settings.data_dir / "nats.url"
    write_private(where, "".join(f"{url}\n" for url in nats_urls))
    try:
        yield
    finally:
        where.unlink(missing_ok=True)
