"""The recorder's thread: who is heard when, what is parked, what it survives, and two of them on one log."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from hashlib import sha256
from multiprocessing import get_context

import psycopg
import pytest

from amends.common import metrics
from amends.common.answers import Already, Answer, Recorded, Refused, Stop, Unavailable
from amends.common.envelope import VOCABULARY, Event
from amends.common.events import AnyFact
from amends.common.log import Log
from amends.common.log.engine import BUSY_SECONDS
from amends.evaluator.recorder import FEW, SLOW, LocalRecorder, NotRunning, Recorder
from amends.evaluator.writer import Writer
from tests.support.asynchronous import asynchronous, until
from tests.support.book import rebuilt, reported
from tests.support.facts import believed, command, comment, fetched, observed, policy_changed, rejected
from tests.support.promises import check_chain
from tests.support.rivals import report_comments

HOSTILE = {
    "no JSON": (b"{", "malformed"),
    "no object": (b"[]", "malformed"),
    "nothing": (b"", "malformed"),
    "a lone surrogate": (b'{"fact":{"type":"command.given","id":"\\ud800"}}', "hostile_text"),
    "a NUL": (b'{"fact":{"type":"command.given","id":"\\u0000"}}', "hostile_text"),
    "not UTF-8": (b'{"fact":{"type":"\xff"}}', "hostile_text"),
    "deep nesting": (b'{"fact":' + b"[" * 100_000, "malformed"),
    "a huge number": (b'{"fact":{"type":"pr.closed","merged":true,"updated_at":' + b"9" * 5_000 + b"}}", "malformed"),
    "an unknown type": (b'{"fact":{"type":"fix.dreamed"}}', "unknown_type"),
    "an unknown version": (b'{"schema":7,"fact":{"type":"pr.closed"}}', "unknown_version"),
    "no address": (b'{"fact":{"type":"notified","of":1,"channel":"x"},"about":{"number":1}}', "not_addressed"),
    "too many bytes": (b'{"fact":"' + b"x" * 300_000, "oversized"),
}


@pytest.fixture
def recorder(writer: Writer) -> Iterator[Recorder]:
    """One that is running and open."""
    running = Recorder(writer)
    running.start()
    running.open()
    yield running
    running.close()


async def report(recorder: Recorder, fact: AnyFact) -> Answer:
    said = reported(fact)
    return await recorder.report(said.service, said.report)


def raw(fact: AnyFact) -> bytes:
    return reported(fact).report.model_dump_json(by_alias=True).encode()


def run(recorder: Recorder, statement: str) -> None:
    """Have the recorder's own connection say this."""

    def say(writer: Writer) -> None:
        with writer._begun() as connection:
            connection.exec_driver_sql(statement)

    asyncio.run(recorder.run(say))


def execute(url: str, *statements: str) -> None:
    """Say something to the database over another connection."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            for statement in statements:
                connection.execute(statement)
    else:
        with psycopg.connect(url) as connection_:
            for statement in statements:
                connection_.execute(statement.encode())


@contextmanager
def refusing(url: str, where: str) -> Iterator[None]:
    """For the length of a block, the database does not take such events."""
    if url.startswith("sqlite"):
        made = [f"CREATE TRIGGER refuses BEFORE INSERT ON events WHEN {where} BEGIN SELECT RAISE(ABORT, 'no'); END"]
        dropped = "DROP TRIGGER refuses"
    else:
        body = "BEGIN RAISE EXCEPTION 'no' USING ERRCODE = 'check_violation'; END"
        made = [
            f"CREATE FUNCTION refuses() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
            f"CREATE TRIGGER refuses BEFORE INSERT ON events FOR EACH ROW WHEN ({where}) EXECUTE FUNCTION refuses()",
        ]
        dropped = "DROP FUNCTION refuses CASCADE"
    execute(url, *made)
    try:
        yield
    finally:
        execute(url, dropped)


@contextmanager
def locked(url: str) -> Iterator[None]:
    """For the length of a block, somebody else has the head's lock."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield
    else:
        with psycopg.connect(url) as connection_:
            connection_.execute("SELECT pos FROM head FOR UPDATE")
            yield


# --- who is heard when ---------------------------------------------------------------------------------------------


@asynchronous
async def test_no_report_is_accepted_before_the_recorder_is_opened(writer: Writer, log: Log) -> None:
    recorder = Recorder(writer)
    recorder.start()
    assert isinstance(await report(recorder, comment()), Unavailable)
    recorder.open()
    assert await report(recorder, comment()) == Recorded(1)
    recorder.close()


@asynchronous
async def test_questions_are_answered_before_it_is_opened(writer: Writer) -> None:
    recorder = Recorder(writer)
    recorder.start()
    assert await recorder.may(1) == Stop("unknown")
    recorder.close()


@asynchronous
async def test_a_service_that_is_not_entitled_is_refused_and_nothing_is_parked(recorder: Recorder, log: Log) -> None:
    answer = await recorder.report_raw("fixer", raw(rejected()))
    assert isinstance(answer, Refused)
    assert answer.reason == "not_entitled"
    assert (log.rows(0), log.parked()) == ([], [])


def test_closing_answers_everything_that_is_queued(recorder: Recorder, log: Log) -> None:
    said = [reported(comment(number)) for number in range(1, 600)]
    futures = [recorder.submit(one.service, one.report) for one in said]
    recorder.close()
    assert all(isinstance(future.result(0), Recorded) for future in futures)
    check_chain(log.rows(0, 10_000))


def test_what_comes_while_it_closes_is_recorded_or_turned_away_and_never_left(recorder: Recorder) -> None:
    futures: list[Future[Answer]] = []

    def keep_reporting() -> None:
        for number in range(1, 2_000):
            one = reported(comment(number))
            futures.append(recorder.submit(one.service, one.report))

    with ThreadPoolExecutor(1) as pool:
        reporting = pool.submit(keep_reporting)
        while not any(future.done() for future in futures):
            time.sleep(0)
        recorder.close()
        reporting.result()
    assert {type(future.result(0)) for future in futures} <= {Recorded, Unavailable}


@asynchronous
async def test_a_recorder_that_has_stopped_leaves_nobody_waiting(recorder: Recorder) -> None:
    recorder.close()
    assert await report(recorder, comment()) == Unavailable("stopping")
    assert await recorder.may(1) == Unavailable("NotRunning")
    with pytest.raises(NotRunning):
        await recorder.put(b"late")


@asynchronous
async def test_a_question_that_was_queued_too_late_is_turned_away(writer: Writer) -> None:
    recorder = Recorder(writer)  # its thread was never started
    asking = asyncio.create_task(recorder.may(1))
    await asyncio.sleep(0)
    recorder.close()
    assert await asking == Unavailable("NotRunning")


@asynccontextmanager
async def busy(recorder: Recorder) -> AsyncIterator[None]:
    """Its thread has something in hand until the end of this block."""
    begun, free = threading.Event(), threading.Event()

    def hold(_writer: Writer) -> None:
        begun.set()
        free.wait()

    slow = asyncio.create_task(recorder.run(hold))
    await until(begun.is_set)
    try:
        yield
    finally:
        free.set()
        await slow


async def left(asking: Coroutine[object, object, object]) -> None:
    """Somebody asks, and does not stay for the answer."""
    task = asyncio.create_task(asking)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})


# --- what it survives ----------------------------------------------------------------------------------------------


@asynchronous
async def test_an_asker_who_leaves_does_not_stop_the_thread(recorder: Recorder) -> None:
    async with busy(recorder):
        await left(recorder.may(1))
    assert await report(recorder, comment()) == Recorded(1)


@asynchronous
async def test_a_reporter_who_leaves_has_reported_all_the_same(recorder: Recorder) -> None:
    async with busy(recorder):
        await left(report(recorder, comment()))
    assert await report(recorder, comment()) == Already(1, comment())


@asynchronous
async def test_the_mistake_of_a_question_is_the_asker_s(recorder: Recorder) -> None:
    with pytest.raises(ZeroDivisionError):
        await recorder.run(lambda _writer: 1 // 0)
    assert await report(recorder, comment()) == Recorded(1)


@asynchronous
async def test_observers_see_what_was_recorded_before_the_reporter_does(writer: Writer) -> None:
    seen: list[str] = []
    recorder = Recorder(writer, [lambda events: seen.extend(event.type for event in events)])
    recorder.start()
    recorder.open()
    await report(recorder, comment())
    assert seen == ["comment.added", "loop.opened"]
    recorder.close()


@asynchronous
async def test_an_observer_that_fails_changes_no_answer(writer: Writer) -> None:
    def fails(events: Sequence[Event]) -> None:
        raise KeyError(len(events))

    recorder = Recorder(writer, [fails])
    recorder.start()
    recorder.open()
    assert await report(recorder, comment()) == Recorded(1)
    recorder.close()


@pytest.mark.parametrize(("bytes_", "reason"), HOSTILE.values(), ids=HOSTILE)
@asynchronous
async def test_bytes_that_are_no_report_are_refused_and_kept(
    recorder: Recorder, log: Log, bytes_: bytes, reason: str
) -> None:
    answers = [await recorder.report_raw("gateway", bytes_) for _ in range(2)]
    assert [answer.reason for answer in answers if isinstance(answer, Refused)] == [reason, reason]
    [kept] = log.parked()
    assert (kept.reason, kept.sha, kept.size) == (reason, sha256(bytes_).hexdigest(), len(bytes_))
    assert (kept.service, kept.subject, kept.times) == ("gateway", "report.gateway", 2)
    assert await recorder.report_raw("gateway", raw(comment())) == Recorded(1)


@asynchronous
async def test_a_flood_of_bad_bytes_is_kept_up_to_a_bound_and_what_was_dropped_is_counted(
    recorder: Recorder, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amends.evaluator.writer.writer.PARKED_ROWS", 2)
    before = dropped()
    for number in range(5):
        await recorder.report_raw("gateway", b"{%d" % number)
        await recorder.report_raw(f"stranger-{number}", b"{%d" % number)
    assert sorted(kept.service for kept in log.parked()) == ["gateway", "gateway", "unknown", "unknown"]
    assert [now - then for now, then in zip(dropped(), before, strict=True)] == [3, 3]


def dropped() -> list[float]:
    samples = (("amends_parked_dropped_total", {"service": service}) for service in ("gateway", "other"))
    return [metrics.REGISTRY.get_sample_value(*sample) or 0.0 for sample in samples]


@asynchronous
async def test_a_fact_that_has_no_place_where_it_was_sent_is_kept(recorder: Recorder, log: Log) -> None:
    astray = reported(comment()).report.model_copy(update={"about": reported(policy_changed()).report.about})
    await recorder.report_raw("gateway", astray.model_dump_json(by_alias=True).encode())
    assert [kept.reason for kept in log.parked()] == ["not_addressed"]


@asynchronous
async def test_work_that_comes_too_late_is_refused_and_not_kept(recorder: Recorder, log: Log) -> None:
    answer = await recorder.report_raw("comment-fetcher", raw(fetched()))
    assert isinstance(answer, Refused)
    assert (answer.reason, log.parked()) == ("superseded", [])


@asynchronous
async def test_one_report_that_the_database_does_not_take_does_not_hurt_the_others(
    recorder: Recorder, log: Log, database_url: str
) -> None:
    with refusing(database_url, "NEW.key = 'command/poison'"):
        async with busy(recorder):
            facts = (comment(5), command("help", id_="poison"), comment(6))
            asked = [asyncio.create_task(report(recorder, fact)) for fact in facts]
            await asyncio.sleep(0)
        first, poison, last = await asyncio.gather(*asked)
    assert isinstance(poison, Refused)
    assert (first, poison.reason, last) == (Recorded(1), "unstorable", Recorded(3))
    check_chain(log.rows(0))


def test_what_the_database_does_not_take_is_kept_for_a_human(recorder: Recorder, log: Log, database_url: str) -> None:
    with refusing(database_url, "NEW.key = 'command/poison'"):
        asyncio.run(recorder.report_raw("gateway", raw(command("help", id_="poison"))))
    [kept] = log.parked()
    assert (kept.reason, kept.size) == ("unstorable", len(raw(command("help", id_="poison"))))
    parked = log.parked_one(kept.id)
    assert parked is not None
    assert asyncio.run(recorder.report_raw(kept.service, parked.data)) == Recorded(1)


def test_a_decision_that_the_database_does_not_take_leaves_the_fact_and_a_stuck_loop(
    recorder: Recorder, log: Log, database_url: str
) -> None:
    with refusing(database_url, "NEW.type = 'loop.opened'"):
        assert asyncio.run(report(recorder, comment())) == Recorded(1)
    assert [row.type for row in log.rows(0)] == ["comment.added", "loop.stuck"]
    assert asyncio.run(recorder.may(1)) == Stop("stuck")


def test_while_another_has_the_lock_nothing_is_known_and_the_same_again_is_safe(
    recorder: Recorder, log: Log, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amends.evaluator.writer.writer.BUSY_SECONDS", 0)
    run(recorder, "PRAGMA busy_timeout = 0" if database_url.startswith("sqlite") else "SET lock_timeout = '50ms'")
    with locked(database_url):
        assert isinstance(asyncio.run(report(recorder, comment())), Unavailable)
        assert recorder.trouble.startswith("the log cannot be written")
    assert asyncio.run(report(recorder, comment())) == Recorded(1)
    assert recorder.trouble == ""


@pytest.mark.connected
def test_after_a_lost_connection_the_same_again_is_safe(postgres_url: str) -> None:
    recorder = Recorder(Writer(postgres_url))
    recorder.start()
    recorder.open()
    asyncio.run(report(recorder, comment(5)))
    others = "pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    execute(postgres_url, f"SELECT pg_terminate_backend(pid) FROM {others}")  # noqa: S608 - the words are ours
    assert isinstance(asyncio.run(report(recorder, comment(6))), Unavailable)
    assert isinstance(asyncio.run(report(recorder, comment(6))), Recorded)
    recorder.close()


def test_without_its_head_row_a_log_refuses_no_report(recorder: Recorder, database_url: str) -> None:
    execute(database_url, "CREATE TABLE kept AS SELECT * FROM head", "DELETE FROM head")
    assert isinstance(asyncio.run(report(recorder, comment())), Unavailable)
    assert "lost its head row" in recorder.trouble
    execute(database_url, "INSERT INTO head SELECT * FROM kept", "DROP TABLE kept")
    assert asyncio.run(report(recorder, comment())) == Recorded(1)


def test_a_log_of_a_newer_vocabulary_is_not_written(recorder: Recorder, log: Log, database_url: str) -> None:
    execute(database_url, f"UPDATE head SET vocabulary = {VOCABULARY + 1}")  # noqa: S608 - a number of ours
    assert isinstance(asyncio.run(report(recorder, comment())), Unavailable)
    assert recorder.outdated
    assert "upgrade" in recorder.trouble
    assert log.rows(0) == []


# --- on the event loop's own thread --------------------------------------------------------------------------------


@contextmanager
def noting(writer: Writer, before: Callable[[], None] = lambda: None) -> Iterator[tuple[Recorder, list[str]]]:
    """A recorder, and on which thread each of its batches was recorded."""
    threads: list[str] = []

    def note(_events: Sequence[Event]) -> None:
        before()
        threads.append(threading.current_thread().name)

    recorder = Recorder(writer, [note])
    recorder.start()
    recorder.open()
    yield recorder, threads
    recorder.close()


OWN = "MainThread"


@pytest.fixture
def sqlite_writer(sqlite_url: str) -> Iterator[Writer]:
    opened = Writer(sqlite_url)
    yield opened
    opened.close()


@asynchronous
async def test_a_quick_disk_is_written_by_the_event_loop_itself_and_a_server_by_the_thread(
    writer: Writer, database_url: str
) -> None:
    with noting(writer) as (recorder, threads):
        for number in (5, 6):  # the first one connects, for which the loop must not wait
            await report(recorder, comment(number))
    assert threads == ["recorder", OWN if database_url.startswith("sqlite") else "recorder"]


@asynchronous
async def test_what_an_event_loop_hears_at_a_time_is_one_batch(sqlite_writer: Writer) -> None:
    with noting(sqlite_writer) as (recorder, threads):
        await report(recorder, comment(5))
        await asyncio.gather(*(report(recorder, comment(number)) for number in range(6, 16)))
        await asyncio.gather(*(report(recorder, comment(number)) for number in range(16, 16 + FEW + 1)))
    assert threads == ["recorder", OWN, "recorder"]  # the last were too many for the loop


@asynchronous
async def test_an_event_loop_does_not_wait_for_another_who_writes(sqlite_writer: Writer, sqlite_url: str) -> None:
    with noting(sqlite_writer) as (recorder, threads):
        await report(recorder, comment(5))
        with locked(sqlite_url):
            reporting = asyncio.create_task(report(recorder, comment(6)))
            began = time.monotonic()
            await asyncio.sleep(0.05)
            assert time.monotonic() < began + BUSY_SECONDS
            assert not reporting.done()
        assert isinstance(await reporting, Recorded)
    assert threads == ["recorder", "recorder"]


@asynchronous
async def test_a_slow_disk_is_left_to_the_thread_for_a_while(
    sqlite_writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amends.evaluator.recorder.REST", 3_600)
    with noting(sqlite_writer, before=lambda: time.sleep(SLOW * 2)) as (recorder, threads):
        for number in range(5, 9):
            await report(recorder, comment(number))
    assert threads == ["recorder", OWN, "recorder", "recorder"]


@asynchronous
async def test_while_the_thread_has_the_turn_an_event_loop_queues(sqlite_writer: Writer) -> None:
    held = threading.Event()
    with noting(sqlite_writer) as (recorder, threads):
        await report(recorder, comment(5))
        waiting = asyncio.create_task(recorder.run(lambda _: held.wait(10)))
        await asyncio.sleep(0)
        reporting = asyncio.create_task(report(recorder, comment(6)))
        await asyncio.sleep(0.05)
        assert not reporting.done()
        held.set()
        assert await waiting
        assert isinstance(await reporting, Recorded)
    assert threads == ["recorder", "recorder"]


# --- in the same process -------------------------------------------------------------------------------------------


@asynchronous
async def test_a_service_in_the_same_process_reports_asks_and_keeps_blobs(recorder: Recorder, log: Log) -> None:
    local = LocalRecorder(recorder, "gateway", log.blob)
    sha = await local.put(b"content")
    assert (await local.get(sha), await local.get("0" * 64)) == (b"content", None)
    assert await local.report(reported(observed()).report) == Recorded(1)
    assert await local.may(99) == Stop("unknown")


# --- several evaluators on one log ---------------------------------------------------------------------------------

EACH = [list(range(1, 121)), list(range(61, 181))]


def assert_shared(log: Log, answers: list[list[Answer]]) -> None:
    """Every comment is in the log once, recorded for one reporter and known to all others."""
    rows = log.rows(0, 10_000)
    check_chain(rows)
    recorded = [answer.pos for some in answers for answer in some if isinstance(answer, Recorded)]
    assert len(recorded) == len(set(recorded)) == 180
    assert {type(answer) for some in answers for answer in some} == {Recorded, Already}
    assert sum(row.type == "comment.added" for row in rows) == 180


@asynchronous
async def test_what_another_evaluator_has_changed_is_not_taken_for_what_was_kept(database_url: str, log: Log) -> None:
    one, other = (Recorder(Writer(database_url)) for _ in range(2))
    said = (policy_changed(repositories=("octo/shop",)), observed(), *believed(rejected()), comment(), comment(6))
    for recorder in (one, other):
        recorder.start()
        recorder.open()
    for recorder, fact in zip((one, one, one, other, one, other), said, strict=True):
        assert isinstance(await report(recorder, fact), Recorded)
    for recorder in (one, other):
        await asyncio.to_thread(recorder.close)
    found = rebuilt(log.rows(0))
    assert (set(log.timers()), set(log.outstanding())) == (found.timers, found.outstanding)
    assert found.timers


@asynchronous
async def test_the_loop_that_was_worked_on_longest_ago_makes_room(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amends.evaluator.recorder.CACHED", 4)  # with the installation's and the repository's settings
    for number in (7, 8, 7, 9):
        said = reported(comment(seconds=number), number)
        await recorder.report(said.service, said.report)
    assert [name for name in recorder._cache if "-pr-" in name] == ["1-pr-7", "1-pr-9"]


def test_recorders_in_threads_share_a_log(database_url: str, log: Log) -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(report_comments, [database_url] * 2, EACH))
    assert_shared(log, answers)


def test_recorders_in_processes_share_a_log(database_url: str, log: Log) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        answers = list(pool.map(report_comments, [database_url] * 2, EACH))
    assert_shared(log, answers)
