"""The reader of the log, on SQLite and PostgreSQL alike: it sees what was committed, holds nothing, changes nothing."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import insert, select
from sqlalchemy.exc import DBAPIError

from amends.common.log import BlobDamaged, ClaimRow, Log, LogUnreachable, LoopRow, OutstandingRow, TimerRow
from amends.common.log.tables import BLOCKED, STUCK, blob_chunks, blobs, loops
from amends.evaluator.writer import Writer
from tests.support.logs import LOOP, head_after, loop_row, record, rows_after
from tests.support.postgres import Server, private_server

OTHER = "8-pr-2"


def save(writer: Writer, *rows: LoopRow) -> None:
    with writer.transaction() as tx:
        tx.save(rows)


# --- events ----------------------------------------------------------------------------------------------------------


def test_events_are_read_in_stretches(writer: Writer, log: Log) -> None:
    rows = record(writer, *(f"key/{n}" for n in range(10)))
    assert log.rows(0, limit=3) == rows[:3]
    assert log.rows(8) == rows[8:]
    assert log.rows(2, upto=5) == rows[2:5]
    assert log.rows(10) == log.rows(0, upto=0) == []


def test_one_event_is_found_by_its_place_or_its_key(writer: Writer, log: Log) -> None:
    rows = record(writer, "a", "b")
    assert (log.row(2), log.row(3)) == (rows[1], None)
    assert (log.find(LOOP, "a"), log.find(LOOP, "c"), log.find(OTHER, "a")) == (rows[0], None, None)


def test_the_history_of_a_loop_is_its_own(writer: Writer, log: Log) -> None:
    first, second, third = (record(writer, key, loop=loop) for key, loop in (("a", LOOP), ("a", OTHER), ("b", LOOP)))
    assert log.history(LOOP) == [*first, *third]
    assert log.history(LOOP, upto_version=1) == first
    assert (log.history(OTHER), log.history("9-pr-9")) == (second, [])


def test_a_reader_waits_for_no_writer_and_sees_only_what_is_committed(writer: Writer, log: Log) -> None:
    with writer.transaction() as tx:
        rows = rows_after(tx, "a")
        tx.append(rows)
        tx.advance(head_after(tx, rows))
        assert (log.head().pos, log.rows(0)) == (0, [])
    assert (log.head().pos, log.rows(0)) == (1, rows)


def test_a_reader_between_two_stretches_keeps_nobody_waiting(writer: Writer, log: Log) -> None:
    record(writer, "a", "b")
    first = log.rows(0, limit=1)
    record(writer, "c")
    assert writer.checkpoint() == 0
    assert [row.key for row in first + log.rows(1)] == ["a", "b", "c"]


def test_a_reader_cannot_write(log: Log) -> None:
    with pytest.raises(DBAPIError, match=r"read-?only"), log._engine.connect() as connection:
        connection.exec_driver_sql("UPDATE head SET pos = 7")


# --- projections -----------------------------------------------------------------------------------------------------


def test_loops_are_listed_without_their_state_the_last_to_change_first(writer: Writer, log: Log) -> None:
    older, newer = loop_row()._replace(updated=1), loop_row(OTHER)._replace(updated=2)
    save(writer, older, newer)
    assert log.loops() == [newer._replace(state=b""), older._replace(state=b"")]
    assert log.loops(limit=1) == [newer._replace(state=b"")]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (lambda log: log.loops(status="fixing"), ["1-pr-1"]),
        (lambda log: log.loops(repo="OTHER/repo"), ["2-pr-1"]),
        (lambda log: log.loops(status="fixing", repo="other/repo"), []),
        (lambda log: log.loops(stuck=True), ["3-pr-1"]),
    ],
)
def test_loops_can_be_asked_for_by_what_they_are(
    writer: Writer, log: Log, wanted: Callable[[Log], list[LoopRow]], found: list[str]
) -> None:
    save(
        writer,
        loop_row("1-pr-1")._replace(status="fixing"),
        loop_row("2-pr-1")._replace(full_name="Other/Repo"),
        loop_row("3-pr-1")._replace(stuck="0.1"),
    )
    assert [row.loop for row in wanted(log)] == found


def test_a_loop_is_read_with_its_state(writer: Writer, log: Log) -> None:
    save(writer, loop_row(state=b"\x00\xff"))
    assert (log.loop(LOOP), log.loop(OTHER)) == (loop_row(state=b"\x00\xff"), None)


def test_the_clock_finds_who_waits_and_who_is_stuck(writer: Writer, log: Log) -> None:
    save(writer, loop_row("1-pr-1"), loop_row("2-pr-1")._replace(blocked="installation"))
    save(writer, loop_row("3-pr-1")._replace(stuck="0.1"), loop_row("4-pr-1")._replace(stuck="0.2"))
    assert (log.blocked(), log.stuck("0.2"), log.stuck("0.3")) == (["2-pr-1"], ["3-pr-1"], ["3-pr-1", "4-pr-1"])


@pytest.mark.parametrize("column", ["blocked", "stuck"])
def test_asking_for_the_few_reads_no_loop_at_all(sqlite_url: str, column: str) -> None:
    log = Log(sqlite_url)
    query = select(loops.c.loop).where(BLOCKED if column == "blocked" else STUCK).order_by(loops.c.loop)
    with log._engine.connect() as connection:
        plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query.compile(connection)}").fetchall())
    log.close()
    assert f"INDEX loops_{column}" in plan


LOOP_42 = [
    *["Owner/Repo#42", "owner/repo#42", LOOP],
    *["https://github.com/Owner/Repo/pull/42", "https://github.com/owner/repo/pull/42/files#r1"],
    *["http://forge.internal:8443/prefix/Owner/Repo/pull/42?x=1", "github.com/Owner/Repo/pull/42"],
]
NO_LOOP = [
    *["", "42", "owner/repo", "owner/repo#1", "owner/repo#42x", "owner/repo#" + "9" * 99],
    *["9-pr-9", "9-pr-9\n", "o/w/n/e/r", "x' OR '1'='1#42", "\0/\0#42", "\ud800/\ud800#42"],
]


def test_people_name_loops_as_they_name_pull_requests(writer: Writer, log: Log) -> None:
    save(writer, loop_row(), loop_row(OTHER)._replace(number=43))
    assert [log.resolve(reference) for reference in LOOP_42] == [LOOP] * len(LOOP_42)


def test_what_names_no_loop_resolves_to_none(writer: Writer, log: Log) -> None:
    save(writer, loop_row())
    assert [log.resolve(reference) for reference in NO_LOOP] == [None] * len(NO_LOOP)


def test_a_name_that_was_given_again_means_the_later_loop(writer: Writer, log: Log) -> None:
    save(writer, loop_row(OTHER, pos=9), loop_row(pos=5))
    assert log.resolve("Owner/Repo#42") == OTHER


def test_timers_are_read_by_when_they_are_due(writer: Writer, log: Log) -> None:
    late, soon = TimerRow(LOOP, "settle", 1, 20, deadline=False), TimerRow(OTHER, "claim/1/1", 2, 10, deadline=True)
    with writer.transaction() as tx:
        tx.save(timers={LOOP: [late], OTHER: [soon]})
    assert (log.timers(), log.timers(limit=1)) == ([soon, late], [soon])
    assert (log.timers(due_before=10), log.timers(due_before=9)) == ([soon], [])
    assert (log.timers_of(LOOP), log.timers()[0].deadline) == ([late], True)


def test_requests_are_read_by_who_owes_the_answer(writer: Writer, log: Log) -> None:
    owed = [OutstandingRow(pos, LOOP, service, 5) for pos, service in ((3, "fixer"), (4, "notifier"), (7, "fixer"))]
    with writer.transaction() as tx:
        tx.save(outstanding={LOOP: owed})
    assert (log.outstanding(), log.outstanding("fixer")) == (owed, [owed[0], owed[2]])
    assert log.oldest_outstanding() == {"fixer": 3, "notifier": 4}


def test_claims_are_read_all_or_only_the_live_ones(writer: Writer, log: Log) -> None:
    live = ClaimRow(LOOP, 1, 2, "fixer-0", "run", 20_000, live=True, usd_micro=5)
    with writer.transaction() as tx:
        tx.save(claims=[live, live._replace(k=1, live=False)])
    assert (log.claims(live=True), [claim.k for claim in log.claims()]) == ([live], [1, 2])


def test_the_size_is_that_of_the_database(writer: Writer, log: Log) -> None:
    before = log.size()
    writer.put_blob(os.urandom(2_000_000))
    assert log.size() > before + 1_000_000


# --- what goes wrong -------------------------------------------------------------------------------------------------


def refused(url: str) -> str:
    log = Log(url)
    with pytest.raises(LogUnreachable) as raised:
        log.head()
    log.close()
    return str(raised.value)


def test_a_mistyped_path_makes_no_log(tmp_path: Path) -> None:
    assert "`amends up`" in refused(f"sqlite:///{tmp_path}/none.db")
    assert list(tmp_path.iterdir()) == []


def test_a_database_without_a_log_says_what_to_do(postgres: Server, tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    assert "`amends run evaluator`" in refused(f"sqlite:///{tmp_path}/empty.db")
    assert "`amends run evaluator`" in refused(postgres.database())


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("not a database" * 100)
    assert "some.txt" in refused(f"sqlite:///{tmp_path}/some.txt")


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    said = refused("postgresql://amends:hunter2@127.0.0.1:9/log")
    assert ("127.0.0.1:9" in said, "hunter2" in said) == (True, False)


@pytest.mark.parametrize(
    "url", ["", "log.db", "mysql://localhost/log", "sqlite://", "sqlite:///:memory:", "postgresql://a@b:c/d"]
)
def test_an_address_that_cannot_hold_a_log_is_refused_at_once(url: str) -> None:
    with pytest.raises(LogUnreachable, match="sqlite:///path or postgresql://"):
        Log(url)


def test_a_damaged_blob_is_not_handed_out(writer: Writer, log: Log) -> None:
    sha = writer.put_blob(b"content")
    with writer._begun() as connection:
        connection.execute(insert(blob_chunks), {"sha": "x", "n": 0, "data": b"other"})
        connection.execute(insert(blobs), {"sha": "x", "size": 5})
    with pytest.raises(BlobDamaged):
        log.blob("x")
    assert log.blob(sha) == b"content"


@pytest.mark.connected
def test_a_reader_outlives_the_servers_restart(tmp_path: Path) -> None:
    with private_server() as server:
        log = Log(server.database())
        server.stop()
        with pytest.raises(LogUnreachable, match="its server runs"):
            log.head()
        server.start()
        with pytest.raises(LogUnreachable, match="holds no log"):
            log.head()
        log.close()


WRITE = """
import os, sys
from amends.common.log.tables import BLOCKED, STUCK, blob_chunks, blobs, loops
from amends.evaluator.writer import Writer
from tests.support.logs import record
record(Writer(sys.argv[1]), "a")
os._exit(9)
"""


def test_what_a_killed_writer_committed_can_be_read_without_another_writer(sqlite_url: str) -> None:
    subprocess.run([sys.executable, "-c", WRITE, sqlite_url], cwd=Path(__file__).parents[2], check=False)
    log = Log(sqlite_url)
    assert [row.key for row in log.rows(0)] == ["a"]
    log.close()


def test_a_log_whose_writer_has_gone_can_be_read(sqlite_url: str) -> None:
    writer, log = Writer(sqlite_url), Log(sqlite_url)
    record(writer, "a")
    writer.close()
    assert log.head().pos == 1
    log.close()
