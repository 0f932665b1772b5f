"""A unix socket in a directory of its own, behind which an application answers: what is bound into one sandbox."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import shutil
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from typing import Any

import uvicorn

Application = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]
_AT_ONCE = 32
_PREFIX, _FRESH = "amends-door-", 60.0  # seconds in which a folder may be there before it is held


@asynccontextmanager
async def door(application: Application) -> AsyncIterator[Path]:
    """Its path, for as long as somebody answers behind it; what is being answered then is cut off."""
    config = uvicorn.Config(
        application, interface="asgi3", http="h11", ws="none", lifespan="off", log_config=None,
        log_level=logging.CRITICAL, access_log=False, proxy_headers=False, server_header=False, date_header=False,
        limit_concurrency=_AT_ONCE,
    )  # fmt: skip
    with _folder() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "door"))
        # Not `serve`: signals and the end of the process are the business of whoever runs us.
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup([listening])
        try:
            yield folder / "door"
        finally:
            await _closed(server)


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder of our own; those that somebody left who was killed are removed."""
    for left in Path(gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError), _held(left) as found:
            if found.st_uid == os.getuid() and time.time() - found.st_mtime > _FRESH:
                shutil.rmtree(left)
    folder = Path(mkdtemp(prefix=_PREFIX))
    try:
        with _held(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[os.stat_result]:
    """For the length of a block nobody else has it, and then it ends with the process; raises OSError if one does."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield os.fstat(handle)
    finally:
        os.close(handle)


async def _closed(server: uvicorn.Server) -> None:
    for one in server.servers:
        one.close()
    state = server.server_state
    tasks = list(state.tasks)
    for task in tasks:
        task.cancel()
    for connection in list(state.connections):
        connection.shutdown()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)  # once around the loop, in which transports close their sockets
