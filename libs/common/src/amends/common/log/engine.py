"""Connections to the log's database: SQLite and PostgreSQL behind one set of names, opened to read or to write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import SQLITE_BUSY
from sqlite3 import Connection as SqliteConnection
from sqlite3 import Error as SqliteError
from typing import Protocol

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

BUSY_SECONDS = 10  # how long anybody waits for another's lock or connection before it counts as an outage


class LogUnreachable(Exception):
    """The log cannot be read or written: what is wrong, and what to do about it."""


class _Cursor(Protocol):
    def execute(self, sql: str, /) -> object: ...
    def close(self) -> object: ...


class _Connection(Protocol):
    def cursor(self) -> _Cursor: ...
    def commit(self) -> None: ...


def database(url: str) -> URL:
    """The address as SQLAlchemy wants it; `sqlite:///path` and `postgresql://...` are what people write."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # ValueError: a port that is no number
        raise LogUnreachable("the log's address is not a URL: use sqlite:///path or postgresql://...") from error
    match parsed.get_backend_name():
        case "sqlite" if parsed.database and parsed.database != ":memory:":
            return parsed
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+psycopg")
        case name:
            raise LogUnreachable(f"the log cannot be kept in {name!r}: use sqlite:///path or postgresql://...")


def named(url: URL) -> str:
    """The address as it may be shown: without a password."""
    return url.render_as_string(hide_password=True)


def sqlite_file(url: URL) -> Path | None:
    """The file of a SQLite log."""
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def reading(url: URL) -> Engine:
    """An engine whose connections cannot write. Every statement is its own short transaction."""
    file = sqlite_file(url)
    if file is None:
        engine = create_engine(url, isolation_level="AUTOCOMMIT", pool_pre_ping=True, **_POSTGRES)
        return _listening(engine, _READING)
    return _listening(create_engine(_opened(url, file, "ro"), isolation_level="AUTOCOMMIT", **_SQLITE), ())


def writing(url: URL, *, create: bool = False) -> Engine:
    """An engine whose commits are on the disk when they return. SQLite's transactions take the write lock at once."""
    file = sqlite_file(url)
    if file is None:
        return _listening(create_engine(url, isolation_level="READ COMMITTED", **_POSTGRES), _WRITING)
    engine = create_engine(_opened(url, file, "rwc" if create else "rw"), **_SQLITE)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    return _listening(engine, _DURABLE)


def _opened(url: URL, file: Path, mode: str) -> URL:
    # As a URI, because only there SQLite can be told not to write, and not to make an empty log of a mistyped path.
    return url.set(database=file.absolute().as_uri(), query={**url.query, "mode": mode, "uri": "true"})


# Parameters by position, so that a row is what a statement takes.
_SQLITE = {"paramstyle": "qmark", "connect_args": {"timeout": BUSY_SECONDS, "check_same_thread": False}}
# Whatever encoding the role, the database or PGCLIENTENCODING prefers: we speak Unicode.
_POSTGRES = {"paramstyle": "format", "connect_args": {"connect_timeout": BUSY_SECONDS, "client_encoding": "utf8"}}
_READING = ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",)
_DURABLE = (
    "PRAGMA page_size=2048",  # of a new log: a commit writes a dozen pages, and little of each has changed
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA wal_autocheckpoint=8000",  # pages, 16 MB, moved by a commit: rarer means longer, often means slower
    "PRAGMA secure_delete=OFF",  # on in some builds: what is replaced is then written over, page by page
)
_WRITING = (
    # A server that does not wait for its disk would make `recorded` a lie. What waits for more than that stays.
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
    # A stopped evaluator must not keep the head's lock from the others for ever.
    f"SET idle_in_transaction_session_timeout = '{BUSY_SECONDS}s'",
    f"SET lock_timeout = '{BUSY_SECONDS}s'",
)


def _listening(engine: Engine, statements: tuple[str, ...]) -> Engine:
    def prepare(connection: _Connection, _entry: ConnectionPoolEntry) -> None:
        if isinstance(connection, SqliteConnection):
            connection.isolation_level = None  # else Python's own idea of a transaction comes on top of ours
        cursor = connection.cursor()
        for statement in statements:
            _execute(cursor, statement)
        cursor.close()
        connection.commit()

    event.listen(engine, "connect", prepare)
    return engine


def _execute(cursor: _Cursor, statement: str) -> None:
    # SQLite has patience for every lock but that of the change to a write-ahead log, which a new log has to make.
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute(statement)
        except SqliteError as error:
            if getattr(error, "sqlite_errorcode", 0) != SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def schema_version(url: URL) -> str | None:
    """The revision of the database's schema, None when it has none yet; one query."""
    file = sqlite_file(url)
    if file is not None and not file.exists():
        return None
    engine = reading(url)
    try:
        with engine.connect() as connection:
            found: str | None = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
            return found
    except DBAPIError as error:
        if is_missing(url, error):
            return None
        raise LogUnreachable(wrong(url, error)) from error
    finally:
        engine.dispose()


def is_missing(url: URL, error: DBAPIError) -> bool:
    """Whether it failed for want of a file, a table or a column, so that a migration would help."""
    file = sqlite_file(url)
    if file is not None:
        return not file.exists() or "no such " in str(error.orig)
    return getattr(error.orig, "sqlstate", "") in {"42P01", "42703"}


@contextmanager
def said(url: URL) -> Iterator[None]:
    """What the database complains about becomes LogUnreachable, in our own words."""
    try:
        yield
    except DBAPIError as error:
        raise LogUnreachable(wrong(url, error)) from error


def wrong(url: URL, error: DBAPIError) -> str:
    """What is wrong with the log, and what to do about it."""
    file = sqlite_file(url)
    if file is not None and not file.exists():
        return f"there is no log at {file}: check the address; `amends up` or `amends run evaluator` makes one"
    if is_missing(url, error):
        return f"{named(url)} holds no log of this version: `amends run evaluator` makes or migrates it"
    words = (str(error.orig).splitlines() or [""])[0]
    if getattr(error.orig, "sqlstate", "") == _NOT_ALLOWED:
        remedy = "its owner may, and by `amends migrate --recorder-role R --reader-role S` gives roles what they need"
        return f"the log at {named(url)} is not for this role to use like that ({words}): {remedy}"
    return f"the log at {named(url)} cannot be read ({words}): check the address and that its server runs"


_NOT_ALLOWED = "42501"  # PostgreSQL's SQLSTATE for a missing privilege
