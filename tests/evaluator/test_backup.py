"""A backup is a whole log of one moment, and goes back into whatever a log is kept in; damage is told."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from amends.common.events import AnyFact
from amends.common.log import Log
from amends.common.log.engine import LogUnreachable
from amends.common.owned import InUse, alone_on
from amends.common.rows import Head
from amends.common.settings import log_at
from amends.evaluator.backup import NoPlace, NotCopied, Unsound, back_up, put_back
from amends.evaluator.writer import NotEmpty, Writer
from tests.faults.support.disks import no_room
from tests.support.command import called
from tests.support.facts import believed, observed, rejected
from tests.support.scribe import Scribe, scribe, tamper, tell_of_a_cycle, tell_of_a_second_rejection


@pytest.fixture
def told(database_url: str) -> Iterator[Scribe]:
    """A log of one cycle, in SQLite and in PostgreSQL, with something parked."""
    with scribe(database_url) as one:
        tell_of_a_cycle(one)
        with closing(Writer(database_url)) as writer:
            writer.park("gateway", "unreadable", b"\x00 no report")
        yield one


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "backup.db"


def held(url: str) -> tuple[Head, list[object]]:
    """All that is in a log but blobs, whose names are in it."""
    with closing(Log(url)) as log:
        views = [log.loops(), log.timers(), log.outstanding(), log.claims(), log.parked()]
        return log.head(), [log.rows(0, 10_000), *views]


@contextmanager
def writing(one: Scribe) -> Iterator[list[int]]:
    """Somebody who goes on reporting for as long as the block lasts; how many reports."""
    stop, said = Event(), [0]

    def write() -> None:
        while not stop.is_set():
            facts: tuple[AnyFact, ...] = (observed(100 + said[0], title=f"title {said[0]}"),)
            one.tell(*facts)
            said[0] += 1

    thread = Thread(target=write)
    thread.start()
    try:
        yield said
    finally:
        stop.set()
        thread.join()


def test_a_backup_goes_back_into_either_database_and_the_loop_goes_on(told: Scribe, file: Path, empty_url: str) -> None:
    found = back_up(told.url, file)
    put_back(file, empty_url)
    assert held(empty_url) == held(told.url) == held(log_at(file))
    with scribe(empty_url) as restored:
        assert restored.log.blob(restored.put(b"a mended shop")) == b"a mended shop"
        before = restored.log.head().pos
        tell_of_a_second_rejection(restored)
        assert before == found.events
        assert "fix.requested" in [row.type for row in restored.log.rows(before)]
    with closing(Writer(empty_url)) as writer:
        assert writer.park("gateway", "unreadable", b"another") > 1


def test_a_backup_is_one_file_that_only_its_owner_may_read(told: Scribe, file: Path) -> None:
    back_up(told.url, file)
    assert [one.name for one in file.parent.glob("backup.db*")] == ["backup.db"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_backup_under_load_is_of_one_moment_and_nobody_waits_for_it(told: Scribe, file: Path) -> None:
    taken = []
    with writing(told) as said:
        for _ in range(5):
            before = said[0]
            taken.append((back_up(told.url, file), held(log_at(file))[1][0]))
            while said[0] == before:
                pass
    whole = told.log.rows(0, 100_000)
    assert all(rows == whole[: found.events] for found, rows in taken)
    assert taken[0][0].events < taken[-1][0].events


def test_a_log_that_holds_anything_is_not_written_over(told: Scribe, file: Path) -> None:
    back_up(told.url, file)
    before = held(told.url)
    with pytest.raises(NotEmpty):
        put_back(file, told.url)
    assert held(told.url) == before


def test_what_is_no_log_is_not_written_over(told: Scribe, file: Path, tmp_path: Path) -> None:
    back_up(told.url, file)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises((NotEmpty, LogUnreachable)):
        put_back(file, log_at(tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_backup_that_was_changed_is_refused_and_nothing_is_left_of_it(
    told: Scribe, file: Path, empty_url: str
) -> None:
    back_up(told.url, file)
    tamper(log_at(file), "UPDATE events SET data = replace(data, 'maria', 'carla') WHERE pos = 5")
    with pytest.raises(Unsound, match="I8"):
        put_back(file, empty_url)
    assert called("events", "tail", "--database", empty_url).exit_code == 3 or held(empty_url)[0].pos == 0


def test_a_file_that_is_no_backup_is_refused(file: Path, empty_url: str) -> None:
    file.write_text("mine")
    with pytest.raises(Unsound, match="no log that `amends backup` wrote"):
        put_back(file, empty_url)
    assert file.read_text() == "mine"


def test_a_blob_that_was_damaged_is_found(told: Scribe, file: Path, empty_url: str) -> None:
    back_up(told.url, file)
    tamper(log_at(file), "UPDATE blob_chunks SET data = x'00'")
    with pytest.raises(Unsound, match="damaged"):
        put_back(file, empty_url)


def test_a_damaged_log_has_no_backup_in_place(sqlite_url: str, file: Path) -> None:
    with scribe(sqlite_url) as one:
        tell_of_a_cycle(one)
        one.tell(*believed(rejected(3)))
    tamper(sqlite_url, "UPDATE events SET actor = 'me' WHERE pos = 4")
    with pytest.raises(Unsound, match="at position 4"):
        back_up(sqlite_url, file)
    assert not file.exists()


def test_a_log_that_cannot_be_read_to_its_end_has_no_backup(sqlite_url: str, file: Path) -> None:
    with scribe(sqlite_url) as one:
        tell_of_a_cycle(one)
    log = Path(sqlite_url.removeprefix("sqlite:///"))
    with closing(sqlite3.connect(log)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [root] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
    with log.open("r+b") as damaged:
        damaged.seek((root - 1) * 4096)
        damaged.write(b"\xff" * 4096)
    with pytest.raises(Unsound, match="malformed"):
        back_up(sqlite_url, file)
    assert not file.exists()


def test_a_full_disk_is_named(sqlite_url: str, file: Path, tmp_path: Path) -> None:
    with scribe(sqlite_url) as one:
        tell_of_a_cycle(one)
    back_up(sqlite_url, file)
    with no_room(os.getpid(), 64 * 1024), pytest.raises(NotCopied, match="see that there is room"):
        back_up(sqlite_url, tmp_path / "other.db")
    with no_room(os.getpid(), 64 * 1024), pytest.raises(NotCopied, match="see that there is room"):
        put_back(file, log_at(tmp_path / "new.db"))


def test_without_a_log_there_is_no_backup(file: Path, tmp_path: Path) -> None:
    with pytest.raises(LogUnreachable):
        back_up(log_at(tmp_path / "none.db"), file)
    assert list(tmp_path.glob("backup*")) == []


def test_a_backup_may_be_called_anything(told: Scribe, tmp_path: Path, empty_url: str) -> None:
    odd = tmp_path / "Sicherung? 100%20.db"
    assert back_up(told.url, odd) == put_back(odd, empty_url)
    assert [one.name for one in tmp_path.glob("Sich*")] == [odd.name]


@pytest.mark.parametrize("part", ["", "-wal", "-shm"])
def test_a_backup_is_never_put_over_the_log_itself_whose_writer_would_go_on_in_a_file_without_a_name(
    sqlite_url: str, part: str
) -> None:
    with scribe(sqlite_url) as one:
        tell_of_a_cycle(one)
        with pytest.raises(NoPlace, match="the log itself"):
            back_up(sqlite_url, Path(f"{sqlite_url.removeprefix('sqlite:///')}{part}"))
        one.tell(*believed(rejected(3)))
        assert one.log.rows(16) != []


def test_a_backup_is_never_put_over_what_is_no_file(told: Scribe, file: Path) -> None:
    os.mkfifo(file)
    with pytest.raises(NoPlace, match="no file"):
        back_up(told.url, file)
    assert file.is_fifo()


def test_one_file_is_written_by_one_at_a_time(told: Scribe, file: Path) -> None:
    with alone_on(file), pytest.raises(InUse, match=r"\.db is being written by another amends"):
        back_up(told.url, file)
    assert back_up(told.url, file).events == 16
