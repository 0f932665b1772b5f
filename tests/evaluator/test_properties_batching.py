"""Any duplication and any batching of a sequence of reports gives the same log, and the same views of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import cycle, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.answers import Already, Recorded
from amends.common.policy import Overrides
from amends.evaluator.batch import Said
from amends.evaluator.recorder import Recorder
from tests.support.book import Book, Books, timeless, written
from tests.support.walks import examples, rulebooks, walks
from tests.support.world import Step, World

Copies = Sequence[tuple[int, int]]  # which report comes again, and how much later
WALKS, RULEBOOKS = walks("restart"), rulebooks()
COPIES = st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 10_000)), max_size=60)
SIZES = st.lists(st.sampled_from((1, 2, 3, 7, 30, 256)), min_size=1, max_size=8)


def doubled(world: World, copies: Copies) -> list[Said]:
    """What was sent, and some of what got in again at any later place."""
    reports = [said for said, _ in world.sent]
    kept = [place for place, (_, answer) in enumerate(world.sent) if isinstance(answer, Recorded | Already)]
    again: dict[int, list[Said]] = {}
    for which, later in copies:
        place = kept[which % len(kept)]
        again.setdefault(place + later % (len(reports) - place), []).append(reports[place])
    return [said for place, report in enumerate(reports) for said in (report, *again.get(place, []))]


def batches(reports: Sequence[Said], sizes: Sequence[int]) -> Iterator[list[Said]]:
    rest, size = iter(reports), cycle(sizes)
    while batch := list(islice(rest, next(size))):
        yield batch


def assert_same(book: Book, original: Book) -> None:
    assert list(map(written, book.rows())) == list(map(written, original.rows()))
    assert timeless(book.views()) == timeless(original.views())


def check_batching(books: Books, steps: list[Step], rules: Overrides, copies: Copies, sizes: Sequence[int]) -> None:
    with books.open() as original, books.open() as book:
        world = World(original, rules).walk(steps)
        for batch in batches(doubled(world, copies), sizes):
            book.record(*batch)
        assert_same(book, original)


@examples(25)
@given(WALKS, RULEBOOKS, COPIES, SIZES)
def test_duplicates_and_batches_change_nothing_in_sqlite(
    sqlite_books: Books, steps: list[Step], rules: Overrides, copies: Copies, sizes: list[int]
) -> None:
    check_batching(sqlite_books, steps, rules, copies, sizes)


@pytest.mark.connected
@examples(4)
@given(WALKS, RULEBOOKS, COPIES, SIZES)
def test_duplicates_and_batches_change_nothing_in_postgresql(
    postgres_books: Books, steps: list[Step], rules: Overrides, copies: Copies, sizes: list[int]
) -> None:
    check_batching(postgres_books, steps, rules, copies, sizes)


async def report_all(recorder: Recorder, reports: Sequence[Said]) -> None:
    """All at once, as bytes; the thread makes of them what batches it likes."""
    sent = [(said.service, said.report.model_dump_json(by_alias=True).encode()) for said in reports]
    await asyncio.gather(*(recorder.report_raw(service, raw) for service, raw in sent))


@examples(12)
@given(WALKS, RULEBOOKS, COPIES, st.sampled_from((3, 16, 256)))
def test_the_recorder_s_thread_writes_the_same_log(
    sqlite_books: Books, steps: list[Step], rules: Overrides, copies: Copies, most: int
) -> None:
    with sqlite_books.open() as original, sqlite_books.open() as book:
        world = World(original, rules).walk(steps)
        recorder = Recorder(book.writer, batch=most)
        recorder.start()
        recorder.open()
        asyncio.run(report_all(recorder, doubled(world, copies)))
        recorder.close()
        assert_same(book, original)
