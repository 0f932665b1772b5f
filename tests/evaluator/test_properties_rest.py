"""Under any delay, loss, copy and crash every item version has one verdict at rest, limits hold, no key is doubled."""

from __future__ import annotations

import pytest
from hypothesis import given

from amends.common.policy import Overrides
from tests.support.book import Books
from tests.support.promises import check_log, check_rest
from tests.support.walks import examples, rulebooks, walks
from tests.support.world import Step, World

WALKS = walks(
    *("manage", "restart", "sleep", "resend", "crash", "lose", "falter", "force", "label", "doubt", "intrude"),
    *("doubt", "command", "command"),
)
RULEBOOKS = rulebooks()


def check_any_delay(books: Books, steps: list[Step], rules: Overrides) -> None:
    with books.open() as book:
        world = World(book, rules).walk(steps)
        world.come_to_rest()
        check_log(book.rows())
        check_rest(world)


@examples(50)
@given(WALKS, RULEBOOKS)
def test_any_delay_ends_in_one_verdict_each_in_sqlite(sqlite_books: Books, steps: list[Step], rules: Overrides) -> None:
    check_any_delay(sqlite_books, steps, rules)


@pytest.mark.connected
@examples(6)
@given(WALKS, RULEBOOKS)
def test_any_delay_ends_in_one_verdict_each_in_postgresql(
    postgres_books: Books, steps: list[Step], rules: Overrides
) -> None:
    check_any_delay(postgres_books, steps, rules)
