"""Every request that came, and what was said to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from amends.doubles.github.http import Request


@dataclass(eq=False)
class Asked:
    """One request. `operation` is its route, or what a GraphQL document asked for; status 0 is no answer."""

    request: Request
    at: datetime
    who: str = ""
    operation: str = ""
    status: int = 0
    seconds: float = 0.0

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def path(self) -> str:
        return self.request.path

    @property
    def json(self) -> object:
        """The body, if it is JSON."""
        try:
            return json.loads(self.request.body)
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.method} {self.request.target} -> {self.status} ({self.who or 'nobody'})"


@dataclass
class Journal:
    """`violations`: where a request or an answer is not as GitHub describes it. `unknown`: what the double lacks.

    `crashes`: mistakes of the double itself, which no test should outlive.
    """

    entries: list[Asked] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, asked: Asked) -> None:
        with self._lock:
            self.entries.append(asked)

    def find(self, method: str = "*", path: str = "", *, fits: Callable[[Asked], bool] | None = None) -> list[Asked]:
        """Requests by method and a part of the path, the route, or a GraphQL document (method GRAPHQL)."""
        with self._lock:
            entries = list(self.entries)
        return [one for one in entries if _fits(one, method, path) and (fits is None or fits(one))]

    def count(self, method: str = "*", path: str = "") -> int:
        return len(self.find(method, path))

    def clear(self) -> None:
        with self._lock:
            self.entries.clear()


def _fits(one: Asked, method: str, path: str) -> bool:
    if method == "GRAPHQL":
        return one.path.endswith("/graphql") and path.encode() in one.request.body
    return method in {"*", one.method} and (path in one.request.target or path in one.operation)
