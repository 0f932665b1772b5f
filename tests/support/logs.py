"""Logs for tests: a new one in each database, and rows that could stand in them."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from amends.common.envelope import GENESIS, Row, chained
from amends.common.log import Head, Log, LoopRow
from amends.evaluator.migrate import migrate
from amends.evaluator.writer import Tx, Writer
from tests.support.postgres import Server

LOOP = "7-pr-1"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty log; copies share its epoch."""
    file = tmp_path_factory.mktemp("template") / "log.db"
    migrate(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def postgres_log(postgres: Server) -> str:
    """The address of the log that tests share, one after the other: a new database takes longer than a test."""
    url = postgres.database()
    migrate(url)
    return url


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """The address of an empty log in SQLite."""
    file = Path(shutil.copy(sqlite_template, tmp_path / "log.db"))
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE head SET epoch = ?", (uuid4().hex,))
    return f"sqlite:///{file}"


@pytest.fixture
def postgres_url(postgres_log: str) -> str:
    """The address of an empty log in PostgreSQL."""
    empty(postgres_log)
    return postgres_log


@pytest.fixture(params=["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.connected)])
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of an empty log, in each of the databases in turn."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.connected)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without a log, in each of the databases in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/new/log.db"
    server: Server = request.getfixturevalue("postgres")
    return server.database()


def empty(url: str) -> None:
    """Make the log empty that tests share in PostgreSQL. As a replica, for which the triggers look away."""
    with psycopg.connect(url) as connection:
        connection.execute("""
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()""")
        connection.execute("SET session_replication_role = replica")
        connection.execute("TRUNCATE events, blobs, blob_chunks, loops, timers, outstanding, claims, parked, puts")
        start = "UPDATE head SET pos = 0, hash = %s, time = 0, epoch = %s, vocabulary = 0, code = ''"
        connection.execute(start, (GENESIS, uuid4().hex))


@pytest.fixture
def writer(database_url: str) -> Iterator[Writer]:
    """The writer of an empty log."""
    opened = Writer(database_url)
    yield opened
    opened.close()


@pytest.fixture
def log(database_url: str) -> Iterator[Log]:
    """The reader of the same log."""
    opened = Log(database_url)
    yield opened
    opened.close()


def rows_after(tx: Tx, *keys: str, loop: str = LOOP, data: bytes = b"{}") -> list[Row]:
    """Rows of these keys that follow the end of the log and of the loop."""
    version, _ = tx.versions([loop]).get(loop, (0, ""))
    previous, rows = tx.head.hash, list[Row]()
    for n, key in enumerate(keys, 1):
        fields = (tx.head.pos + n, loop, version + n, key, "timer.fired", 1, tx.now, "evaluator", "", None, "")
        previous = chained(previous, fields, data)
        rows.append(Row(*fields, data, previous))
    return rows


def head_after(tx: Tx, rows: list[Row]) -> Head:
    """The head that belongs to the last of these rows."""
    return tx.head._replace(pos=rows[-1].pos, hash=rows[-1].hash, time=rows[-1].time)


def loop_row(loop: str = LOOP, version: int = 1, pos: int = 1, state: bytes = b"{}") -> LoopRow:
    """A loop of pull request 42; vary it with `_replace`."""
    return LoopRow(
        loop, version, pos, "change", 7, 42, "Owner/Repo", "Title", "https://github.com/Owner/Repo/pull/42",
        "watching", 0, 0, False, "", 0, "", state,
    )  # fmt: skip


def record(writer: Writer, *keys: str, loop: str = LOOP, data: bytes = b"{}") -> list[Row]:
    """Append rows of these keys in one transaction, with their loop and the head."""
    with writer.transaction() as tx:
        rows = rows_after(tx, *keys, loop=loop, data=data)
        tx.append(rows)
        tx.save([loop_row(loop, rows[-1].version, rows[-1].pos)])
        tx.advance(head_after(tx, rows))
    return rows
