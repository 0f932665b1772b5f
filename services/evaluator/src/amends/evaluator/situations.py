"""What the notifier has to know about an event: how its loop stands, whether it still waits, and who has been told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol

from amends.common.envelope import Row, event_of
from amends.common.events import (
    CommandAccepted,
    CommandGiven,
    CommandRefused,
    CycleFinished,
    Escalated,
    LoopFinished,
    LoopPaused,
    NotifyStarted,
    PolicyObserved,
    ReviewRequested,
)
from amends.common.explain import Known, explain
from amends.common.identity import INSTALLATION, policy_loop
from amends.common.log import Log
from amends.common.loop import Loop
from amends.common.policy import Policy
from amends.common.provenance import Layers
from amends.common.rows import LoopRow
from amends.common.situation import Accounted, Asked, accounted, situation
from amends.common.standing import obstacles, policy_for
from amends.common.state import load
from amends.evaluator.recorder import LocalRecorder, Recorder

CHANNELS = ("github", "slack", "email")
_READ, _FARTHEST, _RECENT = 500, 20_000, 200


class Shelf(Protocol):
    """What is read of the log."""

    def row(self, pos: int) -> Row | None: ...
    def find(self, loop: str, key: str) -> Row | None: ...
    def loop(self, name: str) -> LoopRow | None: ...
    def rows(self, after: int, limit: int = 500, upto: int | None = None) -> list[Row]: ...
    def history(self, loop: str, upto_version: int | None = None, after: int = 0) -> list[Row]: ...


class KnowingRecorder(LocalRecorder):
    """The recorder as a notifier in the same process sees it."""

    def __init__(self, recorder: Recorder, service: str, log: Log) -> None:
        super().__init__(recorder, service, log.blob)
        self._log = log

    async def asked(self, pos: int) -> Asked | None:
        """What the event at `pos` asks of the notifier, and how its loop stands."""
        return await asyncio.to_thread(asked, self._log, pos)


def asked(shelf: Shelf, pos: int) -> Asked | None:
    """About the event at this position; None where the log has none, or nobody to tell of it."""
    row = shelf.row(pos)
    if row is None:
        return None
    fact = event_of(row).fact
    name = _concerned(shelf, row) if isinstance(fact, PolicyObserved) else row.loop
    if name is None:
        return None
    loop, settings = _loop(shelf, name), _loop(shelf, policy_loop(name))
    policy = policy_for(loop, _loop(shelf, INSTALLATION), settings)
    asked_at = (*_earlier(shelf, row), pos)
    told = {
        channel
        for position in asked_at
        for channel in CHANNELS
        if shelf.find(row.loop, f"notified/{position}/{channel}")
    }
    failed = {channel for channel in CHANNELS if shelf.find(row.loop, f"notified/{pos}/{channel}/failed")}
    explains = isinstance(fact, CommandAccepted) and fact.name == "explain"
    return Asked(
        owed=pos in loop.asks,
        told=tuple(sorted(told)),
        failed=tuple(sorted(failed - told)),
        begun=dict(_begun(shelf, row.loop, asked_at)),
        situation=situation(loop, policy, settings.rules_error),
        command=_command(shelf, row.loop, fact.of) if isinstance(fact, CommandAccepted | CommandRefused) else None,
        account=_account(shelf, loop, policy) if explains else None,
    )


def _begun(shelf: Shelf, loop: str, asked_at: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    for position in asked_at:
        for channel in CHANNELS:
            row = shelf.find(loop, f"notified/{position}/{channel}/started")
            fact = event_of(row).fact if row else None
            if isinstance(fact, NotifyStarted):
                yield channel, fact.run


def _concerned(shelf: Shelf, row: Row) -> str | None:
    """The pull request on which people hear of a repository's policy file: the last one of which was heard before.

    Once somebody has begun to tell it there, it is that one, however it stands by now.
    """
    before = f"{row.loop.partition('-')[0]}-pr-"
    seen: set[str] = set()
    for upto in range(row.pos - 1, max(0, row.pos - _FARTHEST), -_READ):
        for found in reversed(shelf.rows(max(0, upto - _READ), _READ, upto)):
            if found.loop.startswith(before) and found.loop not in seen:
                seen.add(found.loop)
                loop = _loop(shelf, found.loop)
                policy = policy_for(loop, _loop(shelf, INSTALLATION), _loop(shelf, row.loop))
                begun = shelf.find(found.loop, f"notified/{row.pos}/{CHANNELS[0]}/started")
                if begun or not {one.name for one in obstacles(loop, policy)} & _AWAY:
                    return found.loop
    return None


_AWAY = {"not observed", "closed", "merged", "not enabled", "opted out", "draft"}


def _command(shelf: Shelf, loop: str, key: str) -> CommandGiven | None:
    row = shelf.find(loop, key)
    fact = event_of(row).fact if row else None
    return fact if isinstance(fact, CommandGiven) else None


def _account(shelf: Shelf, loop: Loop, policy: Policy) -> Accounted:
    beside = [event_of(one) for name in (INSTALLATION, policy_loop(loop.id)) for one in shelf.history(name)]
    recent = [event_of(one) for one in shelf.history(loop.id, after=max(0, loop.version - _RECENT))]
    layers = Layers(loop.pull.full_name if loop.pull else "").tell(sorted(beside, key=lambda event: event.pos))
    return accounted(explain(loop, policy, recent, Known(layers.settings(), layers.error, beside)))


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
