"""Serves routes on a socket, within bounds: time for each part of a request, connections, bytes in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from amends.gateway.http.connection import Connection
from amends.gateway.http.house import Bounds, House, Route

SWEEP_SECONDS = 0.25


class Server:
    """The listening socket and its connections."""

    def __init__(self, routes: Mapping[str, Route], bounds: Bounds | None = None) -> None:
        self._house = House(routes, bounds or Bounds())
        self._listening: asyncio.Server | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def start(self, host: str, port: int) -> str:
        """Listen; answers with the address."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(lambda: Connection(self._house), host, port, backlog=512)
        self._sweeping = loop.create_task(self._sweep())
        name, bound, *_ = self._listening.sockets[0].getsockname()
        return f"http://[{name}]:{bound}" if ":" in name else f"http://{name}:{bound}"

    @property
    def listening(self) -> bool:
        """Whether somebody who comes now is let in."""
        return self._listening is not None and self._listening.is_serving()

    async def stop(self, seconds: float = 10.0) -> None:
        """Take no more connections; what is being answered is answered, within a time."""
        self._house.draining = True
        if self._listening is not None:
            self._listening.close()
        for guest in list(self._house.guests):
            guest.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._house.guests:  # noqa: ASYNC110 - they leave by themselves, one by one
                    await asyncio.sleep(0.01)
        for guest in list(self._house.guests):
            guest.abort()
        if self._sweeping is not None:
            self._sweeping.cancel()

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = loop.time()
            for guest in list(self._house.guests):
                if guest.deadline < now:
                    guest.expire()
