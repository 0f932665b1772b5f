"""What the notifier has to know about an event: how its loop stands, whether it still waits, and who has been told."""

from __future__ import annotations

import asyncio
from typing import Protocol

from amends.common.envelope import Row, event_of
from amends.common.events import CycleFinished, Escalated, LoopFinished, LoopPaused, ReviewRequested
from amends.common.identity import INSTALLATION, policy_loop
from amends.common.log import Log
from amends.common.loop import Loop
from amends.common.rows import LoopRow
from amends.common.situation import Asked, situation
from amends.common.standing import policy_for
from amends.common.state import load
from amends.evaluator.recorder import LocalRecorder, Recorder

CHANNELS = ("github", "slack", "email")


class Shelf(Protocol):
    """What is read of the log."""

    def row(self, pos: int) -> Row | None: ...
    def find(self, loop: str, key: str) -> Row | None: ...
    def loop(self, name: str) -> LoopRow | None: ...


class KnowingRecorder(LocalRecorder):
    """The recorder as a notifier in the same process sees it."""

    def __init__(self, recorder: Recorder, service: str, log: Log) -> None:
        super().__init__(recorder, service, log.blob)
        self._log = log

    async def asked(self, pos: int) -> Asked | None:
        """What the event at `pos` asks of the notifier, and how its loop stands."""
        return await asyncio.to_thread(asked, self._log, pos)


def asked(shelf: Shelf, pos: int) -> Asked | None:
    """About the event at this position; None where the log has none."""
    row = shelf.row(pos)
    if row is None:
        return None
    loop = _loop(shelf, row.loop)
    policy = policy_for(loop, _loop(shelf, INSTALLATION), _loop(shelf, policy_loop(row.loop)))
    told = {
        channel
        for position in (pos, *_earlier(shelf, row))
        for channel in CHANNELS
        if shelf.find(row.loop, f"notified/{position}/{channel}")
    }
    failed = {channel for channel in CHANNELS if shelf.find(row.loop, f"notified/{pos}/{channel}/failed")}
    return Asked(
        owed=pos in loop.asks,
        told=tuple(sorted(told)),
        failed=tuple(sorted(failed - told)),
        situation=situation(loop, policy),
    )


def _loop(shelf: Shelf, name: str) -> Loop:
    row = shelf.loop(name)
    return load(row.state) if row else Loop(name)


def _earlier(shelf: Shelf, row: Row) -> list[int]:
    """Where the same was asked before: what was told then is not told again."""
    fact = event_of(row).fact
    if not isinstance(fact, CycleFinished | ReviewRequested | Escalated | LoopPaused | LoopFinished):
        return []
    keys = [fact.model_copy(update={"again": again}).key for again in range(fact.again)]
    return [found.pos for key in keys if (found := shelf.find(row.loop, key))]
