"""A log in a file of its own, and back: taken while it is written, and believed only after every row was looked at.

The file is a SQLite log, whatever the log itself is kept in: every reading command reads it, no tools of a database are
needed, and it goes back into SQLite or PostgreSQL. It has the log's epoch: its mirror knows it again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from amends.common.log import Log
from amends.common.log.engine import LogUnreachable, database, named, schema_version, sqlite_file
from amends.common.owned import alone_on
from amends.common.settings import log_at
from amends.evaluator.audit import Audit, audit
from amends.evaluator.migrate import migrate
from amends.evaluator.writer import NotEmpty, is_empty, pour

_PARTS = ("", "-wal", "-shm")  # what a SQLite database is on its disk
_REBUILT = "I7"  # projections: an evaluator of another version folds them again by itself


class Unsound(Exception):
    """The copy is not a whole log: what is wrong with it."""


class NotCopied(Exception):
    """No copy could be made: what SQLite says of it, such as that the disk is full."""


class NoPlace(Exception):
    """A backup must not be put there: it is the log itself, or no file at all."""


def back_up(url: str, file: Path) -> Audit:
    """A copy of the log as it is at one moment, in place only once it was found sound; raises InUse, NoPlace."""
    _check(url)
    source = sqlite_file(database(url))
    _may_be_replaced(file, source)
    with alone_on(file):
        beside = _fresh(file.with_name(f"{file.name}.new"))
        if source is None:
            migrate(log_at(beside))
            pour(url, log_at(beside))
        else:
            _copied(source, beside)
        found = sound(log_at(beside))
        _alone(beside)
        beside.replace(file)
        _synced(file.parent)
    return found


def put_back(file: Path, url: str) -> Audit:
    """The log of a backup in the place of an empty one; raises NotEmpty, Unsound, LogUnreachable."""
    target = sqlite_file(database(url))
    try:
        _check(log_at(file))
    except LogUnreachable as error:
        if not file.exists():
            raise
        raise Unsound("it is no log that `amends backup` wrote") from error
    if target is None:
        return _poured(file, url)
    if target.exists() and target.stat().st_size and (schema_version(database(url)) is None or not is_empty(url)):
        raise NotEmpty
    target.absolute().parent.mkdir(parents=True, exist_ok=True)
    beside = _fresh(target.with_name(f"{target.name}.new"))
    found = _of_today(file, beside)
    for left in _PARTS:
        target.with_name(f"{target.name}{left}").unlink(missing_ok=True)
    beside.replace(target)
    _synced(target.absolute().parent)
    return found


def sound(url: str) -> Audit:
    """What is in a log, once all of it was read: the chain of hashes, every blob; raises Unsound."""
    log = Log(url)
    try:
        found = audit(log, deep=True)
    except LogUnreachable as error:
        raise Unsound(str(error)) from error
    finally:
        log.close()
    wrong = [one for one in found.violations if one.invariant != _REBUILT]
    if wrong:
        raise Unsound("; ".join(f"{one.invariant} {one.found}" for one in wrong[:5]))
    return found


def _may_be_replaced(file: Path, source: Path | None) -> None:
    """A log that is replaced is lost to whoever writes it: he goes on in a file that has no name any more."""
    if not file.exists():
        return
    if not file.is_file():
        raise NoPlace("it is no file")
    ours = (source.with_name(f"{source.name}{part}") for part in _PARTS) if source is not None else ()
    if any(file.samefile(part) for part in ours if part.exists()):
        raise NoPlace("it is the log itself")


def _poured(file: Path, url: str) -> Audit:
    migrate(url)
    if not is_empty(url):
        raise NotEmpty
    beside = _fresh(file.with_name(f"{file.name}.restoring"))
    try:
        _of_today(file, beside)
        pour(log_at(beside), url)
    finally:
        for left in _PARTS:
            beside.with_name(f"{beside.name}{left}").unlink(missing_ok=True)
    return sound(url)


def _of_today(file: Path, beside: Path) -> Audit:
    """A copy of the backup with this program's schema: the backup itself stays as it is."""
    _copied(file, beside)
    migrate(log_at(beside))
    found = sound(log_at(beside))
    _alone(beside)
    return found


def _check(url: str) -> None:
    if schema_version(database(url)) is None:
        raise LogUnreachable(f"there is no log at {named(database(url))}: check the address")


def _copied(source: Path, target: Path) -> None:
    """SQLite's own online backup, in one step: one moment of the log, and whoever writes does not wait."""
    reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
    with _writing(target), closing(reading) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def _alone(file: Path) -> None:
    """One file, with nothing beside it, and all of it on the disk."""
    with _writing(file), closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    with file.open("rb") as written:
        os.fsync(written.fileno())


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        file.unlink(missing_ok=True)  # on a full disk even the start of a copy is in the way
        raise NotCopied(f"{error}: see that there is room for it") from error


def _fresh(file: Path) -> Path:
    """An empty file that only its owner may read."""
    for left in _PARTS:
        file.with_name(f"{file.name}{left}").unlink(missing_ok=True)
    file.touch(0o600, exist_ok=False)
    return file


def _synced(folder: Path) -> None:
    """The name, too, survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
