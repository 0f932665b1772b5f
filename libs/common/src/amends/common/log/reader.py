"""The log's reader: anybody may have one, and none of them can write. Every call reads for itself and holds nothing."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import Connection, Select, func, select, text
from sqlalchemy.exc import DBAPIError

from amends.common.envelope import Gist, Row, UnknownFactError
from amends.common.identity import LOOP
from amends.common.log.engine import LogUnreachable, database, named, reading, sqlite_file, wrong
from amends.common.log.guards import unguarded
from amends.common.log.queries import (
    AT,
    CLOCK,
    END,
    GISTS,
    HEAD,
    HISTORY,
    KEYED,
    MANY,
    STRETCH,
    Read,
    known_blobs,
    rows_of,
)
from amends.common.log.tables import BLOCKED, STUCK, blob_chunks, blobs, claims, loops, outstanding, parked, timers
from amends.common.rows import ClaimRow, Head, LoopRow, OutstandingRow, ParkedRow, TimerRow
from amends.common.state import caught_up, dump, load

STATELESS = select(*(column for column in loops.c if column is not loops.c.state))
BYTELESS = select(*(column for column in parked.c if column is not parked.c.data))
# `owner/repo#42`, or a pull request's address on whatever host and behind whatever prefix.
_PULL = re.compile(r"(?:^|/)([A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)(?:#|/pull/)([0-9]{1,18})(?:[/?#]\S*)?$")


class BlobDamaged(Exception):
    """A blob's stored bytes are not those of its name: restore them from a backup."""


class Log:
    """The log of one database. Safe to use from several threads, and while a writer writes."""

    def __init__(self, url: str) -> None:
        """Connects to nothing yet: the first call does."""
        self._url = database(url)
        self._engine = reading(self._url)

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    def head(self) -> Head:
        """The end of the log."""
        with self._reading() as connection:
            found = connection.execute(HEAD).first()
        if found is None:
            raise LogUnreachable(f"the log at {named(self._url)} has lost its head row: restore it from a backup")
        return Head(*found)

    def now(self) -> int:
        """The time that an event would have if it were recorded now: by the database's clock, if it has one."""
        last = self.head().time
        if sqlite_file(self._url) is not None:
            return max(last, time.time_ns() // 1_000)
        with self._reading() as connection:
            return max(last, connection.execute(select(CLOCK)).scalar_one())

    def size(self) -> int:
        """The bytes that the database takes on its disk."""
        file = sqlite_file(self._url)
        if file is not None:
            self.head()  # says what is wrong when there is no log
            return sum(part.stat().st_size for part in (file, file.with_name(f"{file.name}-wal")) if part.exists())
        with self._reading() as connection:
            return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    # --- events ----------------------------------------------------------------------------------------------------

    def rows(self, after: int, limit: int = 500, upto: int | None = None) -> list[Row]:
        """The events behind position `after`, in order: at most `limit` of them and none behind `upto`."""
        return self._events(STRETCH, Row, after=after, limit=limit, upto=END if upto is None else upto)

    def gists(self, after: int, limit: int = 500, upto: int | None = None) -> list[Gist]:
        """The same, but only what folding needs of them, which takes two thirds of the time."""
        return self._events(GISTS, Gist, after=after, limit=limit, upto=END if upto is None else upto)

    def row(self, pos: int) -> Row | None:
        """The event at this position."""
        return next(iter(self._events(AT, Row, pos=pos)), None)

    def find(self, loop: str, key: str) -> Row | None:
        """The event of this key."""
        return next(iter(self._events(KEYED, Row, loop=loop, key=key)), None)

    def history(self, loop: str, upto_version: int | None = None, after: int = 0) -> list[Row]:
        """All events of a loop in order, behind one version and up to another."""
        return self._events(HISTORY, Row, loop=loop, after=after, upto=MANY if upto_version is None else upto_version)

    # --- projections -----------------------------------------------------------------------------------------------

    def loops(
        self, status: str | None = None, repo: str | None = None, *, stuck: bool = False, limit: int = 500
    ) -> list[LoopRow]:
        """Loops without their state, the last to change first; `repo` is `owner/repo`."""
        query = STATELESS.order_by(loops.c.updated.desc(), loops.c.loop).limit(limit)
        if status is not None:
            query = query.where(loops.c.status == status)
        if repo is not None:
            query = query.where(func.lower(loops.c.full_name) == repo.lower())
        if stuck:
            query = query.where(STUCK)
        return self._all(LoopRow, query, b"")

    def statuses(self) -> dict[str, int]:
        """How many loops stand where."""
        query = select(loops.c.status, func.count()).where(loops.c.kind == "change").group_by(loops.c.status)
        with self._reading() as connection:
            return {name: count for name, count in connection.execute(query)}  # noqa: C416 - a row is no pair to dict()

    def blocked(self) -> list[str]:
        """The loops that wait for the installation."""
        return self._names(select(loops.c.loop).where(BLOCKED))

    def stuck(self, other_than: str) -> list[str]:
        """The loops that are stuck under another code version than this."""
        return self._names(select(loops.c.loop).where(STUCK, loops.c.stuck != other_than))

    def loop(self, name: str) -> LoopRow | None:
        """A loop with its state, which is brought up to its version; a stuck one's stays where it is stuck."""
        row = next(iter(self._all(LoopRow, select(*loops.c).where(loops.c.loop == name))), None)
        if row is None or row.stuck:
            return row
        try:
            if row.folded >= row.version:
                return row
            state = dump(caught_up(load(row.state), self.history(name, row.version, row.folded)))
        except (ValueError, TypeError, LookupError, UnknownFactError):  # damaged, or newer: as it is, for whoever looks
            return row
        return row._replace(folded=row.version, state=state)

    def resolve(self, reference: str) -> str | None:
        """The loop that a person means by `owner/repo#42`, a pull request's address, or its name."""
        if LOOP.fullmatch(reference):
            query = select(loops.c.loop).where(loops.c.loop == reference)
        elif pull := _PULL.search(reference):
            query = (
                select(loops.c.loop)
                .where(func.lower(loops.c.full_name) == pull[1].lower(), loops.c.number == int(pull[2]))
                .order_by(loops.c.pos.desc())  # a repository's name can be given again: the latest has it
            )
        else:
            return None
        with self._reading() as connection:
            return connection.execute(query.limit(1)).scalar()

    def timers(self, due_before: int | None = None, limit: int = 500) -> list[TimerRow]:
        """Timers that are set, the first due first."""
        query = select(*timers.c).order_by(timers.c.due, timers.c.loop, timers.c.name).limit(limit)
        return self._all(TimerRow, query if due_before is None else query.where(timers.c.due <= due_before))

    def timers_of(self, loop: str) -> list[TimerRow]:
        """The timers that are set in one loop."""
        return self._all(TimerRow, select(*timers.c).where(timers.c.loop == loop).order_by(timers.c.due))

    def outstanding(self, service: str | None = None) -> list[OutstandingRow]:
        """Requests that nobody has answered, the oldest first."""
        query = select(*outstanding.c).order_by(outstanding.c.pos)
        return self._all(OutstandingRow, query if service is None else query.where(outstanding.c.service == service))

    def oldest_outstanding(self) -> dict[str, int]:
        """For each service that owes an answer, the position of its oldest request."""
        query = select(outstanding.c.service, func.min(outstanding.c.pos)).group_by(outstanding.c.service)
        with self._reading() as connection:
            return {row[0]: row[1] for row in connection.execute(query)}

    def claims(self, *, live: bool = False) -> list[ClaimRow]:
        """Who works and who worked on what; or only who works now."""
        query = select(*claims.c).order_by(claims.c.loop, claims.c.n, claims.c.k)
        return self._all(ClaimRow, query.where(claims.c.live) if live else query)

    # --- beside the log --------------------------------------------------------------------------------------------

    def parked(self, limit: int = 500) -> list[ParkedRow]:
        """What could not be recorded, without its bytes, the newest first."""
        query = BYTELESS.order_by(parked.c.last.desc(), parked.c.id.desc()).limit(limit)
        return self._all(ParkedRow, query, b"")

    def parked_one(self, parked_id: int) -> ParkedRow | None:
        """One of them, with its bytes."""
        return next(iter(self._all(ParkedRow, select(*parked.c).where(parked.c.id == parked_id))), None)

    def blob(self, sha: str) -> bytes | None:
        """The bytes of this sha256; None when nobody put them, or not to the end."""
        finished = select(blobs.c.sha).where(blobs.c.sha == sha)
        chunks = select(blob_chunks.c.data).where(blob_chunks.c.sha == sha).order_by(blob_chunks.c.n)
        with self._reading() as connection:
            if connection.execute(finished).first() is None:
                return None
            parts = connection.execute(chunks).scalars()
            content = b"".join(part for part in parts if isinstance(part, bytes))  # SQLite would keep anything
        if sha256(content).hexdigest() != sha:
            raise BlobDamaged(sha)
        return content

    def has_blobs(self, shas: Sequence[str]) -> set[str]:
        """Those of them that are stored."""
        with self._reading() as connection:
            return known_blobs(connection, shas)

    def unguarded(self) -> list[str]:
        """The triggers against changing history that are missing or switched off."""
        with self._reading() as connection:
            return unguarded(connection)

    # --- how ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect() as connection:
                try:
                    yield connection
                except BaseException:  # what was broken off may keep an old view of the log open
                    connection.invalidate()
                    raise
        except DBAPIError as error:
            raise LogUnreachable(wrong(self._url, error)) from error

    def _events(self, query: Select[*tuple[Any, ...]], kind: type[Read], **values: object) -> list[Read]:
        with self._reading() as connection:
            return rows_of(connection.execute(query, values), kind)

    def _names(self, query: Select[str]) -> list[str]:
        with self._reading() as connection:
            return list(connection.execute(query.order_by(loops.c.loop)).scalars())

    def _all(self, row: type[RowT], query: Select[*tuple[Any, ...]], *left_out: bytes) -> list[RowT]:
        with self._reading() as connection:
            return [row._make(chain(found, left_out)) for found in connection.execute(query)]


RowT = TypeVar("RowT", LoopRow, TimerRow, OutstandingRow, ClaimRow, ParkedRow)
