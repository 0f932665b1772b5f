"""What both the reader and the writer ask of the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    CursorResult,
    bindparam,
    cast,
    func,
    literal_column,
    select,
)

from amends.common.envelope import Gist, Row
from amends.common.log.tables import blobs, events, head
from amends.common.rows import Head

END = 2**62  # behind every position
MANY = 1_000_000_000
ONE: ColumnElement[int] = literal_column("1")
# PostgreSQL's; SQLite has none but this machine's.
CLOCK: ColumnElement[int] = cast(func.extract("epoch", func.clock_timestamp()) * literal_column("1000000"), BigInteger)
HEAD = select(*(head.c[name] for name in Head._fields)).where(head.c.id == ONE)
EVENTS = select(*events.c)
STRETCH = (
    EVENTS.where(events.c.pos > bindparam("after"), events.c.pos <= bindparam("upto"))
    .order_by(events.c.pos)
    .limit(bindparam("limit"))
)
GISTS = STRETCH.with_only_columns(*(events.c[name] for name in Gist._fields))
HISTORY = (
    EVENTS.where(
        events.c.loop == bindparam("loop"), events.c.version > bindparam("after"), events.c.version <= bindparam("upto")
    ).order_by(events.c.version)
)  # fmt: skip
AT = EVENTS.where(events.c.pos == bindparam("pos"))
KEYED = EVENTS.where(events.c.loop == bindparam("loop"), events.c.key == bindparam("key"))
BLOBS = select(blobs.c.sha).where(blobs.c.sha.in_(bindparam("shas", expanding=True)))
Asked = TypeVar("Asked")
Read = TypeVar("Read", Row, Gist)
_PORTION = 400


def portions(asked: Sequence[Asked]) -> Iterator[Sequence[Asked]]:
    """`asked` in pieces that a statement can hold: SQLite allows it so many variables, two for each."""
    return (asked[start : start + _PORTION] for start in range(0, len(asked), _PORTION))


def known_blobs(connection: Connection, shas: Sequence[str]) -> set[str]:
    """Those of them that are stored to the end."""
    return {sha for some in portions(shas) for sha in connection.execute(BLOBS, {"shas": some}).scalars()}


def rows_of(result: CursorResult[*tuple[Any, ...]], kind: type[Read]) -> list[Read]:
    """The events of a result, from the driver itself: there may be very many."""
    with result:
        return list(map(tuple.__new__, repeat(kind), result.cursor.fetchall()))  # as `_make`, which is Python
