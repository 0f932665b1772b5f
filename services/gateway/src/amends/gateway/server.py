"""uvicorn, and what it lacks: time for a head and a body, bytes around a body, and who goes when it is full."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from amends.gateway.exchange import Answer, Route, later, refusal
from amends.gateway.routing import Places, Routing


@dataclass(frozen=True)
class Bounds:
    """What one client, or all together, may take. A body of `small_bytes` needs no place, a larger one does."""

    head: float = 10.0  # seconds
    body: float = 10.0
    answer: float = 9.0
    idle: int = 75
    connections: int = 256
    around_bytes: int = 32 * 1024  # of a request, all that is not its body: the head, and what frames chunks
    small_bytes: int = 512 * 1024
    large_at_once: int = 4


class Connection(HttpToolsProtocol):
    """One client. His time starts with the first byte of a head, and again with that of a body."""

    bounds: ClassVar[Bounds]

    _deadline: asyncio.TimerHandle | None = None
    _in_head = True
    _around = 0
    since = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether nothing would be lost with it but the beginning of a request."""
        cycle: RequestResponseCycle | None = self.cycle
        return not self.pipeline and (cycle is None or cycle.response_complete or cycle.more_body)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        self.transport = transport
        self.since = self.loop.time()
        if len(self.connections) >= self.bounds.connections and not self._makes_room():
            self._leave(later("too many connections", 1))
            return
        super().connection_made(transport)
        self._expect(self.bounds.head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._around += len(data)
        if self._in_head and self._deadline is None:
            self._expect(self.bounds.head)
        super().data_received(data)
        if self._around > self.bounds.around_bytes and self.is_waiting and not self.transport.is_closing():
            why = f"at most {self.bounds.around_bytes} bytes beside the body"
            self._leave(refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why))

    def on_message_begin(self) -> None:
        self._expect(self.bounds.head)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._expect(self.bounds.body)
        super().on_headers_complete()
        self.headers = []  # for what follows the last chunk: it is no part of the head that is looked at

    def on_body(self, body: bytes) -> None:
        self._around -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_head, self._around = True, 0
        super().on_message_complete()
        # Who was answered early has now sent the rest, and uvicorn does not look at its clock for him.
        self._expect(self.bounds.idle if self.cycle.response_complete else None)

    def _expect(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        begun = self.is_waiting and (self._around > 0 or not self._in_head)
        answered = not self._in_head and self.cycle.response_started
        if begun and not answered:
            part = "head" if self._in_head else "body"
            self._leave(refusal(HTTPStatus.REQUEST_TIMEOUT, f"the {part} took too long"))
        else:
            self.transport.close()

    def _leave(self, answer: Answer) -> None:
        """Say why, and hang up: for whatever no route can answer."""
        status, body = answer.status, answer.body
        more = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n{more}"
        self.transport.write(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def _makes_room(self) -> bool:
        """Whether somebody could go: the one who has been of no use for longest."""
        idle = [other for other in self.connections if isinstance(other, Connection) and other.is_waiting]
        if not idle:
            return False
        longest = min(idle, key=lambda other: other.since)
        self.connections.discard(longest)
        longest.transport.abort()
        return True


class Server:
    """The listening socket and its connections."""

    def __init__(self, routes: Mapping[str, Route], bounds: Bounds | None = None) -> None:
        bounds = bounds or Bounds()
        places = Places(bounds.small_bytes, bounds.large_at_once)
        self._server = uvicorn.Server(
            uvicorn.Config(
                Routing(routes, places, bounds.answer),
                interface="asgi3",
                http=type("Connection", (Connection,), {"bounds": bounds}),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level=logging.CRITICAL,  # it would write a line for every stranger who does not speak HTTP
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=bounds.idle,
                backlog=512,
            )
        )
        self._socket: socket.socket | None = None

    async def start(self, host: str, port: int) -> str:
        """Listen; answers with the address."""
        # Not `serve`: signals and the end of the process are the business of whoever runs us.
        config = self._server.config
        self._socket = _bound(host, port)
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup([self._socket])
        name, bound, *_ = self._socket.getsockname()
        return f"http://[{name}]:{bound}" if ":" in name else f"http://{name}:{bound}"

    @property
    def listening(self) -> bool:
        """Whether somebody who comes now is let in."""
        return self._server.started and all(server.is_serving() for server in self._server.servers)

    async def stop(self, seconds: int = 10) -> None:
        """Take no more connections; what is being answered is answered, within a time."""
        if self._socket is None:
            return
        self._server.config.timeout_graceful_shutdown = seconds
        await self._server.shutdown([self._socket])
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()


def _bound(host: str, port: int) -> socket.socket:
    # With its protocol named: of any other asyncio does not know that it is TCP, and lets Nagle hold answers back.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound
