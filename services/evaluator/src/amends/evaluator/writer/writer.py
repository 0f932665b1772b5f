"""The Writer: its connection, its transactions, and what is kept beside the log: parked bytes and blobs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from sqlalchemy import Connection
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import SQLAlchemyError

from amends.common.effects import effect
from amends.common.log.engine import BUSY_SECONDS, database, sqlite_file, writing
from amends.common.log.tables import CHUNK
from amends.evaluator.writer.failures import BlobMismatch, Occupied, is_busy, is_connection_error
from amends.evaluator.writer.statements import (
    ABANDONED,
    BLOB,
    CHUNKS,
    DROP_CHUNKS,
    END_PUT,
    PARKED,
    UNPARK,
    Statements,
)
from amends.evaluator.writer.transaction import Tx

# What is kept of one service's refused reports: a flood of them must not fill the disk.
PARKED_ROWS, PARKED_BYTES = 1_000, 32 * 1024 * 1024
CHECKPOINT_SECONDS = 0.5  # between two of them, which keeps them out of commits
ABANDONED_AFTER = 86_400 * 1_000_000  # microseconds without a part


class Writer:
    """Writes one log's database. For one thread at a time; only `checkpoint` may be called beside it."""

    def __init__(self, url: str) -> None:
        """Connects to nothing yet: the first transaction does, and the next one after a lost connection."""
        self._url = database(url)
        self._engine = writing(self._url)
        self._in_a_file = sqlite_file(self._url) is not None
        self._statements = Statements(self._engine.dialect)
        self._connection: Connection | None = None
        self._patient = True

    @property
    def near(self) -> bool:
        """Whether the next transaction waits for nothing but this machine's disk, and for who else writes."""
        return self._in_a_file and self._connection is not None

    def close(self) -> None:
        """Let go of all connections."""
        self._drop()
        self._engine.dispose()

    @contextmanager
    def transaction(self, *, patient: bool = True) -> Iterator[Tx]:
        """The head's lock and all that is done under it; waits while another evaluator has it, or raises Occupied.

        Only SQLite's lock can be asked for without patience: for that of PostgreSQL there is a server to wait for.
        """
        connection = self._connected().connection
        try:
            cursor = connection.cursor()
            if self._statements.begin:
                self._begin(cursor, patient=patient)
            tx = Tx(cursor, self._statements)
            yield tx
            tx.check_complete()
            connection.commit()
        except BaseException as error:
            with suppress(self._engine.dialect.loaded_dbapi.Error):  # then it is lost, and rolled back all the same
                connection.rollback()
            if is_connection_error(error):
                self._drop()
            raise

    def park(self, service: str, reason: str, data: bytes, detail: str = "", subject: str = "") -> int:
        """Keep bytes that cannot be recorded, for a human, and answer their id; the same again are only counted."""
        now = time.time_ns() // 1_000
        words = {"service": service, "subject": subject, "reason": reason, "detail": detail}
        seen = {"time": now, "last": now, "times": 1}
        kept = {"sha": sha256(data).hexdigest(), "size": len(data), "data": data}
        row = {name: storable(word) for name, word in words.items()} | seen | kept
        with self._begun() as connection:
            return int(connection.execute(self._statements.park, row).scalar_one())

    def unpark(self, parked_id: int) -> bool:
        """Let go of parked bytes; whether there were any."""
        with self._begun() as connection:
            return connection.execute(UNPARK, {"parked_id": parked_id}).rowcount > 0

    def let_go(self, service: str) -> int:
        """Drop the oldest of a service's parked bytes that are too many or too large together; how many those were."""
        total = 0
        with self._begun() as connection:
            kept = connection.execute(PARKED, {"of": service}).all()
            dropped = []
            for number, (parked_id, size) in enumerate(kept):
                total += size
                if number >= PARKED_ROWS or total > PARKED_BYTES:
                    dropped.append({"parked_id": parked_id})
            if dropped:
                connection.execute(UNPARK, dropped)
        return len(dropped)

    def put_blob(self, content: bytes) -> str:
        """Store a blob whole and answer its sha256. One that is stored already costs one query."""
        sha = sha256(content).hexdigest()
        with self._begun("blob") as connection:
            if connection.execute(BLOB, {"sha": sha}).first() is None:
                self._alone(connection, sha)
                parts = [content[start : start + CHUNK] for start in range(0, len(content), CHUNK)]
                for n, part in enumerate(parts):
                    connection.execute(self._statements.put_chunk, {"sha": sha, "n": n, "data": part})
                self._finish(connection, sha, len(content), len(parts))
        return sha

    def put_chunk(self, sha: str, n: int, data: bytes) -> None:
        """Store part n, from 0, of a blob that is being put; a finished one stays as it is."""
        if len(data) > CHUNK or n < 0:
            raise ValueError(f"part {n} of a blob has {len(data)} bytes, at most {CHUNK}")
        with self._begun("blob") as connection:
            if connection.execute(BLOB, {"sha": sha}).first() is None:
                self._alone(connection, sha)
                connection.execute(self._statements.put_chunk, {"sha": sha, "n": n, "data": data})

    def finish_blob(self, sha: str, size: int, chunks: int) -> None:
        """Make the blob exist, if its parts are what its name says; if not, forget them and raise BlobMismatch."""
        with self._begun("blob") as connection:
            if connection.execute(BLOB, {"sha": sha}).first() is not None:
                return
            self._alone(connection, sha)
            if self._finish(connection, sha, size, chunks):
                return
            self._forget(connection, sha)
        raise BlobMismatch(f"{chunks} parts are not the {size} bytes of {sha}: put them again")

    def forget_abandoned(self, now: int) -> int:
        """Drop the parts of blobs that nobody went on putting for a day; how many blobs those were."""
        with self._begun("abandoned") as connection:
            abandoned = connection.execute(ABANDONED, {"before": now - ABANDONED_AFTER}).scalars().all()
            for sha in abandoned:
                self._forget(connection, sha)
        return len(abandoned)

    def checkpoint(self) -> int:
        """Move SQLite's write-ahead log into the database, so that no commit has to; answers the pages left in it."""
        if not self._in_a_file:
            return 0
        connection = self._engine.raw_connection()
        try:
            cursor = connection.cursor()
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")
            [(_busy, written, moved)] = cursor.fetchall()
        finally:
            connection.close()
        return int(written) - int(moved)

    def _alone(self, connection: Connection, sha: str) -> None:
        """On PostgreSQL somebody else may be putting parts under the same name: one after the other."""
        connection.execute(self._statements.begin_put, {"sha": sha, "time": time.time_ns() // 1_000})

    def _finish(self, connection: Connection, sha: str, size: int, chunks: int) -> bool:
        connection.execute(DROP_CHUNKS, {"sha": sha, "start": chunks})
        content = b"".join(connection.execute(CHUNKS, {"sha": sha}).scalars())
        if len(content) != size or sha256(content).hexdigest() != sha:
            return False
        connection.execute(self._statements.finish_blob, {"sha": sha, "size": size})
        connection.execute(END_PUT, {"sha": sha})
        return True

    def _forget(self, connection: Connection, sha: str) -> None:
        if connection.execute(BLOB, {"sha": sha}).first() is None:
            connection.execute(DROP_CHUNKS, {"sha": sha, "start": 0})
        connection.execute(END_PUT, {"sha": sha})

    def _begin(self, cursor: DBAPICursor, *, patient: bool) -> None:
        self._wait(cursor, patient=patient)
        try:
            cursor.execute(self._statements.begin)
        except self._engine.dialect.loaded_dbapi.Error as error:
            if patient or not is_busy(error):
                raise
            raise Occupied from error

    def _wait(self, cursor: DBAPICursor, *, patient: bool) -> None:
        """From now on, for SQLite's write lock; said once, because it holds until something else is said."""
        if patient is not self._patient:
            cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1_000 if patient else 0}")
            self._patient = patient

    def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
            self._patient = True
        return self._connection

    @contextmanager
    def _begun(self, what: str = "parked") -> Iterator[Connection]:
        """A transaction through SQLAlchemy, for what is not done all the time."""
        try:
            connection = self._connected()
            self._wait(connection.connection.cursor(), patient=True)
            with effect("commit", what), connection.begin():
                yield connection
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error) as error:
            if is_connection_error(error):
                self._drop()
            raise

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None


def storable(words: str) -> str:
    """Text that every store keeps: no NUL, no lone surrogates, and not endless."""
    return words[:2_000].encode(errors="replace").decode().replace("\0", "?")
