"""Copies of a SQLite log, as a backup takes them, and a log that goes back to one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def file_of(database: str) -> Path:
    """Where a SQLite log is."""
    return Path(database.removeprefix("sqlite:///"))


def copied(database: str, to: Path) -> str:
    """A copy of the log as it is at this moment, while it goes on being written; answers its address."""
    with closing(sqlite3.connect(file_of(database))) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)
    return f"sqlite:///{to}"


def put_back(database: str, copy: Path) -> None:
    """The log is what it was when the copy was taken; nobody may have it open."""
    file = file_of(database)
    for part in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        part.unlink(missing_ok=True)
    copied(f"sqlite:///{copy}", file)
