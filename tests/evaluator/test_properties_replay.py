"""Replay of any log equals its projections: loops, timers, outstanding requests and claims, rebuilt from nothing."""

from __future__ import annotations

import pytest
from hypothesis import given

from amends.common.policy import Overrides
from tests.support.book import Books, rebuilt
from tests.support.promises import check_chain
from tests.support.walks import examples, rulebooks, walks
from tests.support.world import Step, World

WALKS, RULEBOOKS = walks("manage", "allow", "restart", "sleep", "command", "fire"), rulebooks()


def check_replay(books: Books, steps: list[Step], rules: Overrides) -> None:
    with books.open() as book:
        World(book, rules).walk(steps)
        rows = book.rows()
        check_chain(rows)
        assert rebuilt(rows) == book.views()


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
