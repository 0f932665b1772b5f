"""What a run may use, and what it has used: turns, tokens, money and time, looked at before each turn."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from amends.common.events import Usage
from amends.fixer import measures
from amends.fixer.dialogue import Json, Tokens
from amends.fixer.prices import price
from amends.fixer.record import Record


@dataclass(frozen=True)
class Limits:
    """What one run may use."""

    turns: int
    tokens: int
    usd_micro: int
    seconds: float


@dataclass(frozen=True)
class Turn:
    """A turn, by which model."""

    model: str
    tokens: Tokens

    @property
    def usd_micro(self) -> int:
        return price(self.model).of(self.tokens)


@dataclass
class Ledger:
    """The accounts of one run. Its time begins with the first look at it."""

    limits: Limits
    record: Record
    clock: Callable[[], float] = time.monotonic
    turns: list[Turn] = field(default_factory=list)
    _began: float | None = None

    @property
    def seconds(self) -> float:
        """For how long it runs."""
        now = self.clock()
        if self._began is None:
            self._began = now
        return now - self._began

    @property
    def left(self) -> float:
        """For how long it still may."""
        return self.limits.seconds - self.seconds

    @property
    def usage(self) -> Usage:
        """What it cost so far."""
        tokens = sum(turn.tokens.all for turn in self.turns)
        usd = sum(turn.usd_micro for turn in self.turns)
        return Usage(turns=len(self.turns), tokens=tokens, usd_micro=usd, seconds=round(self.seconds))

    def over(self) -> str:
        """Which limits are reached."""
        used = self.usage
        reached = {
            "turns": used.turns >= self.limits.turns,
            "tokens": used.tokens >= self.limits.tokens,
            "money": used.usd_micro >= self.limits.usd_micro,
            "time": self.left <= 0,
        }
        return " and ".join(name for name, is_over in reached.items() if is_over)

    async def opened(self, at_most: Turn) -> None:
        """A turn begins, which may cost so much."""
        await self.record.opened(self.usage, at_most.usd_micro)

    async def closed(self, turn: Turn, said: Sequence[Json], *, whole: bool = True) -> None:
        """A turn is over, and this was said in it. One that is not whole, and cost nothing, is none."""
        if whole or turn.tokens.all:
            self.turns.append(turn)
        measures.turned(turn.model, turn.tokens)
        await self.record.closed(self.usage, said, turn.tokens)
