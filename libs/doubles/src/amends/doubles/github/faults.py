"""Faults on a switch: the answer that comes instead of the right one, whether or not the request took effect."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict, Unpack

from amends.doubles.github.http import Reply, dumps
from amends.doubles.github.limits import SECONDARY
from amends.doubles.github.refusal import Json


class Effect(TypedDict, total=False):
    """What `Faults.next` takes; see the fields of Fault."""

    status: int
    body: object
    headers: Mapping[str, str]
    stored: bool
    cut: float
    broken: bool
    hang: bool
    delay: float
    link: str
    change: Callable[[Any], Any]
    before: Callable[[], object]
    after: Callable[[], object]
    times: int
    skip: int


@dataclass
class Fault:
    """`method` GRAPHQL looks at documents, `*` at everything; `path` is found anywhere in path and query.

    status, body, headers  what is answered; `stored` has the request take its effect first, so the answer is lost
    cut                    200 with this share of the body: truncated JSON
    broken                 the connection ends in the middle of the answer
    hang                   no answer, until the client gives up
    delay                  seconds before the answer
    link                   "loop": the Link header leads back to this page; otherwise the header to send
    change                 makes another JSON answer of the right one
    before, after          called before the request is looked at, or when its answer is ready: for races
    """

    method: str
    path: str = ""
    status: int | None = None
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    stored: bool = False
    cut: float | None = None
    broken: bool = False
    hang: bool = False
    delay: float = 0.0
    link: str | None = None
    change: Callable[[Any], Any] | None = None
    before: Callable[[], object] | None = None
    after: Callable[[], object] | None = None
    times: int = 1
    skip: int = 0

    def fits(self, method: str, target: str) -> bool:
        return self.method in {"*", method} and (self.path in target or re.search(self.path, target) is not None)

    @property
    def prevents(self) -> bool:
        """Whether the request does not even take effect."""
        return not self.stored and (self.status is not None or self.hang)

    def spoil(self, reply: Reply, url: str) -> Reply:
        """The right answer, as the client gets to see it."""
        headers = {**reply.headers, **{name.lower(): value for name, value in self.headers.items()}}
        if self.status is not None:
            body = self.body if self.body is not None else {"message": "Server Error"}
            raw = body if isinstance(body, bytes) else dumps(body)
            headers.setdefault("content-type", "application/json; charset=utf-8")
            return Reply(self.status, raw, headers)
        if self.change is not None:
            reply = replace(reply, body=dumps(self.change(json.loads(reply.body))))
        if self.link is not None:
            headers["link"] = f'<{url}>; rel="next"' if self.link == "loop" else self.link
        if self.cut is not None:
            reply = replace(reply, body=reply.body[: int(len(reply.body) * self.cut)])
        return replace(reply, headers=headers)


class Faults:
    """Faults in the order they were asked for; the first that fits is used, and used up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Fault] = []

    def next(self, method: str, path: str = "", **effect: Unpack[Effect]) -> Fault:
        """`faults.next("POST", "/comments", status=502, stored=True)`."""
        fault = Fault(method, path, **effect)
        with self._lock:
            self._waiting.append(fault)
        return fault

    def secondary_limit(
        self, method: str, path: str = "", *, retry_after: int | None = None, status: int = 403
    ) -> Fault:
        """What GitHub says to who writes too fast; without `retry_after` it does not say for how long."""
        headers = {} if retry_after is None else {"retry-after": str(retry_after)}
        body: Json = {"message": SECONDARY, "documentation_url": "https://docs.github.com/rest#secondary-rate-limits"}
        return self.next(method, path, status=status, body=body, headers=headers)

    def clear(self) -> None:
        with self._lock:
            self._waiting.clear()

    @property
    def unused(self) -> list[Fault]:
        """What was asked for and never happened: a test that expects a fault should find none here."""
        with self._lock:
            return [one for one in self._waiting if one.times > 0]

    def take(self, method: str, target: str) -> Fault | None:
        with self._lock:
            for one in self._waiting:
                if one.times <= 0 or not one.fits(method, target):
                    continue
                if one.skip > 0:
                    one.skip -= 1
                    continue
                one.times -= 1
                return one
        return None
