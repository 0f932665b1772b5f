"""Any shuffle of GitHub's facts within a settle window gives the same ledger, standing opinions and first decision."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.answers import Report
from amends.common.events import (
    AnyFact,
    Author,
    AuthorChecked,
    CommandGiven,
    CommandName,
    Fact,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
)
from amends.common.identity import About
from amends.common.policy import Overrides
from amends.common.standing import opinions
from amends.evaluator.batch import Said
from tests.support.acts import ACTS, PERMISSIONS, Choice
from tests.support.book import Book, Books, fired
from tests.support.facts import PANEL
from tests.support.forge import Pull
from tests.support.ledgers import ledger, said_review, undated
from tests.support.walks import examples, rulebooks, walks
from tests.support.world import REPO, Step, World

PULL, LOOP = 1, f"{REPO}-pr-1"
ZOE = Author(id=77, login="zoe")  # who says one thing and stands by it, so that the window stays open
BEFORE, RULEBOOKS = walks("nothing", least=0, most=50), rulebooks()
UNSHUFFLED = {"_closes"}  # the closing of a pull request ends the window
WITHIN = tuple(act for act in ACTS if act.__name__ not in UNSHUFFLED)
BEGIN: tuple[CommandName, ...] = ("reset", "explain", "retry")
NUMBERS = st.lists(st.integers(0, 2**24 - 1), min_size=1, max_size=15)


def reported(fact: AnyFact) -> Said:
    service = "comment-fetcher" if isinstance(fact, AuthorChecked) else "gateway"
    return Said(service, Report(fact=fact, about=About(repo=REPO, number=PULL)))


def checked(fact: AnyFact) -> list[AnyFact]:
    """A fact, and if it is a review, who its author is."""
    if not isinstance(fact, ReviewRejected | ReviewApproved | ReviewCommented) or fact.author.kind != "user":
        return [fact]
    permission = "write" if fact.author == ZOE else PERMISSIONS.get(fact.author.id, "none")
    return [fact, AuthorChecked(of=fact.key, author=fact.author, permission=permission)]


def opening(pull: Pull, begin: CommandName) -> list[AnyFact]:
    """The pull request is open, a human says something, and Zoe asks for changes: the window opens."""
    again = CommandGiven(id="again", name=begin, author=PANEL)
    return [*pull.close(""), again, *(one for fact in pull.review(ZOE, "rejected") for one in checked(fact))]


def within(pull: Pull, numbers: Sequence[int]) -> list[AnyFact]:
    """What people do while it is open."""
    facts = []
    for choice in map(Choice, numbers):
        facts += choice.of(WITHIN)(pull, choice)
    return [one for fact in facts for one in checked(fact)]


def told(book: Book, reports: Sequence[Said], facts: Sequence[AnyFact]) -> list[Fact]:
    """Tell the book; answer what is decided after the window's timer has fired."""
    for said in (*reports, *map(reported, facts)):
        book.record(said)
    end = book.log.head().pos
    for timer in book.log.timers_of(LOOP):
        if not timer.deadline:
            book.record(fired(timer, "operator"))
    return [undated(event.fact) for event in book.events()[end:] if event.cause is not None]


def check_shuffle(books: Books, steps: list[Step], rules: Overrides, numbers: list[int], random: Random) -> None:
    with books.open() as book, books.open() as other:
        world = World(book, rules).walk(steps)
        world.come_to_rest()
        pull = world.pulls[LOOP]
        before, first, facts = (
            [said for said, _ in world.sent],
            opening(pull, Choice(numbers[0]).of(BEGIN)),
            within(pull, numbers),
        )
        decided = told(book, [], [*first, *facts])
        random.shuffle(facts)
        assert told(other, before, [*first, *facts]) == decided
        loop, same = book.loop(LOOP), other.loop(LOOP)
        assert ledger(loop) == ledger(same)
        policy = book.policy(loop)
        assert [*map(said_review, opinions(loop, policy))] == [*map(said_review, opinions(same, policy))]


@examples(50)
@given(BEFORE, RULEBOOKS, NUMBERS, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter_in_sqlite(
    sqlite_books: Books, steps: list[Step], rules: Overrides, numbers: list[int], random: Random
) -> None:
    check_shuffle(sqlite_books, steps, rules, numbers, random)


@pytest.mark.connected
@examples(6)
@given(BEFORE, RULEBOOKS, NUMBERS, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter_in_postgresql(
    postgres_books: Books, steps: list[Step], rules: Overrides, numbers: list[int], random: Random
) -> None:
    check_shuffle(postgres_books, steps, rules, numbers, random)
