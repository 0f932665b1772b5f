"""The head of a request, read strictly: two readers must not find two different requests in the same bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Literal
from urllib.parse import parse_qsl

MOST_BYTES = 16 * 1024
MOST_FIELDS = 100
MOST_TARGET = 2 * 1024
_LENGTH = re.compile(rb"[0-9]{1,12}")
_REQUEST_LINE = re.compile(rb"([A-Z]{3,10}) (/[!-~]*) HTTP/1\.([01])")
# Whole lines that begin with a name: so no control characters, no bare CR or LF, and no line that goes on in the next.
_FIELDS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t\x20-\x7e\x80-\xff]*+\r\n)*+")
_FIELD = re.compile(rb"([^:]+):[ \t]*([^\r]*)\r\n")
# Sent twice, each of these would let two readers disagree about what the request is or who sent it.
_ONCE = frozenset(
    {
        b"host", b"content-length", b"transfer-encoding", b"content-type", b"authorization", b"expect",
        b"x-hub-signature-256", b"x-github-event", b"x-github-delivery", b"idempotency-key",
    }
)  # fmt: skip


class Refused(Exception):
    """A request that is not taken, with the status that says so; the connection ends with it."""

    def __init__(self, status: HTTPStatus, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the body. Field names are in lower case; `length` is None when the body comes in chunks."""

    method: str
    path: str
    query: str
    fields: dict[bytes, bytes]
    length: int | None
    goes_on: bool
    expects: Literal["", "100-continue"] = ""

    def text(self, name: bytes) -> str:
        """A field's value; what is not ASCII in it is nobody's."""
        return self.fields.get(name, b"").decode("ascii", "replace")

    def asked(self) -> dict[str, str]:
        """The query's fields; one that stands there twice is refused."""
        pairs = parse_qsl(self.query, keep_blank_values=True, max_num_fields=20, encoding="utf-8", errors="replace")
        if len(dict(pairs)) < len(pairs):
            raise _bad("a field of the query stands there twice")
        return dict(pairs)


def read(raw: bytes) -> Head:
    """The head of these bytes, without the empty line that ends it; or Refused."""
    line, _, rest = raw.partition(b"\r\n")
    method, target, minor = _request_line(line)
    fields = _fields(rest)
    if minor == b"1" and b"host" not in fields:
        raise _bad("no Host")
    path, _, query = target.decode("ascii").partition("?")
    return Head(
        method=method.decode("ascii"),
        path=path,
        query=query,
        fields=fields,
        length=_length(fields, minor),
        goes_on=_goes_on(fields, minor),
        expects=_expects(fields),
    )


def _request_line(line: bytes) -> tuple[bytes, bytes, bytes]:
    found = _REQUEST_LINE.fullmatch(line)
    if found is None:
        raise _bad("the first line is not METHOD /path HTTP/1.1")
    if len(found[2]) > MOST_TARGET:
        raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG, f"at most {MOST_TARGET} bytes of path and query")
    return found[1], found[2], found[3]


def _fields(rest: bytes) -> dict[bytes, bytes]:
    lines = rest + b"\r\n" if rest else b""
    if not _FIELDS.fullmatch(lines):
        raise _bad("a field is not `name: value` on a line of its own, or holds a control character")
    found = _FIELD.findall(lines)
    if len(found) > MOST_FIELDS:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"at most {MOST_FIELDS} fields")
    fields: dict[bytes, bytes] = {}
    for said, raw in found:
        name, value = said.lower(), raw.rstrip(b" \t")
        if name in fields:
            if name in _ONCE:
                raise _bad(f"{name.decode()} stands there twice")
            value = fields[name] + b", " + value
        fields[name] = value
    return fields


def _length(fields: dict[bytes, bytes], minor: bytes) -> int | None:
    coding, length = fields.get(b"transfer-encoding"), fields.get(b"content-length")
    if coding is not None:
        if length is not None or minor != b"1" or coding.lower() != b"chunked":
            raise _bad("Transfer-Encoding must be chunked, in HTTP/1.1, and without Content-Length")
        return None
    if length is None:
        return 0
    if not _LENGTH.fullmatch(length):
        raise _bad("Content-Length is not a number")
    return int(length)


def _goes_on(fields: dict[bytes, bytes], minor: bytes) -> bool:
    """Whether the connection may be used again: an old client would have to know that it is."""
    said = fields.get(b"connection")
    return minor == b"1" and (said is None or b"close" not in said.lower())


def _expects(fields: dict[bytes, bytes]) -> Literal["", "100-continue"]:
    expected = fields.get(b"expect")
    if expected is None:
        return ""
    if expected.lower() != b"100-continue":
        raise Refused(HTTPStatus.EXPECTATION_FAILED, "nothing but 100-continue is understood here")
    return "100-continue"


def _bad(why: str) -> Refused:
    return Refused(HTTPStatus.BAD_REQUEST, why)
