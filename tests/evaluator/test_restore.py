"""The end of a log comes back from the mirror, with all that is kept beside it."""

import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from amends.common.bus.mirror import State
from amends.common.envelope import Row
from amends.common.log import Log
from amends.evaluator.audit import audit, events
from amends.evaluator.replay import rebuild
from amends.evaluator.restore import import_tail
from amends.evaluator.tail import NoTailError
from amends.evaluator.writer import Writer
from tests.support.asynchronous import asynchronous
from tests.support.scribe import scribe, tell_of_a_cycle


class Kept:
    """A mirror that holds these events."""

    def __init__(self, rows: Sequence[Row], epoch: str) -> None:
        self.rows = rows
        self.epoch = epoch

    async def state(self) -> State:
        return State(first=1, last=len(self.rows), epoch=self.epoch, created="", drift=())

    async def row_at(self, seq: int) -> Row | None:
        return self.rows[seq - 1]


@pytest.fixture
def rows(sqlite_template: Path, tmp_path: Path) -> list[Row]:
    """The events of a whole cycle, in a log of their own."""
    file = shutil.copy(sqlite_template, tmp_path / "source.db")
    with scribe(f"sqlite:///{file}") as one:
        tell_of_a_cycle(one)
        return list(events(one.log))


@asynchronous
async def test_an_empty_log_gets_everything_back_and_is_sound(rows: list[Row], log: Log, writer: Writer) -> None:
    result = await import_tail(log, writer, Kept(rows, log.head().epoch))
    assert (result.events, result.pos, len(result.missing)) == (len(rows), rows[-1].pos, 1)
    assert rebuild(events(log)).digest() == rebuild(rows).digest()
    assert set(audit(log).counts) == {"blobs"}


@asynchronous
async def test_a_second_import_finds_nothing_to_do(rows: list[Row], log: Log, writer: Writer) -> None:
    mirror = Kept(rows, log.head().epoch)
    await import_tail(log, writer, mirror)
    assert (await import_tail(log, writer, mirror)).events == 0


@asynchronous
async def test_a_restored_log_goes_on(rows: list[Row], database_url: str) -> None:
    with closing(Log(database_url)) as log, closing(Writer(database_url)) as writer:
        await import_tail(log, writer, Kept(rows[:6], log.head().epoch))
    with scribe(database_url) as one:
        tell_of_a_cycle(one)
        assert audit(one.log).counts == {}


@asynchronous
async def test_a_tail_of_another_log_or_a_broken_one_changes_nothing(rows: list[Row], log: Log, writer: Writer) -> None:
    broken = [*rows[:4], rows[5], *rows[5:]]
    for mirror in (Kept(rows, "another"), Kept(broken, log.head().epoch)):
        with pytest.raises(NoTailError):
            await import_tail(log, writer, mirror)
    assert log.head().pos == 0
