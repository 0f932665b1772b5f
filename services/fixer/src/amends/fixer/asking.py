"""What somebody else's agent may ask the model's endpoint: a closed list, because the endpoint can reach further.

Tools that the endpoint runs itself, files and addresses that it fetches, servers that it calls: each would be a way out
of the sandbox, paid by us. What costs more than the table of prices says is not taken either.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amends.fixer.dialogue import Json

FIELDS = frozenset({
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking", "output_config",
    "output_format", "cache_control", "metadata", "stop_sequences", "temperature", "top_p", "top_k",
    "context_management",
})  # fmt: skip
# Tools that the client runs; the others are run by the endpoint.
_OURS = ("custom", "bash_", "text_editor_", "computer_", "memory_")
_FETCHED = frozenset({"url", "file"})
_DEEPEST = 12
_LONGEST_NAME = 200


class Unfit(Exception):
    """It may not be asked, and why."""


@dataclass(frozen=True)
class Asked:
    """One request for a message. `body` is what was read, written anew: a name that stood there twice does so once."""

    model: str
    most: int
    messages: tuple[Json, ...]
    system: object
    streams: bool
    body: bytes


def asked(body: bytes, *, counts: bool = False) -> Asked:
    """The request of these bytes; raises Unfit. One that only counts tokens has no longest reply."""
    said = _object(body)
    if strange := sorted(set(said) - FIELDS):
        raise Unfit(f"{', '.join(strange)[:200]}: not taken here")
    model, most, messages = said.get("model"), said.get("max_tokens", 1 if counts else None), said.get("messages")
    if not isinstance(model, str) or not 0 < len(model) <= _LONGEST_NAME:
        raise Unfit("model: a name")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise Unfit("max_tokens: a number")
    if not isinstance(messages, list) or not all(isinstance(one, dict) for one in messages):
        raise Unfit("messages: a list of objects")
    tools = said.get("tools", [])
    if not isinstance(tools, list) or not all(isinstance(one, dict) and _is_ours(one) for one in tools):
        raise Unfit("tools: only those that the client runs itself")
    if any(_fetched([messages, said.get("system")])):
        raise Unfit("messages: nothing that would have to be fetched; send the content itself")
    streams = said.get("stream") is True
    return Asked(model, most, tuple(messages), said.get("system"), streams, json.dumps(said).encode())


def _object(body: bytes) -> Json:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Unfit("the body: JSON") from error
    if not isinstance(said, dict):
        raise Unfit("the body: an object")
    return said


def _is_ours(tool: Json) -> bool:
    kind = tool.get("type", "custom")
    return isinstance(kind, str) and kind.startswith(_OURS)


def _fetched(value: Any, deep: int = 0) -> Iterator[bool]:  # noqa: ANN401 - JSON
    """Whether there is a source that the endpoint would fetch, or something too deep to be looked at."""
    if deep > _DEEPEST:
        yield True
    elif isinstance(value, list):
        for one in value:
            yield from _fetched(one, deep + 1)
    elif isinstance(value, dict):
        source = value.get("source")
        if value.get("type") == "container_upload" or (isinstance(source, dict) and source.get("type") in _FETCHED):
            yield True
        # What a tool was called with is data, and means nothing to the endpoint.
        for name, one in value.items():
            if name != "input":
                yield from _fetched(one, deep + 1)
