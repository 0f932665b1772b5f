"""The events that only the mirror still has, checked so that they may be appended to a restored log."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from amends.common.bus.mirror import State
from amends.common.envelope import GENESIS, Row, rehashed
from amends.evaluator.fork import Head

_AT_ONCE = 100


class Mirror(Protocol):
    """What is read of the mirror."""

    async def state(self) -> State | None: ...
    async def row_at(self, seq: int) -> Row | None: ...


class NoTailError(Exception):
    """The mirror's events do not continue this log, and why."""


async def tail(mirror: Mirror, head: Head) -> list[Row]:
    """All that the mirror holds behind the log's end, ready to be appended; nothing when it holds no more."""
    state = await mirror.state()
    if state is None or state.epoch != head.epoch:
        raise NoTailError(f"the stream EVENTS is {'of another log' if state else 'not there'}: nothing can be imported")
    if state.last <= head.pos:
        return []
    start = max(1, head.pos)  # the log's own last event comes along: the two must agree on it
    rows = await _between(mirror, start, state.last)
    return continued(head, rows)


def continued(head: Head, rows: Sequence[Row]) -> list[Row]:
    """Of rows that begin with the log's last event, those behind it, each checked against the one before."""
    previous = head.hash if head.pos else GENESIS
    if head.pos:
        if not rows or rows[0].pos != head.pos or rows[0].hash != head.hash:
            raise NoTailError(f"log and mirror differ at position {head.pos}, the log's end: a fork, not a tail")
        rows = rows[1:]
    for pos, row in enumerate(rows, head.pos + 1):
        if row.pos != pos or row.hash != rehashed(row, previous):
            raise NoTailError(f"the mirror's event at position {pos} does not follow the one before it")
        previous = row.hash
    return list(rows)


async def _between(mirror: Mirror, first: int, last: int) -> list[Row]:
    found: list[Row] = []
    for start in range(first, last + 1, _AT_ONCE):
        positions = range(start, min(start + _AT_ONCE, last + 1))
        rows = await asyncio.gather(*(mirror.row_at(pos) for pos in positions))
        for pos, row in zip(positions, rows, strict=True):
            if row is None:
                raise NoTailError(f"the mirror does not hold position {pos}: it begins later than the log ends")
            found.append(row)
    return found
