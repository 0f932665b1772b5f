"""What passes by on its way from the model to somebody else's agent: what it cost, how it ended, what it said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from amends.fixer.dialogue import Json, Tokens

_BYTES = 3  # at least, that make a token
_LONGEST = 64 << 20


@dataclass
class Heard:
    """A reply, read while it passes. `streams`: it comes in events, else as one object."""

    streams: bool
    stop: str = ""
    fault: str = ""
    content: list[Json] = field(default_factory=list)
    total: int = 0
    _usage: dict[str, Any] = field(default_factory=dict)
    _rest: bytes = b""
    _over: bool = False

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        self.total += len(chunk)
        self._rest = (self._rest + chunk)[:_LONGEST]
        if self.streams:
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                if line.startswith(b"data:"):
                    self._event(_object(line.removeprefix(b"data:")))

    def end(self) -> None:
        """That was all."""
        if not self.streams:
            self._message(_object(self._rest))
            self._over = bool(self._usage)
        self._rest = b""

    @property
    def tokens(self) -> Tokens:
        """What it cost. Of a reply that was cut off nobody says how long it was: it is taken for long."""
        said = _number(self._usage.get("output_tokens"))
        hourly = _number(_mapping(self._usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
        return Tokens(
            fresh=_number(self._usage.get("input_tokens")),
            written=max(0, _number(self._usage.get("cache_creation_input_tokens")) - hourly),
            read=_number(self._usage.get("cache_read_input_tokens")),
            said=said if self._over else max(said, self.total // _BYTES),
            kept=hourly,
        )

    @property
    def message(self) -> Json:
        """What it said."""
        return {"role": "assistant", "content": self.content}

    def _message(self, said: Mapping[str, Any]) -> None:
        self._usage |= {name: one for name, one in _mapping(said.get("usage")).items() if one is not None}
        self.stop = str(said.get("stop_reason") or self.stop)
        content = said.get("content")
        self.content += [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []

    def _event(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                self._message(_mapping(event.get("message")))
            case "content_block_start":
                self.content.append(dict(_mapping(event.get("content_block"))))
            case "content_block_delta" if self.content:
                _grow(self.content[-1], _mapping(event.get("delta")))
            case "message_delta":
                self._message({"usage": event.get("usage"), **_mapping(event.get("delta"))})
                self._over = True
            case "error":
                self.fault = str(_mapping(event.get("error")).get("type") or "error")
            case _:
                pass


def _grow(block: Json, delta: Mapping[str, Any]) -> None:
    for name in ("text", "thinking", "partial_json"):
        if isinstance(delta.get(name), str):
            block[name] = f"{block.get(name) or ''}{delta[name]}"


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
