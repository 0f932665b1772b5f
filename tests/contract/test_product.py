"""What the product asks GitHub for is what GitHub describes: each of its documents, and every request of a reading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from graphql import parse, validate

from amends.comment_fetcher import documents
from amends.comment_fetcher.documents import Asked, List
from amends.comment_fetcher.strand import Span
from amends.common.events import FixRequested, Judgement
from amends.doubles.github.graphql.engine import schema
from amends.notifier import documents as telling
from tests.contract.descriptions import Descriptions
from tests.doubles.client import Api
from tests.support.asynchronous import asynchronous
from tests.support.book import Books
from tests.support.fetching import at_work
from tests.support.github import Crowd, Scene, crowd, github, lengthen, set_scene
from tests.support.notifying import RULES
from tests.support.notifying import at_work as notifying

LISTS: tuple[List, ...] = ("threads", "reviews", "talk", "checks", "replies")
SPANS = (Span(), Span(last=True, size=1), Span(after="c"), Span(before="c", last=True))
MADE = {
    "pull_document": [
        documents.pull_document(1, [Asked(one, span, "PRRT_x" if one == "replies" else "")], policy=span == Span())
        for one in LISTS
        for span in SPANS
    ],
    "nodes_document": [documents.nodes_document([f"PRRC_{n}" for n in range(201)])],
    "base_checks_document": [documents.base_checks_document("main")],
    "policy_document": [documents.policy_document()],
    "open_document": [documents.open_document(None, policy=True), documents.open_document("c", policy=False)],
}


def test_all_documents_of_the_product_are_here() -> None:
    assert {name for name in vars(documents) if name.endswith("_document")} == set(MADE)


TEXTS = [*(one.text for made in MADE.values() for one in made), telling.REQUESTED, telling.ASK]


@pytest.mark.parametrize("text", TEXTS)
def test_a_document_holds_on_githubs_schema_and_on_the_doubles(descriptions: Descriptions, text: str) -> None:
    assert validate(descriptions.schema, parse(text)) == []
    assert validate(schema(), parse(text)) == []


@pytest.fixture
def scene() -> Iterator[Scene]:
    """Everything that is asked and answered here is held against GitHub's descriptions when it ends."""
    with github(checked=True) as double:
        yield set_scene(double)


@asynchronous
async def test_a_whole_cycle_asks_and_is_answered_as_described(scene: Scene, sqlite_books: Books) -> None:
    pull = crowd(scene.repo, Crowd(inline=120, reviews=10, talk=110))
    lengthen(pull.threads[0], 60)
    scene.repo.check(pull.head, "build", "failure")
    scene.repo.protect(checks=("build",))
    with sqlite_books.open() as book:
        async with at_work(book, replace(scene, pull=pull), seconds=25) as desk:
            fetched = await desk.cycle()
    assert Counter(item.kind for item in fetched.items) == {"thread": 120, "review": 10, "comment": 110, "check": 1}


@asynchronous
async def test_all_that_is_told_is_written_as_described(scene: Scene, sqlite_books: Books) -> None:
    bot = scene.double.bot("robot", reviews_on_request=True)
    with sqlite_books.open() as book:
        async with notifying(book, scene, RULES.model_copy(update={"bots": (bot.id,)})) as desk:
            for by, line in (("bob", 9), ("robot[bot]", 10), ("eve", 11)):
                desk.rejects(by, (line,))
            await desk.hear(FixRequested)
            desk.fixes(Judgement.FIXED, Judgement.NEEDS_HUMAN, Judgement.FIXED)
            await desk.react()
            desk.commands("ready")
            await desk.react()
            assert (scene.pull.labels, desk.owed) == (["amends: ready"], [])


def ask_for_many() -> None:
    with github(checked=True) as double, Api(double, double.token("octocat")) as api:
        api.get(f"/repos/{set_scene(double).repo.name}/pulls", per_page="many")


def test_a_request_that_github_does_not_know_fails_the_test_that_makes_it() -> None:
    with pytest.raises(AssertionError, match="per_page"):
        ask_for_many()
