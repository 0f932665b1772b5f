"""Replay of any log equals its projections: loops, timers, outstanding requests and claims, rebuilt from nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given

from amends.common.envelope import Row
from amends.common.policy import Overrides
from amends.evaluator.invariants import Violation, Walk
from amends.evaluator.replay import rebuild
from amends.evaluator.verify import Kept, differences
from tests.support.book import Books, Views, rebuilt
from tests.support.promises import check_chain
from tests.support.walks import examples, rulebooks, walks
from tests.support.world import Step, World

WALKS, RULEBOOKS = walks("manage", "allow", "restart", "sleep", "command", "fire", "falter"), rulebooks()


def violations(rows: Sequence[Row]) -> Iterator[Violation]:
    """What the doctor would find."""
    walk = Walk()
    for row in rows:
        yield from walk.step(row)


def kept(views: Views) -> Kept:
    return Kept(views.loops.values(), sorted(views.timers), sorted(views.outstanding), sorted(views.claims.values()))


def check_replay(books: Books, steps: list[Step], rules: Overrides) -> None:
    with books.open() as book:
        World(book, rules).walk(steps)
        rows, views = book.rows(), book.views()
        check_chain(rows)
        assert list(violations(rows)) == []
        assert list(differences(rebuild(rows), kept(views))) == []
        if not any(row.stuck for row in views.loops.values()):
            assert rebuilt(rows) == views


@examples(50)
@given(WALKS, RULEBOOKS)
def test_the_views_can_be_rebuilt_from_nothing_in_sqlite(
    sqlite_books: Books, steps: list[Step], rules: Overrides
) -> None:
    check_replay(sqlite_books, steps, rules)


@pytest.mark.connected
@examples(6)
@given(WALKS, RULEBOOKS)
def test_the_views_can_be_rebuilt_from_nothing_in_postgresql(
    postgres_books: Books, steps: list[Step], rules: Overrides
) -> None:
    check_replay(postgres_books, steps, rules)
