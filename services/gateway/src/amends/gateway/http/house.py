"""What all connections share: the routes, the bounds, and how much of them is taken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Protocol

from amends.gateway.http.answers import Answer, later
from amends.gateway.http.heads import Head, Refused


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is whole."""

    head: Head
    body: bytes


@dataclass(frozen=True, slots=True)
class Route:
    """What a path is for. `screen` sees the head alone and may answer before a byte of the body is taken."""

    method: str
    handle: Callable[[Request], Awaitable[Answer]]
    most_bytes: int
    screen: Callable[[Head], Answer | None] = lambda _head: None


@dataclass(frozen=True)
class Bounds:
    """What one client, or all together, may take. A body of `small_bytes` needs no leave, a larger one does."""

    head: float = 10.0  # seconds for what a connection may wait for
    body: float = 10.0
    answer: float = 9.0  # GitHub hangs up after ten
    idle: float = 75.0
    end: float = 2.0
    connections: int = 256
    small_bytes: int = 512 * 1024
    large_at_once: int = 4


class Guest(Protocol):
    """A connection, as far as the others are concerned."""

    since: float
    deadline: float

    @property
    def is_waiting(self) -> bool: ...
    def expire(self) -> None: ...
    def drain(self) -> None: ...
    def abort(self) -> None: ...


@dataclass
class House:
    """Who is in and what is taken."""

    routes: Mapping[str, Route]
    bounds: Bounds
    guests: dict[Guest, None] = field(default_factory=dict)
    large: int = 0
    draining: bool = False

    @cached_property
    def seconds(self) -> Mapping[str, float]:
        """How long a connection may wait for what."""
        return {name.upper(): getattr(self.bounds, name) for name in ("head", "body", "answer", "idle", "end")}

    def find(self, head: Head) -> Route:
        """The route of a request; Refused when there is none."""
        route = self.routes.get(head.path)
        if route is None:
            raise Refused(HTTPStatus.NOT_FOUND, "not here")
        if route.method != head.method:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"{route.method}, please", {"Allow": route.method})
        return route

    def admit(self, guest: Guest) -> Answer | None:
        """Let one more in; when the house is full, the one goes who has been of no use for longest."""
        if len(self.guests) >= self.bounds.connections:
            idle = [other for other in self.guests if other.is_waiting]
            if not idle:
                return later("too many connections", 1)
            min(idle, key=lambda other: other.since).abort()
        self.guests[guest] = None
        return None
