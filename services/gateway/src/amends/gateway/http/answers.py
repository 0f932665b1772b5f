"""Answers to requests: JSON, short, and never with anything of the request in a header."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and what is said with it."""

    status: HTTPStatus
    said: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)

    def raw(self, *, goes_on: bool) -> bytes:
        """The bytes to send; `goes_on` when the connection may be used again."""
        body = json.dumps(self.said).encode() + b"\n"
        more = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items())
        if not goes_on:
            more += "Connection: close\r\n"
        head = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{more}\r\n"
        )
        return head.encode("ascii") + body


def refusal(status: HTTPStatus, why: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that says what is wrong."""
    return Answer(status, {"error": why}, headers or {})


def later(why: str, seconds: int = 5) -> Answer:
    """An answer that nothing was done, or that nobody knows whether it was: the same again is safe."""
    return refusal(HTTPStatus.SERVICE_UNAVAILABLE, why, {"Retry-After": str(seconds)})
