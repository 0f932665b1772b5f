"""What the model is told to say: replies, refusals of the API, and replies that break on their way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Uses:
    """A call of a tool. `raw` stands in for the arguments' JSON, to be malformed."""

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    raw: str | None = None


@dataclass(frozen=True)
class Says:
    """A reply: texts and calls. Without `stop` it is what such a reply usually ends with."""

    blocks: tuple[str | Uses, ...] = ()
    stop: str | None = None
    output_tokens: int = 20
    seconds: float = 0.0

    @property
    def stop_reason(self) -> str:
        return self.stop or ("tool_use" if any(isinstance(block, Uses) for block in self.blocks) else "end_turn")


@dataclass(frozen=True)
class Denies:
    """The API answers with an error; `code` is the one in its details."""

    status: int
    kind: str
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""

    @property
    def body(self) -> Json:
        details: Json = {"details": {"error_code": self.code}} if self.code else {}
        error = {"type": self.kind, "message": self.message, **details}
        return {"type": "error", "error": error, "request_id": "req_double"}


@dataclass(frozen=True)
class Breaks:
    """A reply that ends after so many events: with an error of this kind, or without a word."""

    reply: Says
    after: int = 2
    kind: str = ""


Step: TypeAlias = Says | Denies | Breaks


def text(words: str, stop: str | None = None) -> Says:
    """A reply of words only."""
    return Says((words,), stop)


def calls(*uses: Uses) -> Says:
    """A reply that calls tools."""
    return Says(uses)


def message(number: int, model: str, reply: Says, usage: Json) -> Json:
    """The whole message of a reply."""
    content: list[Json] = []
    for place, block in enumerate(reply.blocks):
        if isinstance(block, str):
            content.append({"type": "text", "text": block})
        else:
            name = f"toolu_{number:06d}_{place}"
            content.append({"type": "tool_use", "id": name, "name": block.name, "input": dict(block.given)})
    return {
        "id": f"msg_{number:06d}", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": reply.stop_reason, "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def events(said: Json, reply: Says) -> Iterator[Json]:
    """The message as it comes over a stream."""
    usage = {**said["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**said, "content": [], "stop_reason": None, "usage": usage}}
    for place, (block, meant) in enumerate(zip(said["content"], reply.blocks, strict=True)):
        empty: Json = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield {"type": "content_block_start", "index": place, "content_block": {**block, **empty}}
        for delta in _deltas(block, meant):
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    ending = {"stop_reason": said["stop_reason"], "stop_sequence": None}
    yield {
        "type": "message_delta",
        "delta": ending,
        "usage": {"output_tokens": said["usage"]["output_tokens"]},
    }
    yield {"type": "message_stop"}


def _deltas(block: Json, meant: str | Uses) -> Iterator[Json]:
    if isinstance(meant, str):
        for start in range(0, len(meant), 40):
            yield {"type": "text_delta", "text": meant[start : start + 40]}
        return
    given = json.dumps(block["input"]) if meant.raw is None else meant.raw
    for start in range(0, len(given), 40):
        yield {"type": "input_json_delta", "partial_json": given[start : start + 40]}
