"""What the writer says to the database: built with SQLAlchemy, compiled once, and then sent as it is.

SQLAlchemy would look each statement up in its cache whenever it is executed, and take longer for that than SQLite takes
to execute it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Dialect, String, Table, bindparam, delete, insert, select, update
from sqlalchemy.dialects import sqlite

from amends.common.log.queries import AT, CLOCK, EVENTS, HEAD, ONE
from amends.common.log.tables import (
    blob_chunks,
    blobs,
    claims,
    events,
    head,
    loops,
    outstanding,
    parked,
    puts,
    timers,
)

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

    Upsert = postgresql.Insert | sqlite.Insert

Statement = sa.Select[*tuple[Any, ...]] | sa.Delete


class Sized:
    """A statement about many things, in a few sizes, so that a database prepares each of them once."""

    SIZES = (1, 4, 16, 64, 256)

    def __init__(self, dialect: Dialect, about: Callable[[int], Statement]) -> None:
        """`about` builds the statement about so many things; its parameters are the things' parts, in order."""
        self._about = about
        self._dialect = dialect
        self._texts: dict[int, str] = {}

    def portions(self, things: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Statements and parameters, for any number of things; the last thing fills up to the size."""
        largest = self.SIZES[-1]
        for start in range(0, len(things), largest):
            some = things[start : start + largest]
            size = next(size for size in self.SIZES if size >= len(some))
            yield self._text(size), tuple(chain(chain.from_iterable(some), some[-1] * (size - len(some))))

    def _text(self, size: int) -> str:
        if size not in self._texts:
            self._texts[size] = str(self._about(size).compile(dialect=self._dialect))
        return self._texts[size]


class Statements:
    """The statements of a transaction. Those that write take a row of their table, as it is."""

    def __init__(self, dialect: Dialect) -> None:
        """Compiles them all, but the sizes that nobody has asked for yet."""
        self._dialect = dialect
        self.integrity_error = dialect.loaded_dbapi.IntegrityError
        self.begin = "BEGIN IMMEDIATE" if dialect.name == "sqlite" else ""  # psycopg begins by itself
        self.lock = self._text(HEAD.add_columns(self._clock()).with_for_update())
        self.advance = self._text(update(head).where(head.c.id == ONE), *HEAD.selected_columns.keys())
        self.append = self._text(insert(events))
        self.touch = self._text(self._upsert(loops, but={"full_name", "repo", "number", "kind", "folded", "state"}))
        self.save = {table: self._text(self._upsert(table)) for table in (loops, claims, timers, outstanding)}
        self.forget = {table: Sized(dialect, _forget(table)) for table in (timers, outstanding)}
        self.drop = {table: self._text(_drop(table)) for table in (timers, outstanding)}
        self.known = Sized(dialect, _known)
        self.stored = Sized(dialect, _of_loops(loops.c.version, loops.c.stuck, loops.c.folded, loops.c.state))
        self.versions = Sized(dialect, _of_loops(loops.c.version, loops.c.stuck))
        self.blobs = Sized(dialect, _blobs)
        self.at = self._text(AT)
        self.history = self._text(LATER)
        self.claims_live = self._text(CLAIMS_LIVE)
        self.spent = self._text(SPENT)
        self.park = self._park()
        self.put_chunk = self._put_chunk()
        self.begin_put = self._begin_put()
        self.finish_blob = self._insert(blobs).on_conflict_do_nothing()

    def _text(self, statement: sa.ClauseElement, *columns: str) -> str:
        return str(statement.compile(dialect=self._dialect, column_keys=columns or None))

    def _insert(self, table: Table) -> Upsert:
        if self._dialect.name == "sqlite":
            return sqlite.Insert(table)
        from sqlalchemy.dialects.postgresql import Insert  # noqa: PLC0415 - slow to load, and not used by most

        return Insert(table)

    def _clock(self) -> ColumnElement[Any]:
        if self._dialect.name == "sqlite":
            return sa.null()  # it has no clock but this machine's
        return CLOCK

    def _upsert(self, table: Table, but: Collection[str] = ()) -> sa.ClauseElement:
        """A row, new or instead of the old one, of which some columns stay: what has an index costs even unchanged."""
        row = self._insert(table)
        changing = [column.name for column in table.c if not column.primary_key and column.name not in but]
        changed = {name: row.excluded[name] for name in changing}
        return row.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed)

    def _park(self) -> sa.Insert:
        row = self._insert(parked)
        latest = {name: row.excluded[name] for name in ("last", "subject", "reason", "detail")}
        return row.on_conflict_do_update(
            index_elements=[parked.c.service, parked.c.sha], set_={**latest, "times": parked.c.times + 1}
        ).returning(parked.c.id)

    def _put_chunk(self) -> sa.Insert:
        row = self._insert(blob_chunks)
        return row.on_conflict_do_update(
            index_elements=list(blob_chunks.primary_key),
            set_={"data": row.excluded.data},
            where=blob_chunks.c.data != row.excluded.data,
        )

    def _begin_put(self) -> sa.Insert:
        row = self._insert(puts)
        return row.on_conflict_do_update(index_elements=[puts.c.sha], set_={"time": row.excluded.time})


LATER = EVENTS.where(events.c.loop == bindparam("loop"), events.c.version > bindparam("after")).order_by(
    events.c.version
)
NONE: ColumnElement[int] = sa.literal_column("0")
CLAIMS_LIVE = select(sa.func.count()).select_from(claims).where(claims.c.live)
SPENT = select(sa.func.coalesce(sa.func.sum(claims.c.usd_micro), NONE)).where(claims.c.day == bindparam("on"))
BLOB = select(blobs.c.sha).where(blobs.c.sha == bindparam("sha"))
# Locked, because on PostgreSQL somebody else may be putting the same blob, or worse, another under its name.
CHUNKS = (
    select(blob_chunks.c.data).where(blob_chunks.c.sha == bindparam("sha")).order_by(blob_chunks.c.n).with_for_update()
)  # fmt: skip
DROP_CHUNKS = delete(blob_chunks).where(blob_chunks.c.sha == bindparam("sha"), blob_chunks.c.n >= bindparam("start"))
END_PUT = delete(puts).where(puts.c.sha == bindparam("sha"))
ABANDONED = select(puts.c.sha).where(puts.c.time < bindparam("before")).limit(100)
UNPARK = delete(parked).where(parked.c.id == bindparam("parked_id"))
PARKED = select(parked.c.id, parked.c.size).where(parked.c.service == bindparam("of"))
PARKED = PARKED.order_by(parked.c.last.desc(), parked.c.id.desc())


def _known(size: int) -> Statement:
    # A join, because for `(loop, key) IN (...)` SQLite reads the whole table.
    pairs = [(bindparam(f"loop{n}", type_=String), bindparam(f"key{n}", type_=String)) for n in range(size)]
    asked = sa.values(sa.column("loop", String), sa.column("key", String), name="asked").data(pairs).cte()
    return EVENTS.join_from(asked, events, (events.c.loop == asked.c.loop) & (events.c.key == asked.c.key))


def _of_loops(*columns: ColumnElement[Any]) -> Callable[[int], Statement]:
    return lambda size: select(loops.c.loop, *columns).where(loops.c.loop.in_(_names(size)))


def _blobs(size: int) -> Statement:
    return select(blobs.c.sha).where(blobs.c.sha.in_([bindparam(f"sha{n}", type_=String) for n in range(size)]))


def _forget(table: Table) -> Callable[[int], Statement]:
    return lambda size: delete(table).where(table.c.loop.in_(_names(size)))


def _drop(table: Table) -> sa.Delete:
    return delete(table).where(*(column == bindparam(column.name) for column in table.primary_key))


def _names(size: int) -> list[sa.BindParameter[str]]:
    return [bindparam(f"loop{n}", type_=String) for n in range(size)]
