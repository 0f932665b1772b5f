"""One transaction of the recorder: what it may ask and write while it holds the head's lock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Protocol, TypeVar

from sqlalchemy import Table
from sqlalchemy.engine.interfaces import DBAPICursor

from amends.common.envelope import Row
from amends.common.log import LogUnreachable, tables
from amends.common.rows import ClaimRow, Head, LoopRow, OutstandingRow, Stored, TimerRow
from amends.evaluator.writer.failures import Duplicate, OutOfOrder
from amends.evaluator.writer.statements import Sized, Statements

Pair = tuple[str, str]  # a loop and a key
Wait = TypeVar("Wait", TimerRow, OutstandingRow)


class Waiting(Protocol):
    """What is kept of a loop's waits."""

    @property
    def timers(self) -> Sequence[TimerRow]: ...
    @property
    def outstanding(self) -> Sequence[OutstandingRow]: ...


class Tx:
    """Under the head's lock nobody else writes. `head` is the end of the log, `now` the time of its next events."""

    head: Head
    now: int

    def __init__(self, cursor: DBAPICursor, statements: Statements) -> None:
        """Takes the lock; who began the transaction on the driver's connection ends it."""
        self._cursor = cursor
        self._statements = statements
        found = self._rows(statements.lock)
        if not found:  # no report's fault: none may be refused for it
            raise LogUnreachable("the log has lost its head row: restore it from a backup")
        [(*columns, clock)] = found
        self.head = Head(*columns)
        self.now = max(clock or time.time_ns() // 1_000, self.head.time)  # no clock may take the log's back
        self._end = self.head.pos

    # --- what is known ---------------------------------------------------------------------------------------------

    def known(self, pairs: Sequence[Pair]) -> dict[Pair, Row]:
        """Those of the keys that are in the log, with their events."""
        return {(columns[1], columns[3]): Row._make(columns) for columns in self._asked(self._statements.known, pairs)}

    def row(self, pos: int) -> Row | None:
        """The event at this position."""
        return next(map(Row._make, self._rows(self._statements.at, pos)), None)

    def history(self, loop: str, after: int = 0) -> list[Row]:
        """All events of a loop in order, behind a version."""
        return list(map(Row._make, self._rows(self._statements.history, loop, after)))

    def versions(self, names: Sequence[str]) -> dict[str, tuple[int, str]]:
        """Version and `stuck` of those loops that exist: enough to know whether a cached state is still the state."""
        found = self._asked(self._statements.versions, list(zip(names)))
        return {loop: (version, stuck) for loop, version, stuck in found}

    def stored(self, names: Sequence[str]) -> dict[str, Stored]:
        """Those of the loops that exist, with their state."""
        return {loop: Stored(*columns) for loop, *columns in self._asked(self._statements.stored, list(zip(names)))}

    def has_blobs(self, shas: Sequence[str]) -> set[str]:
        """Those of the blobs that are stored to the end."""
        return {sha for (sha,) in self._asked(self._statements.blobs, list(zip(shas)))}

    def claims_live(self) -> int:
        """How many attempts are being worked on."""
        return int(self._rows(self._statements.claims_live)[0][0])

    def spent_on(self, day: int) -> int:
        """Millionths of a dollar that were spent on a day or are reserved for it."""
        return int(self._rows(self._statements.spent, day)[0][0])

    # --- what is written -------------------------------------------------------------------------------------------

    def append(self, rows: Sequence[Row]) -> None:
        """Add events behind the log's end. Raises OutOfOrder for a gap and Duplicate for a taken key or version."""
        if [row.pos for row in rows] != list(range(self._end + 1, self._end + 1 + len(rows))):
            raise OutOfOrder(f"{len(rows)} rows do not follow position {self._end} without a gap")
        try:
            self._write(self._statements.append, [_COLUMNS(row) for row in rows])
        except self._statements.integrity_error as error:
            raise Duplicate(str(error)) from error
        self._end += len(rows)

    def save(
        self,
        loops: Sequence[LoopRow] = (),
        timers: Mapping[str, Sequence[TimerRow]] | None = None,
        outstanding: Mapping[str, Sequence[OutstandingRow]] | None = None,
        claims: Sequence[ClaimRow] = (),
        before: Mapping[str, Waiting] | None = None,
    ) -> None:
        """Bring the projections up to date. Timers and outstanding requests replace all those of the loops named.

        The state of a loop that comes without one stays as it is stored, and so does all that names the loop. Of a loop
        whose timers and requests are known as they were `before`, only what differs is written.
        """
        self._write(self._statements.save[tables.loops], [loop for loop in loops if loop.state])
        self._write(self._statements.touch, [loop for loop in loops if not loop.state])
        known = (before or {}).items()
        if timers:
            self._replace(tables.timers, timers, {loop: one.timers for loop, one in known}, _TIMER)
        if outstanding:
            self._replace(tables.outstanding, outstanding, {loop: one.outstanding for loop, one in known}, _REQUEST)
        self._write(self._statements.save[tables.claims], claims)

    def advance(self, to: Head) -> None:
        """Move the head onto the last event that was appended."""
        if to.pos != self._end or to.time < self.head.time or to.epoch != self.head.epoch:
            raise OutOfOrder(f"the head cannot go from {self.head} to {to}: the last event is at {self._end}")
        self._write(self._statements.advance, [to])
        self.head = to

    def check_complete(self) -> None:
        """Raises OutOfOrder when the head was not moved onto the last event."""
        if self.head.pos != self._end:
            raise OutOfOrder(f"the last event is at {self._end} and the head stays at {self.head.pos}")

    def _rows(self, sql: str, *parameters: object) -> Sequence[tuple[Any, ...]]:
        self._cursor.execute(sql, parameters)
        return self._cursor.fetchall()

    def _asked(self, statement: Sized, things: Sequence[tuple[str, ...]]) -> Iterator[tuple[Any, ...]]:
        for sql, parameters in statement.portions(things):
            self._cursor.execute(sql, parameters)
            yield from self._cursor.fetchall()

    def _replace(
        self,
        table: Table,
        now: Mapping[str, Sequence[Wait]],
        before: Mapping[str, Sequence[Wait]],
        key: Callable[[Wait], tuple[object, ...]],
    ) -> None:
        if unknown := [(loop,) for loop in now if loop not in before]:
            for sql, parameters in self._statements.forget[table].portions(unknown):
                self._cursor.execute(sql, parameters)
        gone: list[tuple[object, ...]] = []
        fresh: list[Wait] = []
        for loop, rows in now.items():
            old = before.get(loop, ())
            fresh += [row for row in rows if row not in old]
            gone += {key(row) for row in old}.difference(map(key, rows))
        self._write(self._statements.drop[table], gone)
        self._write(self._statements.save[table], fresh)

    def _write(self, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self._cursor.executemany(sql, rows)


_TIMER: Callable[[TimerRow], tuple[object, ...]] = attrgetter("loop", "name")
_REQUEST: Callable[[OutstandingRow], tuple[object, ...]] = attrgetter("loop", "pos")
_COLUMNS: Callable[[Row], tuple[object, ...]] = attrgetter(*tables.events.c.keys())
