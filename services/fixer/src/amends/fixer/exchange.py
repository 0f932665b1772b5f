"""Requests and replies between the broker and whoever is behind the door, as ASGI has them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from amends.fixer.dialogue import Json
from amends.fixer.endpoint import Answer
from amends.fixer.heard import Heard
from amends.fixer.meaning import Fault

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

_MOST_BODY = 16 << 20
_MOST_ERROR = 64 << 10


class Denied(Exception):
    """It is not let through."""

    def __init__(self, status: int, kind: str, why: str) -> None:
        super().__init__(why)
        self.status, self.kind = status, kind


async def passed(answer: Answer, heard: Heard, send: Send) -> None:
    """The reply to whoever asked, as it comes. It is read to its end, at its own pace, whether he reads it or not."""
    chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
    passing = asyncio.create_task(_sent(answer, chunks, send))
    try:
        async for chunk in answer.body:
            heard.feed(chunk)
            chunks.put_nowait(chunk)
        chunks.put_nowait(None)
        await passing
    finally:
        passing.cancel()
        await asyncio.wait({passing})


async def _sent(answer: Answer, chunks: asyncio.Queue[bytes | None], send: Send) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    while (chunk := await chunks.get()) is not None:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def fault(answer: Answer, key: str) -> Fault:
    """The error in an answer, without our key wherever somebody repeats it."""
    said = bytearray()
    async for chunk in _some(answer.body):
        said += chunk
    try:
        error = json.loads(said)["error"]
        details = error.get("details") or {}
        kind, message, code = str(error["type"]), str(error["message"]), str(details.get("error_code") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        kind, message, code = "api_error" if answer.status >= 500 else "error", "it does not say why", ""  # noqa: PLR2004
    after = answer.headers.get("retry-after", "")
    hidden = (one.replace(key, "[key]") for one in (kind, message, code, after))
    kind, message, code, after = hidden
    return Fault(answer.status, kind[:100], message[:1_000], code[:100], after[:20])


async def _some(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    total = 0
    async for chunk in body:
        total += len(chunk)
        if total > _MOST_ERROR:
            return
        yield chunk


async def body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Denied(400, "invalid_request_error", "the body ended too early")
        body += message.get("body", b"")
        if len(body) > _MOST_BODY:
            raise Denied(413, "request_too_large", f"at most {_MOST_BODY} bytes")
        if not message.get("more_body", False):
            return bytes(body)


def error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


async def say(send: Send, status: int, said: Json, more: Mapping[str, str] | None = None) -> None:
    body = json.dumps(said).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **(more or {})}
    pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body, "more_body": False})
