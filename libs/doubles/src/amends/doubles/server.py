"""An application on a free port of this machine, in a thread of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import uvicorn

from amends.doubles.github.http import Receive, Scope, Send

_PATIENCE = 10.0
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def listening(port: int = 0) -> socket.socket:
    """A listening socket on the loopback; port 0 takes a free one."""
    # Named TCP, because asyncio turns Nagle's delay off (40 ms an answer) only for what says so.
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen(512)
    return made


class Server:
    """Runs until `stop`."""

    def __init__(self, application: Application, at: socket.socket) -> None:
        config = uvicorn.Config(
            application,
            interface="asgi3",
            log_level="critical",
            lifespan="off",
            ws="none",
            access_log=False,
            date_header=False,
            server_header=False,
            timeout_keep_alive=120,
            timeout_graceful_shutdown=1,
        )
        self._config = config
        self._server = uvicorn.Server(config)
        self._socket = at
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="amends-double", daemon=True)

    async def _serve(self) -> None:
        """What uvicorn's own `serve` does, but for its signal handlers and for looking ten times a second."""
        self._loop = asyncio.get_running_loop()
        self._config.load()
        self._server.lifespan = self._config.lifespan_class(self._config)
        await self._server.startup(sockets=[self._socket])
        self._started.set()
        await self._over.wait()
        await self._close()

    async def _close(self) -> None:
        """At once: uvicorn's `shutdown` waits a tenth of a second first, and then for answers that never come."""
        for server in self._server.servers:
            server.close()
        state = self._server.server_state
        for task in state.tasks:
            task.cancel()
        for connection in list(state.connections):
            connection.shutdown()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        # Once around the loop, in which transports close their sockets.
        await asyncio.sleep(0)

    def start(self) -> None:
        self._thread.start()
        if not self._started.wait(_PATIENCE):
            raise RuntimeError("the double did not start")

    def stop(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(_PATIENCE)
        self._socket.close()
