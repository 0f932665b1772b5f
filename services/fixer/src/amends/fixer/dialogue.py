"""What is said between us and a model: turns, calls of tools, what they cost, and how a turn may fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol, TypeAlias

from amends.common.events import Failure

Json: TypeAlias = dict[str, Any]
Stop = Literal["calls", "end", "cut", "refusal", "context", "paused"]


@dataclass(frozen=True)
class Tokens:
    """What a turn was made of, as the model's maker counts: `kept` was written to the cache for an hour."""

    fresh: int = 0
    written: int = 0
    read: int = 0
    said: int = 0
    kept: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def all(self) -> int:
        return self.fresh + self.written + self.read + self.said + self.kept


@dataclass(frozen=True)
class Call:
    """A tool that the model wants to be used."""

    id: str
    name: str
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Reply:
    """One turn of the model's. `said` is what is sent back to it unchanged with the next turn."""

    said: Json
    stop: Stop
    calls: tuple[Call, ...] = ()
    text: str = ""
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Opening:
    """What stays the same from turn to turn, byte by byte."""

    system: str
    tools: Sequence[Json]


class TurnFailed(Exception):
    """There is no reply, and why. `tokens` were spent on what broke off."""

    def __init__(self, reason: Failure, detail: str, retry_after: float = 0.0) -> None:
        super().__init__(detail)
        self.reason = reason
        self.retry_after = retry_after
        self.tokens = Tokens()


class Model(Protocol):
    """Somebody who answers."""

    @property
    def name(self) -> str: ...
    @property
    def longest(self) -> int:
        """The longest reply, in tokens."""
        ...

    async def turn(self, opening: Opening, messages: Sequence[Json], seconds: float) -> Reply:
        """The next turn, within this time; raises TurnFailed."""
        ...
