"""A whole log out of one database into another: every row as it is, in one transaction on either side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Table, func, insert, literal, select, text, update

from amends.common.log.engine import database, reading, said, writing
from amends.common.log.tables import METADATA, blobs, head, parked

AT_ONCE = 200  # rows in memory; a part of a blob has a quarter of a megabyte
# The parts of a blob before the blob: once it is finished, nobody may add any.
_TABLES = (*(table for table in METADATA.sorted_tables if table not in (head, blobs)), blobs)


class NotEmpty(Exception):
    """The log that is to be filled holds something already."""


def pour(source: str, target: str) -> None:
    """Fill an empty log, whose schema is this program's, with what the other holds at one moment."""
    with _looking(source) as old, _filling(target) as new:
        for table in _TABLES:
            for part in _read(source, old, table):
                new.execute(insert(table), part)
        for part in _read(source, old, head):
            new.execute(update(head).values(part[0]))
        if new.dialect.name == "postgresql":  # which counts by itself, and has not seen these
            last = select(func.coalesce(func.max(parked.c.id), 0) + 1).scalar_subquery()
            new.execute(select(func.setval(text("pg_get_serial_sequence('parked', 'id')"), last, literal(value=False))))


def is_empty(target: str) -> bool:
    """Whether a log of this program's schema holds nothing."""
    with _looking(target) as connection:
        return _is_empty(connection)


def _read(source: str, old: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    """A table in portions. What goes wrong here is the fault of where it is read, and not of where it is written."""
    with said(database(source)):
        rows = old.execute(select(*table.c).execution_options(yield_per=AT_ONCE))
        for part in rows.mappings().partitions():
            yield [dict(row) for row in part]


@contextmanager
def _looking(url: str) -> Iterator[Connection]:
    """All that is read is of one moment, however long it takes."""
    engine = reading(database(url))
    try:
        with said(database(url)), engine.connect() as connection:
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")
                yield connection
                connection.exec_driver_sql("ROLLBACK")
            else:
                yield connection.execution_options(isolation_level="REPEATABLE READ")
    finally:
        engine.dispose()


@contextmanager
def _filling(url: str) -> Iterator[Connection]:
    """All or nothing, and nobody else writes."""
    engine = writing(database(url))
    try:
        with said(database(url)), engine.begin() as connection:
            connection.execute(select(head.c.pos).with_for_update())
            if not _is_empty(connection):
                raise NotEmpty
            yield connection
    finally:
        engine.dispose()


def _is_empty(connection: Connection) -> bool:
    if connection.execute(select(head.c.pos)).scalar_one():
        return False
    return all(connection.execute(select(literal(1)).select_from(table).limit(1)).first() is None for table in _TABLES)
