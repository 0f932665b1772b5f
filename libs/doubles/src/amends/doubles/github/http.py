"""Requests and replies as bytes, between ASGI and everything else."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query_string: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.query_string, keep_blank_values=True))

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query_string}" if self.query_string else self.path

    def json(self) -> Any:  # noqa: ANN401 - whatever was sent
        return json.loads(self.body) if self.body else None


@dataclass(frozen=True)
class Reply:
    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    def json(self) -> Any:  # noqa: ANN401 - whatever was answered
        return json.loads(self.body) if self.body else None


def json_reply(status: int, content: object, headers: Mapping[str, str] | None = None) -> Reply:
    own = {"content-type": "application/json; charset=utf-8", **(headers or {})}
    return Reply(status, dumps(content), own)


def dumps(content: object) -> bytes:
    try:
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # A lone surrogate, which only an escape can carry.
        return json.dumps(content, separators=(",", ":")).encode()


async def read(scope: Scope, receive: Receive) -> Request:
    """The whole request, its body included."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    raw = scope.get("raw_path") or scope["path"].encode()
    path = unquote(raw.decode("latin-1").partition("?")[0])
    return Request(scope["method"], path, scope["query_string"].decode("latin-1"), headers, bytes(body))


async def write(send: Send, reply: Reply, *, promised: int | None = None) -> None:
    """Send it; `promised` more bytes than there are breaks the connection off in the middle."""
    length = len(reply.body) if promised is None else promised
    headers = {**reply.headers, "content-length": str(length)}
    if reply.status in {204, 304}:
        del headers["content-length"]
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
    await send({"type": "http.response.body", "body": reply.body, "more_body": promised is not None})
