"""What can go wrong with writing, and whose fault it is: the storage's, or that of what was to be stored."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from amends.common.log import LogUnreachable


class Duplicate(Exception):
    """Another event has this position, this version of its loop, or this key."""


class OutOfOrder(Exception):
    """The rows do not follow the end of the log, or the head does not follow them."""


class Occupied(Exception):
    """Somebody else is writing, and who asked does not want to wait."""


class BlobMismatch(Exception):
    """The chunks do not make up the blob they were put for; they are gone and must be put again."""


# Busy, locked, out of memory, read only, I/O error, corrupt, full, cannot open, locking protocol, not a database.
_SQLITE = frozenset({5, 6, 7, 8, 10, 11, 13, 14, 15, 26})
# SQLSTATEs and their classes: connection, rollback (serialization, deadlock), resources (full disk), intervention
# (shutdown), system and internal errors; a lock in use, a standby, a log that is not there or not ours to write.
_POSTGRES = ("08", "40", "53", "57", "58", "XX", "25P03", "55P03", "25006", "42501", "42P01", "3D000", "28")


# Of PostgreSQL's driver, without loading it where it is not used.
_LOST = frozenset({"OperationalError", "InterfaceError"})


def is_busy(error: BaseException) -> bool:
    """Whether SQLite's write lock was somebody else's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def is_connection_error(error: BaseException) -> bool:
    """Whether nothing is known about what was written, so that the same again, later, is right.

    Everything else is the fault of something in the transaction, and would fail again.
    """
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or is_connection_error(error.orig or LogUnreachable())
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in _SQLITE or str(error).startswith("no such table")
    if state := getattr(error, "sqlstate", None):
        return str(state).startswith(_POSTGRES)
    if hasattr(error, "sqlstate"):  # the connection was gone before the server could say anything
        return not _LOST.isdisjoint(kind.__name__ for kind in type(error).__mro__)
    # SQLAlchemy's own errors are complaints about a connection that was lost before.
    return isinstance(error, SQLAlchemyError | LogUnreachable)
