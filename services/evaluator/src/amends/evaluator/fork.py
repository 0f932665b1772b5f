"""Whether log and mirror are one history, and what an operator is told when they are not."""

from __future__ import annotations

import asyncio
from typing import Protocol

from amends.common.bus.mirror import NotOurs, State
from amends.common.envelope import Row


class Head(Protocol):
    """The end of the log."""

    @property
    def pos(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def epoch(self) -> str: ...


class Log(Protocol):
    """What is compared of the log; it may block."""

    def row(self, pos: int) -> Row | None: ...


class Mirror(Protocol):
    """What is compared of the mirror."""

    async def row_at(self, seq: int) -> Row | None: ...


class ForkError(Exception):
    """Log and mirror hold different events at the same position: somebody must decide which history is the true one."""


class MirrorAheadError(Exception):
    """The mirror holds events that the log does not: the log was restored from an older copy."""


class ForeignMirrorError(Exception):
    """The mirror belongs to another log."""


async def one_history(state: State, head: Head, log: Log, mirror: Mirror) -> None:
    """Return when the mirror is a part of this log; raise what is wrong, and never repair it."""
    if state.epoch != head.epoch:
        raise ForeignMirrorError(
            f"the stream EVENTS is of log {state.epoch or 'unknown'}, this log is {head.epoch}: give the right "
            "NATS address, or delete the stream if it may go; it is rebuilt"
        )
    pos = min(state.last, head.pos)
    if pos >= state.first:
        await _same(pos, log, mirror)
    if state.last > head.pos:
        raise MirrorAheadError(
            f"the mirror reaches position {state.last}, the log only {head.pos}: it was restored from an older "
            "copy; bring in the rest with `amends restore --import-tail`"
        )


async def _same(pos: int, log: Log, mirror: Mirror) -> None:
    """The rows' hashes are chained: what is equal here is equal all the way back."""
    try:
        mirrored = await mirror.row_at(pos)
    except NotOurs as error:
        raise ForkError(str(error)) from error
    recorded = await asyncio.to_thread(log.row, pos)
    if mirrored is None:
        raise LookupError(f"the mirror's own message {pos} cannot be read: delete the stream EVENTS, it is rebuilt")
    if recorded is None or recorded.hash != mirrored.hash:
        raise ForkError(
            f"at position {pos} the log and the mirror hold different events ({recorded and recorded.key!r} and "
            f"{mirrored.key!r}): keep both, decide which is true, see docs/operations.md"
        )
