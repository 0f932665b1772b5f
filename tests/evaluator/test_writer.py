"""The writer, the same on SQLite and PostgreSQL: all or nothing, in order, once."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import DBAPIError, InvalidRequestError

from amends.common.envelope import GENESIS, Gist
from amends.common.log import ClaimRow, Log, LogUnreachable, OutstandingRow, Stored, TimerRow
from amends.common.log.tables import CHUNK
from amends.evaluator.writer import BlobMismatch, Duplicate, OutOfOrder, Writer, is_connection_error
from tests.support.logs import LOOP, head_after, loop_row, record, rows_after
from tests.support.postgres import Server, name_of

ROOT = Path(__file__).parents[2]
HOUR = 3_600_000_000


def execute(writer: Writer, statement: str) -> None:
    with writer._begun() as connection:
        connection.exec_driver_sql(statement)


# --- transactions ----------------------------------------------------------------------------------------------------


def test_a_new_log_ends_at_nothing(writer: Writer) -> None:
    with writer.transaction() as tx:
        assert (tx.head.pos, tx.head.hash, tx.head.time, len(tx.head.epoch)) == (0, GENESIS, 0, 32)


def test_what_is_appended_can_be_read_back_to_the_byte(writer: Writer, log: Log) -> None:
    rows = record(writer, "a", "b", data='{"text":"\\ud83d é \'%s\' ?"}'.encode() + bytes(range(1, 256)))
    assert log.rows(0) == rows
    assert log.head()[:3] == (2, rows[-1].hash, rows[-1].time)


def test_the_gist_of_what_was_appended_can_be_read_alone(writer: Writer, log: Log) -> None:
    rows = record(writer, "a", "b", "c")
    gists = [Gist(*(getattr(row, name) for name in Gist._fields)) for row in rows]
    assert (log.gists(0), log.gists(0, 1), log.gists(1, upto=2)) == (gists, gists[:1], gists[1:2])


def test_batches_follow_each_other_without_a_gap(writer: Writer, log: Log) -> None:
    for n in range(20):
        record(writer, f"{n}/a", f"{n}/b", loop=f"{n % 3}-pr-1")
    assert [row.pos for row in log.rows(0)] == list(range(1, 41))


def test_an_exception_leaves_nothing_behind(writer: Writer, log: Log) -> None:
    with suppress(ZeroDivisionError), writer.transaction() as tx:
        rows = rows_after(tx, "a")
        tx.append(rows)
        tx.save([loop_row()])
        tx.advance(head_after(tx, rows))
        raise ZeroDivisionError
    assert (log.head().pos, log.rows(0), log.loops()) == (0, [], [])
    assert record(writer, "a")[0].pos == 1


def test_a_gap_is_refused(writer: Writer, log: Log) -> None:
    with pytest.raises(OutOfOrder), writer.transaction() as tx:
        tx.append(rows_after(tx, "a", "b")[1:])
    assert log.head().pos == 0


def test_events_without_their_head_are_refused(writer: Writer, log: Log) -> None:
    with pytest.raises(OutOfOrder), writer.transaction() as tx:
        tx.append(rows_after(tx, "a"))
    assert log.rows(0) == []


def test_a_head_without_its_events_is_refused(writer: Writer) -> None:
    with pytest.raises(OutOfOrder), writer.transaction() as tx:
        tx.advance(head_after(tx, rows_after(tx, "a")))


def test_a_transaction_may_append_and_advance_several_times(writer: Writer, log: Log) -> None:
    with writer.transaction() as tx:
        for key in "ab":
            rows = rows_after(tx, key)
            tx.append(rows)
            tx.save([loop_row(version=rows[-1].version)])
            tx.advance(head_after(tx, rows))
    assert [row.version for row in log.rows(0)] == [1, 2]


@pytest.mark.parametrize("changed", [{"key": "a"}, {"version": 1}])
def test_a_taken_key_or_version_is_a_duplicate(writer: Writer, log: Log, changed: Any) -> None:
    record(writer, "a")
    with pytest.raises(Duplicate), writer.transaction() as tx:
        tx.append([rows_after(tx, "b")[0]._replace(**changed)])
    assert log.head().pos == 1


def test_the_same_key_in_another_loop_is_no_duplicate(writer: Writer, log: Log) -> None:
    record(writer, "a", loop="1-pr-1")
    record(writer, "a", loop="2-pr-1")
    assert [row.loop for row in log.rows(0)] == ["1-pr-1", "2-pr-1"]


def test_the_clock_is_that_of_today_in_microseconds(writer: Writer) -> None:
    with writer.transaction() as tx:
        assert abs(tx.now - time.time_ns() // 1_000) < HOUR


def test_the_clock_never_runs_behind_the_log(writer: Writer) -> None:
    with writer.transaction() as tx:
        rows = rows_after(tx, "a")
        tx.append(rows)
        tx.advance(head_after(tx, rows)._replace(time=tx.now + HOUR))
    with writer.transaction() as tx:
        assert tx.now == tx.head.time


def test_the_head_never_goes_back_in_time(writer: Writer) -> None:
    record(writer, "a")
    with pytest.raises(OutOfOrder), writer.transaction() as tx:
        tx.advance(tx.head._replace(time=tx.head.time - 1))


def test_a_second_writer_waits_and_then_sees_what_the_first_wrote(writer: Writer, database_url: str) -> None:
    second, seen = Writer(database_url), []
    waiting = Thread(target=lambda: seen.extend(record(second, "b")))
    with writer.transaction() as tx:
        rows = rows_after(tx, "a")
        tx.append(rows)
        tx.save([loop_row()])
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        tx.advance(head_after(tx, rows))
    waiting.join()
    second.close()
    assert [(row.pos, row.version, row.key) for row in seen] == [(2, 2, "b")]


def test_two_writers_at_once_leave_one_gapless_log(writer: Writer, log: Log, database_url: str) -> None:
    second = Writer(database_url)
    other = Thread(target=lambda: [record(second, f"b{n}", loop="2-pr-1") for n in range(40)])
    other.start()
    for n in range(40):
        record(writer, f"a{n}", loop="1-pr-1")
    other.join()
    second.close()
    assert [row.pos for row in log.rows(0)] == list(range(1, 81))


DIE = """
import os, sys
from amends.evaluator.writer import Writer
from tests.support.logs import head_after, loop_row, rows_after
with Writer(sys.argv[1]).transaction() as tx:
    rows = rows_after(tx, "lost")
    tx.append(rows); tx.save([loop_row()]); tx.advance(head_after(tx, rows))
    os._exit(9)
"""


def test_a_writer_killed_before_the_commit_leaves_nothing(writer: Writer, log: Log, database_url: str) -> None:
    record(writer, "a")
    killed = subprocess.run([sys.executable, "-c", DIE, database_url], cwd=ROOT, check=False)
    assert (killed.returncode, log.head().pos, len(log.rows(0))) == (9, 1, 1)
    assert record(writer, "b")[0].pos == 2


# --- what is known ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 5, 300, 1_000])
def test_known_keys_are_found_however_many_are_asked_for(writer: Writer, size: int) -> None:
    rows = record(writer, *(f"key/{n}" for n in range(10)))
    with writer.transaction() as tx:
        known = tx.known([(LOOP, f"key/{n + 5}") for n in range(size)] + [("8-pr-1", "key/1")])
    assert known == {(LOOP, row.key): row for row in rows[5 : 5 + size]}


def test_known_keys_are_looked_up_and_not_searched_for(writer: Writer, sqlite_template: Path) -> None:
    of_sqlite = Writer(f"sqlite:///{sqlite_template}")
    with of_sqlite._begun() as connection:
        [(sql, asked)] = of_sqlite._statements.known.portions([("a", "b")] * 16)
        plan = [str(step[3]) for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", asked)]
    of_sqlite.close()
    assert any(step.startswith("SEARCH events USING INDEX") for step in plan)


def test_the_state_of_a_loop_comes_back_as_it_was_saved(writer: Writer) -> None:
    with writer.transaction() as tx:
        tx.save([loop_row("1-pr-1", 3, 9, b"\x00\xff"), loop_row("2-pr-1")._replace(stuck="1.2")])
    with writer.transaction() as tx:
        assert tx.versions(["1-pr-1", "2-pr-1", "3-pr-1"]) == {"1-pr-1": (3, ""), "2-pr-1": (1, "1.2")}
        assert tx.stored(["1-pr-1", "3-pr-1"]) == {"1-pr-1": Stored(3, "", 3, b"\x00\xff")}


def test_a_transaction_sees_what_it_wrote_itself(writer: Writer) -> None:
    with writer.transaction() as tx:
        rows = rows_after(tx, "a", "b")
        tx.append(rows)
        tx.save([loop_row(version=2)])
        tx.advance(head_after(tx, rows))
        assert tx.known([(LOOP, "a")]) == {(LOOP, "a"): rows[0]}
        assert (tx.row(2), tx.row(3), tx.history(LOOP)) == (rows[1], None, rows)


# --- projections -----------------------------------------------------------------------------------------------------


def test_a_loop_is_replaced_by_its_later_self(writer: Writer, log: Log) -> None:
    for version in (1, 2):
        with writer.transaction() as tx:
            tx.save([loop_row(version=version)._replace(human=version == 2, state=b"%d" % version)])
    assert log.loop(LOOP) == loop_row(version=2)._replace(human=True, state=b"2")


def test_timers_and_requests_replace_those_of_their_loop_only(writer: Writer, log: Log) -> None:
    kept = TimerRow("2-pr-1", "settle", 1, 5, deadline=False)
    with writer.transaction() as tx:
        tx.save(
            timers={LOOP: [TimerRow(LOOP, "settle", 1, 9, deadline=False)], "2-pr-1": [kept]},
            outstanding={LOOP: [OutstandingRow(1, LOOP, "fixer", 3)], "2-pr-1": [OutstandingRow(2, "2-pr-1", "x", 3)]},
        )
    later = [TimerRow(LOOP, "settle", 2, 7, deadline=False), TimerRow(LOOP, "claim/1/1", 1, 8, deadline=True)]
    with writer.transaction() as tx:
        tx.save(timers={LOOP: later}, outstanding={LOOP: []})
    assert log.timers() == [kept, *later]
    assert log.outstanding() == [OutstandingRow(2, "2-pr-1", "x", 3)]


class Waits(NamedTuple):
    timers: Sequence[TimerRow] = ()
    outstanding: Sequence[OutstandingRow] = ()


def test_of_a_loop_whose_waits_are_known_only_what_differs_is_written(writer: Writer, log: Log) -> None:
    a, b, c = (TimerRow(LOOP, name, 1, due, deadline=False) for due, name in enumerate("abc"))
    one, two, three = (OutstandingRow(pos, LOOP, "fixer", 9) for pos in (1, 2, 3))
    with writer.transaction() as tx:
        tx.save(timers={LOOP: [a]}, outstanding={LOOP: [one]})
    said = Waits([b, c], [two, three])  # it is not so, which shows what is looked at
    moved = b._replace(generation=2)
    with writer.transaction() as tx:
        tx.save(timers={LOOP: [moved]}, outstanding={LOOP: [two]}, before={LOOP: said})
    assert (log.timers(), log.outstanding()) == ([a, moved], [one])
    with writer.transaction() as tx:
        tx.save(timers={LOOP: []}, outstanding={LOOP: []}, before={LOOP: Waits([moved], [])})
    assert (log.timers(), log.outstanding()) == ([a], [one])


def test_claims_are_counted_while_live_and_their_money_always(writer: Writer, log: Log) -> None:
    first = ClaimRow(LOOP, 1, 1, "fixer-0", "run", 20_000, live=True, usd_micro=2_000_000)
    with writer.transaction() as tx:
        tx.save(claims=[first, first._replace(k=2), first._replace(n=2, day=20_001)])
    with writer.transaction() as tx:
        tx.save(claims=[first._replace(live=False, usd_micro=500_000)])
        assert (tx.claims_live(), tx.spent_on(20_000), tx.spent_on(1)) == (2, 2_500_000, 0)
    assert [claim.live for claim in log.claims()] == [False, True, True]


# --- beside the log --------------------------------------------------------------------------------------------------


def test_the_same_bad_bytes_are_parked_once_and_counted(writer: Writer, log: Log) -> None:
    first = writer.park("gateway", "malformed", b"\x00{", "expected a value", "report.gateway")
    again = writer.park("gateway", "malformed", b"\x00{", "expected a value", "report.gateway")
    other = writer.park("fixer", "malformed", b"\x00{")
    assert (first == again, first == other) == (True, False)
    kept = log.parked_one(first)
    assert kept is not None
    assert (kept.times, kept.size, kept.data, kept.detail) == (2, 2, b"\x00{", "expected a value")


def test_hostile_words_can_be_parked(writer: Writer, log: Log) -> None:
    parked = writer.park("gateway", "hostile_text", b"", "nul \0 and surrogate \ud800 " + "x" * 10_000)
    assert log.parked()[0].id == parked
    assert log.parked()[0].detail.startswith("nul ? and surrogate ? xxx")


def test_what_is_parked_can_be_let_go_once(writer: Writer, log: Log) -> None:
    parked = writer.park("gateway", "malformed", b"{")
    assert (writer.unpark(parked), writer.unpark(parked), log.parked()) == (True, False, [])


def test_of_too_many_parked_reports_the_oldest_of_that_service_go(
    writer: Writer, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amends.evaluator.writer.writer.PARKED_ROWS", 3)
    other = writer.park("fixer", "malformed", b"{")
    first, *rest = [writer.park("gateway", "malformed", b"%d" % number) for number in range(5)]
    writer.park("gateway", "malformed", b"0")  # the first came again: it is the newest now
    assert (writer.let_go("gateway"), writer.let_go("gateway"), writer.let_go("fixer")) == (2, 0, 0)
    assert {kept.id for kept in log.parked()} == {first, *rest[2:], other}


def test_of_too_large_parked_reports_the_oldest_go(writer: Writer, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amends.evaluator.writer.writer.PARKED_BYTES", 250)
    kept = [writer.park("gateway", "oversized", bytes([number]) * 100) for number in range(5)]
    assert (writer.let_go("gateway"), [row.id for row in log.parked()]) == (3, kept[:2:-1])


CONTENT = os.urandom(2 * CHUNK + 17)
DAY = 86_400 * 1_000_000
SHA = sha256(CONTENT).hexdigest()
PARTS = [CONTENT[start : start + CHUNK] for start in range(0, len(CONTENT), CHUNK)]


def put(writer: Writer, *parts: bytes) -> None:
    for n, part in enumerate(parts):
        writer.put_chunk(SHA, n, part)


@pytest.mark.parametrize("content", [b"", b"small", CONTENT])
def test_a_blob_put_whole_comes_back_whole(writer: Writer, log: Log, content: bytes) -> None:
    sha = writer.put_blob(content)
    assert writer.put_blob(content) == sha
    assert log.blob(sha) == content


def test_a_blob_put_in_parts_exists_when_it_is_finished(writer: Writer, log: Log) -> None:
    put(writer, *PARTS)
    assert (log.blob(SHA), log.has_blobs([SHA, "0"])) == (None, set())
    writer.finish_blob(SHA, len(CONTENT), len(PARTS))
    assert (log.blob(SHA), log.has_blobs([SHA, "0"])) == (CONTENT, {SHA})


@pytest.mark.parametrize("parts", [PARTS[:2], [PARTS[0], PARTS[0], PARTS[2]], [PARTS[1], PARTS[0], PARTS[2]]])
def test_parts_that_are_not_the_blob_are_refused_and_forgotten(writer: Writer, log: Log, parts: list[bytes]) -> None:
    put(writer, *parts)
    with pytest.raises(BlobMismatch):
        writer.finish_blob(SHA, len(CONTENT), len(PARTS))
    assert log.blob(SHA) is None
    assert writer.put_blob(CONTENT) == SHA


def test_garbage_under_its_name_does_not_keep_a_blob_out(writer: Writer, log: Log) -> None:
    put(writer, b"garbage", b"garbage", b"garbage", b"garbage")
    put(writer, *PARTS)
    writer.finish_blob(SHA, len(CONTENT), len(PARTS))
    assert log.blob(SHA) == CONTENT


def test_a_finished_blob_stays_what_it_is(writer: Writer, log: Log) -> None:
    writer.put_blob(CONTENT)
    put(writer, b"late", b"garbage", b"for", b"it")
    writer.finish_blob(SHA, 4, 1)
    assert log.blob(SHA) == CONTENT


def test_a_blob_that_nobody_goes_on_putting_for_a_day_is_forgotten(writer: Writer, log: Log) -> None:
    put(writer, *PARTS[:2])
    now = time.time_ns() // 1_000
    assert writer.forget_abandoned(now + DAY - 60_000_000) == 0
    assert [writer.forget_abandoned(now + DAY + 60_000_000) for _ in range(2)] == [1, 0]
    put(writer, PARTS[0])
    with pytest.raises(BlobMismatch):  # the second part was there, and is not any more
        writer.finish_blob(SHA, 2 * CHUNK, 2)
    assert writer.put_blob(CONTENT) == SHA


def test_a_blob_that_was_finished_is_never_forgotten(writer: Writer, log: Log) -> None:
    put(writer, *PARTS)
    writer.finish_blob(SHA, len(CONTENT), len(PARTS))
    put(writer, b"late")
    assert writer.forget_abandoned(time.time_ns() // 1_000 + 2 * DAY) == 0
    assert log.blob(SHA) == CONTENT


def test_a_blob_that_another_finished_meanwhile_is_not_forgotten(writer: Writer, log: Log) -> None:
    put(writer, *PARTS)
    assert writer.put_blob(CONTENT) == SHA
    assert writer.forget_abandoned(time.time_ns() // 1_000 + 2 * DAY) == 0
    assert log.blob(SHA) == CONTENT


@pytest.mark.connected
def test_a_part_that_somebody_puts_while_a_blob_is_finished_does_not_spoil_it(postgres_url: str) -> None:
    with closing(Writer(postgres_url)) as writer, closing(Log(postgres_url)) as log:
        put(writer, *PARTS)
        finishing = Thread(target=writer.finish_blob, args=(SHA, len(CONTENT), len(PARTS)))
        with psycopg.connect(postgres_url) as other:  # an evaluator in the middle of `put_chunk`
            other.execute("UPDATE puts SET time = time + 1")
            other.execute("INSERT INTO blob_chunks VALUES (%s, 99, 'stray')", (SHA,))
            finishing.start()
            finishing.join(0.2)
            assert finishing.is_alive()
        finishing.join()
        assert log.blob(SHA) == CONTENT


def test_a_part_is_never_larger_than_a_message(writer: Writer) -> None:
    with pytest.raises(ValueError, match="at most"):
        writer.put_chunk(SHA, 0, bytes(CHUNK + 1))


# --- what never changes ----------------------------------------------------------------------------------------------

FORBIDDEN = [
    "UPDATE events SET actor = 'somebody else'",
    "DELETE FROM events",
    "UPDATE blobs SET size = 0",
    "DELETE FROM blobs",
    "UPDATE blob_chunks SET n = n + 1",
    "DELETE FROM blob_chunks",
    "INSERT INTO blob_chunks SELECT sha, 99, data FROM blob_chunks",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_what_is_recorded_never_changes(writer: Writer, log: Log, statement: str) -> None:
    rows = record(writer, "a")
    sha = writer.put_blob(b"content")
    with pytest.raises(DBAPIError, match="never change"):
        execute(writer, statement)
    assert (log.rows(0), log.blob(sha)) == (rows, b"content")


# --- failures --------------------------------------------------------------------------------------------------------


def failure(writer: Writer, write: Callable[[], object]) -> BaseException:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - of which kind is the question
        write()
    return raised.value


@pytest.mark.parametrize("bad", [{"actor": "\ud800"}, {"version": 2**80}])
def test_what_cannot_be_stored_is_no_connection_error(writer: Writer, log: Log, bad: Any) -> None:
    def write() -> None:
        with writer.transaction() as tx:
            tx.append([rows_after(tx, "a")[0]._replace(**bad)])

    assert not is_connection_error(failure(writer, write))
    assert record(writer, "a")[0].pos == 1
    assert log.head().pos == 1


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError()
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    "error",
    [
        *map(sqlite_error, [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_BUSY_SNAPSHOT, sqlite3.SQLITE_IOERR_WRITE]),
        *[errors.SerializationFailure(), errors.DeadlockDetected(), errors.LockNotAvailable(), errors.DiskFull()],
        *[errors.AdminShutdown(), errors.IdleInTransactionSessionTimeout(), errors.ReadOnlySqlTransaction()],
        *[psycopg.OperationalError(), psycopg.InterfaceError(), LogUnreachable(), InvalidRequestError()],
    ],
    ids=repr,
)
def test_trouble_with_the_storage_is_a_connection_error(error: Exception) -> None:
    assert is_connection_error(error)


@pytest.mark.parametrize(
    "error",
    [
        *map(sqlite_error, [sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_CONSTRAINT_UNIQUE]),
        *[errors.UniqueViolation(), errors.NumericValueOutOfRange(), psycopg.DataError(), psycopg.ProgrammingError()],
        *[Duplicate(), OutOfOrder(), ValueError(), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogate")],
    ],
    ids=repr,
)
def test_trouble_with_what_is_stored_is_no_connection_error(error: Exception) -> None:
    assert not is_connection_error(error)


@pytest.mark.parametrize("name", ["none/log.db", "none.db", "empty.db"])
def test_a_log_that_is_not_there_is_a_connection_error_and_is_not_made(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty.db").touch()
    writer = Writer(f"sqlite:///{tmp_path}/{name}")
    assert is_connection_error(failure(writer, lambda: record(writer, "a")))
    writer.close()
    assert [file.name for file in tmp_path.iterdir()] == ["empty.db"]


def test_a_full_disk_is_a_connection_error_and_ends_with_it(sqlite_url: str) -> None:
    writer = Writer(sqlite_url)
    record(writer, "a")
    execute(writer, "PRAGMA max_page_count = 1")
    assert is_connection_error(failure(writer, lambda: record(writer, "b", data=bytes(200_000))))
    assert record(writer, "b")[0].pos == 2
    writer.close()


@pytest.mark.connected
def test_a_lost_connection_is_a_connection_error_and_the_next_transaction_has_a_new_one(postgres_url: str) -> None:
    writer = Writer(postgres_url)

    def write() -> None:
        with writer.transaction() as tx, psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute(OTHERS_END)
            tx.append(rows_after(tx, "a"))

    assert is_connection_error(failure(writer, write))
    assert record(writer, "a")[0].pos == 1
    writer.close()


@pytest.mark.connected
def test_what_is_recorded_cannot_be_truncated(postgres_url: str) -> None:
    writer = Writer(postgres_url)
    for table in ("events", "blobs", "blob_chunks"):
        with pytest.raises(DBAPIError, match="never change"):
            execute(writer, f"TRUNCATE {table}")
    writer.close()


@pytest.mark.connected
def test_a_server_that_does_not_wait_for_its_disk_is_made_to(postgres: Server) -> None:
    url = postgres.database()
    postgres.run(f"ALTER DATABASE {name_of(url)} SET synchronous_commit = off")
    writer = Writer(url)
    with writer._begun() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    writer.close()


OTHERS_END = """
SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


# --- the write-ahead log ---------------------------------------------------------------------------------------------


def test_a_checkpoint_moves_everything_while_the_writer_goes_on(sqlite_url: str) -> None:
    writer = Writer(sqlite_url)
    record(writer, "a")
    assert writer.checkpoint() == 0
    with writer.transaction() as tx:
        assert (writer.checkpoint(), tx.head.pos) == (0, 1)
    writer.close()
