"""The audit of the mirror, I6: the message at sequence s is the event at position s, and none is missing between."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Protocol

from amends.common.bus.mirror import NotOurs, State
from amends.common.envelope import Row
from amends.common.log import Log
from amends.evaluator.audit import Audit
from amends.evaluator.invariants import Violation

AT_ONCE = 64
REBUILD = "the log is the truth: delete the stream EVENTS, the relay rebuilds it"
FORK = "keep both and decide which history is the true one, see docs/operations.md"


class Mirror(Protocol):
    """What is read of the mirror."""

    async def state(self) -> State | None: ...
    async def row_at(self, seq: int) -> Row | None: ...


async def audit_mirror(result: Audit, log: Log, mirror: Mirror, samples: int | None = None) -> None:
    """Compare every message, or so many spread evenly, with the log; the mirror may go on growing meanwhile."""
    state = await mirror.state()
    if state is None:
        result.notes.append("there is no mirror yet: the relay makes it")
        return
    head = await asyncio.to_thread(log.head)
    if state.epoch != head.epoch:
        what = f"the mirror is of log {state.epoch or 'unknown'}, this log is {head.epoch}"
        result.found([Violation("I6", None, what, "give the right NATS address")])
        return
    if state.last > head.pos:
        what = f"the mirror reaches {state.last}, the log only {head.pos}"
        result.found([Violation("I6", head.pos, what, "`amends restore --import-tail` brings in the rest")])
    if state.last < head.pos:
        result.notes.append(f"the mirror is {head.pos - state.last} events behind: the relay brings them")
    for positions in _portions(range(max(state.first, 1), min(state.last, head.pos) + 1), samples):
        recorded = await asyncio.to_thread(_recorded, log, positions)
        compared = await asyncio.gather(*(_compared(mirror, pos, recorded.get(pos)) for pos in positions))
        result.found(found for found in compared if found)
        result.mirrored += len(positions)


def _portions(positions: range, samples: int | None) -> Iterator[Sequence[int]]:
    step = max(1, len(positions) // samples) if samples else 1
    chosen = sorted({*positions[::step], *positions[-1:]})
    for start in range(0, len(chosen), AT_ONCE):
        yield chosen[start : start + AT_ONCE]


def _recorded(log: Log, positions: Sequence[int]) -> dict[int, Row]:
    first, last = positions[0], positions[-1]
    if last - first < AT_ONCE:
        return {row.pos: row for row in log.rows(first - 1, AT_ONCE, last)}
    return {pos: row for pos in positions if (row := log.row(pos))}


async def _compared(mirror: Mirror, pos: int, recorded: Row | None) -> Violation | None:
    try:
        mirrored = await mirror.row_at(pos)
    except NotOurs as error:
        return Violation("I6", pos, str(error), REBUILD)
    if mirrored == recorded:
        return None
    if mirrored is None:
        state = await mirror.state()  # the oldest go when there are more than it keeps
        return None if state and pos < state.first else Violation("I6", pos, "the mirror lacks this message", REBUILD)
    if recorded is None or mirrored.hash != recorded.hash:
        return Violation("I6", pos, f"the mirror holds another event, {mirrored.loop} {mirrored.key!r}", FORK)
    return Violation("I6", pos, "the mirror's copy differs from the event, though not in its hash", REBUILD)
