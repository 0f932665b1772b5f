"""A unix socket in a directory of its own, behind which an application answers: what is bound into one sandbox."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

Application = Callable[[MutableMapping[str, Any], Any, Any], Awaitable[None]]
_AT_ONCE = 32


@asynccontextmanager
async def door(application: Application) -> AsyncIterator[Path]:
    """Its path, for as long as somebody answers behind it; what is being answered then is cut off."""
    config = uvicorn.Config(
        application, interface="asgi3", http="h11", ws="none", lifespan="off", log_config=None,
        log_level=logging.CRITICAL, access_log=False, proxy_headers=False, server_header=False, date_header=False,
        limit_concurrency=_AT_ONCE,
    )  # fmt: skip
    with TemporaryDirectory(prefix="amends-door-") as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/door")
        # Not `serve`: signals and the end of the process are the business of whoever runs us.
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup([listening])
        try:
            yield Path(folder, "door")
        finally:
            await _closed(server)


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
