"""The Messages API on a free port of this machine, with a script instead of a model.

    with ModelDouble() as model:
        model.says(calls(Uses("view", {"path": "app.py"})), Denies(529, "overloaded_error"), text("done"))
        ...
        assert model.asked[1].messages[-1] == ...

A step may be a function of what was asked. When the script is over, it is denied: nothing is answered by chance. What
was asked before is counted as read from a cache, if it was marked for one and has not changed by a byte.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from amends.doubles.github.http import Receive, Reply, Request, Scope, Send, json_reply, read, write
from amends.doubles.model.script import Breaks, Denies, Json, Says, Step, events, message
from amends.doubles.server import Server, listening

KEY = "sk-double"
MODEL = "claude-double"
_UNIT = 4  # bytes that count as a token


@dataclass(frozen=True)
class Asked:
    """One request for a message."""

    body: Json
    headers: dict[str, str]

    @property
    def messages(self) -> list[Json]:
        found: list[Json] = self.body["messages"]
        return found

    @property
    def prefix(self) -> str:
        """All that comes before the last message, as bytes that a cache would compare."""
        return json.dumps([self.body.get("tools"), self.body.get("system"), *_bare(self.messages[:-1])])

    @property
    def whole(self) -> str:
        return json.dumps([self.body.get("tools"), self.body.get("system"), *_bare(self.messages)])

    @property
    def words(self) -> str:
        """Everything that is said in it, in one text."""
        return json.dumps(self.body, ensure_ascii=False)

    def results(self) -> list[Json]:
        """What the tools answered last."""
        content = self.messages[-1]["content"]
        return [block for block in content if isinstance(block, dict) and block.get("type") == "tool_result"]


Scripted: TypeAlias = Step | Callable[[Asked], Step]


@dataclass
class ModelDouble:
    """A model of its own; nothing of it outlives `stop`."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    script: deque[Scripted] = field(default_factory=deque)
    always: Scripted | None = None
    models: tuple[str, ...] = (MODEL,)

    def __post_init__(self) -> None:
        self._socket = listening(self.port)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = Server(self._serve, self._socket)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()

    def says(self, *steps: Scripted) -> Self:
        """Append to the script."""
        self.script.extend(steps)
        return self

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = await read(scope, receive)
        match request.method, request.path:
            case "POST", "/v1/messages":
                await self._message(request, send)
            case "POST", "/v1/messages/count_tokens":
                asked = Asked(request.json(), dict(request.headers))
                wrong = _unknown(asked, self.models)
                counted = json_reply(200, {"input_tokens": len(request.body) // _UNIT})
                await write(send, counted if wrong is None else _denied(wrong))
            case "GET", "/v1/models":
                await write(send, json_reply(200, {"data": [_MODEL], "has_more": False}))
            case _:
                await write(send, _denied(Denies(404, "not_found_error", f"no {request.path}")))

    async def _message(self, request: Request, send: Send) -> None:
        asked = Asked(request.json(), dict(request.headers))
        if (wrong := _wrong(asked, self.models)) is not None:
            await write(send, _denied(wrong))
            return
        before = self.asked[-1] if self.asked else None
        self.asked.append(asked)
        scripted = self.script.popleft() if self.script else self.always
        step = scripted(asked) if callable(scripted) else scripted
        match step:
            case None:
                await write(send, _denied(Denies(400, "invalid_request_error", "the script is over")))
            case Denies():
                await write(send, _denied(step))
            case Says():
                await self._say(asked, before, Breaks(step, after=-1), send)
            case Breaks():
                await self._say(asked, before, step, send)

    async def _say(self, asked: Asked, before: Asked | None, step: Breaks, send: Send) -> None:
        reply = step.reply
        if reply.seconds:
            await asyncio.sleep(reply.seconds)
        said = message(len(self.asked), asked.body["model"], reply, _usage(asked, before, reply))
        if not asked.body.get("stream"):
            await write(send, json_reply(200, said, {"request-id": "req_double"}))
            return
        headers = [(b"content-type", b"text/event-stream"), (b"request-id", b"req_double")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async for event in _until(step, events(said, reply)):
            body = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})
        if step.after >= 0 and not step.kind:
            raise ConnectionAbortedError("cut, as it was told")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until(step: Breaks, whole: Any) -> AsyncIterator[Json]:  # noqa: ANN401 - any iterator of events
    for number, event in enumerate(whole):
        if number == step.after:
            if step.kind:
                yield {"type": "error", "error": {"type": step.kind, "message": "as it was told"}}
            return
        yield event


def _denied(step: Denies) -> Reply:
    return json_reply(step.status, step.body, {"request-id": "req_double", **step.headers})


def _bare(messages: list[Json]) -> list[Json]:
    """Without the marks of where a cache ends: they move with every turn."""

    def bare(block: Any) -> Any:  # noqa: ANN401 - JSON
        return {name: value for name, value in block.items() if name != "cache_control"}

    return [
        {**one, "content": one["content"] if isinstance(one["content"], str) else [bare(b) for b in one["content"]]}
        for one in messages
    ]


def _usage(asked: Asked, before: Asked | None, reply: Says) -> Json:
    whole = len(asked.whole) // _UNIT
    marked = "cache_control" in asked.words
    known = asked.whole.startswith(before.whole[:-1]) if before is not None and marked else False
    read_before = len(before.whole) // _UNIT if known and before is not None else 0
    return {
        "input_tokens": 0 if marked else whole,
        "cache_creation_input_tokens": whole - read_before if marked else 0,
        "cache_read_input_tokens": read_before,
        "output_tokens": reply.output_tokens,
    }


def _unknown(asked: Asked, models: tuple[str, ...]) -> Denies | None:
    """Whom and what the API does not know."""
    if KEY not in asked.headers.get("authorization", "") and asked.headers.get("x-api-key") != KEY:
        return Denies(401, "authentication_error", "invalid x-api-key")
    if asked.body.get("model") not in models:
        return Denies(404, "not_found_error", f"model: {asked.body.get('model')}")
    return None


def _wrong(asked: Asked, models: tuple[str, ...]) -> Denies | None:
    """What the API itself would not take."""
    if (unknown := _unknown(asked, models)) is not None:
        return unknown
    if not isinstance(asked.body.get("max_tokens"), int):
        return Denies(400, "invalid_request_error", "max_tokens: Field required")
    return _disordered(asked.messages)


def _disordered(messages: list[Json]) -> Denies | None:
    """Every call of a tool is answered in the very next message, the user speaks first, and each says something."""
    if not messages or messages[0]["role"] != "user":
        return Denies(400, "invalid_request_error", "messages: first message must use the user role")
    if any(_is_empty(one["content"]) for one in messages):
        return Denies(400, "invalid_request_error", "messages: all messages must have non-empty content")
    for said, answer in zip(messages, [*messages[1:], None], strict=True):
        called = _ids(said, "tool_use", "id")
        if called and (answer is None or called != _ids(answer, "tool_result", "tool_use_id")):
            return Denies(400, "invalid_request_error", "tool_use ids were found without tool_result blocks")
    return None


def _is_empty(content: str | list[Json]) -> bool:
    """Nothing at all, or a block of text in which there is none."""
    if isinstance(content, str):
        return not content.strip()
    return not content or any(one.get("type") == "text" and not one["text"].strip() for one in content)


def _ids(said: Json, kind: str, name: str) -> set[str]:
    content = said["content"] if isinstance(said["content"], list) else []
    return {block[name] for block in content if block.get("type") == kind}


_MODEL = {
    "id": MODEL, "type": "model", "display_name": "Double", "created_at": "2026-01-01T00:00:00Z",
    "lifecycle": "active", "max_input_tokens": 200_000, "max_tokens": 64_000,
}  # fmt: skip
