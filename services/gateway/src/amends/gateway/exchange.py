"""A request and its answer, as far as routes have to do with them: no socket, no server, no framework."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qsl

MOST_FIELDS = 100
MOST_HEAD = 16 * 1024  # bytes
# Sent twice, each of these would let two readers disagree about what the request is or who sent it.
_ONCE = frozenset(
    {
        b"host", b"content-length", b"transfer-encoding", b"content-type", b"content-encoding", b"authorization",
        b"x-hub-signature-256", b"x-github-event", b"x-github-delivery", b"idempotency-key",
    }
)  # fmt: skip
_CHARSET = re.compile(r'(?i);\s*charset\s*=\s*"?([a-z0-9._-]{1,40})')


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and what is said with it: JSON, short, and never with anything of the request in a header."""

    status: HTTPStatus
    said: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        return json.dumps(self.said).encode() + b"\n"


class Refused(Exception):
    """A request that is not taken, and the answer that says why."""

    def __init__(self, status: HTTPStatus, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.answer = refusal(status, why, headers)


def refusal(status: HTTPStatus, why: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer that says what is wrong."""
    return Answer(status, {"error": why}, headers or {})


def later(why: str, seconds: int = 5) -> Answer:
    """An answer that nothing was done, or that nobody knows whether it was: the same again is safe."""
    return refusal(HTTPStatus.SERVICE_UNAVAILABLE, why, {"Retry-After": str(seconds)})


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the body. Field names are in lower case; `named` stands in the path for the route's `*`."""

    fields: Mapping[bytes, bytes]
    query: bytes = b""
    named: str = ""

    def text(self, name: bytes) -> str:
        """A field's value; what is not ASCII in it is nobody's."""
        return self.fields.get(name, b"").decode("ascii", "replace")

    @property
    def media(self) -> str:
        """The media type of the body, without its parameters."""
        return self.text(b"content-type").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """In which letters the body is written, as the head has it; nothing when it does not say."""
        found = _CHARSET.search(self.text(b"content-type"))
        return found[1].lower() if found else ""

    def asked(self) -> dict[str, str]:
        """The query's fields; one that stands there twice is refused."""
        try:
            pairs = parse_qsl(self.query.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=20)
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, "the query has more than 20 fields") from error
        if len(dict(pairs)) < len(pairs):
            raise Refused(HTTPStatus.BAD_REQUEST, "a field of the query stands there twice")
        return dict(pairs)


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


def head_of(fields: Iterable[tuple[bytes, bytes]], query: bytes = b"", named: str = "") -> Head:
    """The head of these fields, or Refused: no field that decides anything may stand there twice."""
    found: dict[bytes, bytes] = {}
    size, count = len(query), 0
    for name, value in fields:
        size, count = size + len(name) + len(value), count + 1
        if count > MOST_FIELDS or size > MOST_HEAD:
            why = f"at most {MOST_FIELDS} fields and {MOST_HEAD} bytes of head"
            raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why)
        if name in found and name in _ONCE:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{name.decode('ascii', 'replace')} stands there twice")
        found[name] = found[name] + b", " + value if name in found else value
    return Head(found, query, named)
