"""What an attempt has said and spent, written down before and after each turn, so that one that is killed leaves it.

What was said becomes blobs, each of which names the one before it. A small file holds the sums and the newest blob's
name. Before a turn it also holds what that turn may cost at most: whoever dies over it has spent that.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from amends.common.delivery import Later
from amends.common.events import Usage
from amends.fixer.dialogue import Json, Tokens

Put = Callable[[bytes], Awaitable[str]]


class Line(BaseModel):
    """What is known of an attempt. `at_most` is what a turn that has begun and not ended may cost."""

    model_config = ConfigDict(frozen=True)
    step: str
    run: str
    usage: Usage = Usage()
    at_most: int = 0
    transcript: str | None = None

    @property
    def spent(self) -> Usage:
        """With what a turn in flight has cost, for all that we know."""
        cut = 1 if self.at_most else 0
        more = {"turns": self.usage.turns + cut, "usd_micro": self.usage.usd_micro + self.at_most}
        return self.usage.model_copy(update=more)


@dataclass
class Record:
    """The record of one attempt."""

    file: Path
    put: Put
    line: Line
    _unsaid: list[Json] = field(default_factory=list)

    async def opened(self, usage: Usage, at_most: int) -> None:
        """A turn begins."""
        await self._write(usage=usage, at_most=at_most)

    async def closed(self, usage: Usage, said: Sequence[Json], tokens: Tokens) -> None:
        """A turn is over: what was said since the last one, and what it cost. Where nobody keeps words now, later."""
        self._unsaid += said
        try:
            await self.said(tokens)
        except Later:
            await self._write(usage=usage, at_most=0)
        else:
            await self._write(usage=usage, at_most=0)

    async def said(self, tokens: Tokens | None = None, rest: Sequence[Json] = ()) -> str | None:
        """Keep what was said; answers with the name of the newest blob."""
        self._unsaid += rest
        if self._unsaid:
            link = {"before": self.line.transcript, "said": self._unsaid, "tokens": vars(tokens) if tokens else None}
            sha = await self.put(json.dumps(link, ensure_ascii=False).encode(errors="replace"))
            self.line = self.line.model_copy(update={"transcript": sha})
            self._unsaid = []
        return self.line.transcript

    async def _write(self, **known: object) -> None:
        self.line = self.line.model_copy(update=known)
        await asyncio.to_thread(_kept, self.file, self.line.model_dump_json().encode())


@dataclass(frozen=True)
class Records:
    """The records of one fixer: one file for each loop, of its newest attempt."""

    root: Path
    put: Put

    async def begun(self, loop: str, step: str, run: str) -> Record:
        """The record of an attempt that begins now."""
        record = Record(self.root / f"{loop}.json", self.put, Line(step=step, run=run))
        await asyncio.to_thread(_kept, record.file, record.line.model_dump_json().encode())
        return record

    def left(self, loop: str, step: str, run: str) -> Line | None:
        """What an attempt has left behind that did not come to its end; None: nothing is known of it."""
        try:
            line = Line.model_validate_json((self.root / f"{loop}.json").read_bytes())
        except (OSError, ValidationError):
            return None
        return line if (line.step, line.run) == (step, run) else None


def _kept(file: Path, content: bytes) -> None:
    """Whole and on the disk, or as it was."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = file.with_suffix(".new")
    with fresh.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)
