"""What no webhook told is found on the timer, under the same keys; and what is known is not told again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from amends.comment_fetcher.reconcile import Budget, Spent
from amends.common.answers import Followed, Report
from amends.common.delivery import Later
from amends.common.events import AccessChanged, CommentDeleted, PrClosed, ReviewRejected, ThreadUnresolved
from amends.common.frozen import replace
from amends.common.github.sightings import Ours
from amends.common.identity import About
from amends.common.loop import Loop
from amends.common.policy import Overrides
from amends.doubles.github.control.pulls import PullHandle
from amends.evaluator.batch import Said
from amends.gateway.found import Observed
from amends.gateway.observe import observe
from tests.support.asynchronous import asynchronous, until
from tests.support.book import Book, Books
from tests.support.fetching import Desk, at_work
from tests.support.github import Scene, github, set_scene
from tests.support.ledgers import said_item, said_review

BEGAN = datetime.now(UTC)
QUIET = Overrides(repositories=("acme/widget",), triggers=("comments",), settle_seconds=86_400)


def day(scene: Scene) -> Iterator[None]:
    """A day in the life of a pull request, act by act."""
    yield from morning(scene.pull)
    yield from evening(scene)


def morning(pull: PullHandle) -> Iterator[None]:
    pull.review("bob", "changes_requested", "No.", [{"path": "app.py", "line": 10, "body": "Why?"}])
    yield
    pull.threads[0].reply("because", "alice")
    yield
    pull.comment("carol", "odd", path="app.py", line=10)
    yield
    pull.say("rita", "nice")
    yield
    pull.threads[0].root.edit("Why not?")
    yield
    pull.reviews[0].edit("No, thanks.")
    yield
    pull.conversation[0].edit("very nice")
    yield
    pull.threads[0].comments[1].delete()
    yield


def evening(scene: Scene) -> Iterator[None]:
    pull = scene.pull
    pull.threads[1].resolve("alice")
    yield
    pull.push({"app.py": "other\n"}, by="alice")
    yield
    pull.review("carol", "approved", "Fine.")
    yield
    pull.reviews[0].dismiss("octocat")
    yield
    scene.repo.check(pull.head, "build", "failure")
    yield
    pull.conversation[0].delete()
    yield
    pull.draft()
    yield
    pull.close("alice")
    yield


def ledger(loop: Loop) -> object:
    """What was said and what became of it. Webhooks do not date the edit of a review, nor pollers a resolution."""
    items = {id_: replace(said_item(item), closed_at=0) for id_, item in loop.items.items()}
    for id_, item in items.items():
        if item.kind == "review":
            items[id_] = replace(item, hints={node: replace(hint, updated=0) for node, hint in item.hints.items()})
    pull = loop.pull.model_dump(exclude={"updated_at", "url"}) if loop.pull else None
    return items, {id_: said_review(one) for id_, one in loop.reviews.items()}, pull, loop.closed


def hear(desk: Desk, told: int) -> int:
    """What webhooks said since; answers with how many there were."""
    deliveries = desk.scene.double.webhooks.deliveries
    for delivery in deliveries[told:]:
        found = observe(delivery.event, delivery.raw, Ours(frozenset({desk.scene.app.account_id})))
        for number, fact in found.facts if isinstance(found, Observed) else ():
            report = Report(fact=fact, about=About(repo=found.repo, number=number))
            desk.book.record(Said("gateway", report))
    return len(deliveries)


async def fed(books: Books, *, webhooks: bool, poll: bool) -> object:
    with github() as double, books.open() as book:
        double.clock.stop(BEGAN)
        scene = set_scene(double)
        double.webhooks.to("http://127.0.0.1:9/nobody", "secret", scene.app)
        async with at_work(book, scene, QUIET) as desk:
            told = 0
            for _act in day(scene):
                told = hear(desk, told) if webhooks else 0
                if poll:
                    await desk.reconciler.look(asked=True)
                await desk.react()
                double.clock.advance(5)
            return ledger(desk.loop)


@asynchronous
async def test_webhooks_a_poller_and_both_write_the_same_ledger(sqlite_books: Books) -> None:
    told = await fed(sqlite_books, webhooks=True, poll=False)
    assert await fed(sqlite_books, webhooks=False, poll=True) == told
    assert await fed(sqlite_books, webhooks=True, poll=True) == told


@asynchronous
async def test_a_missed_review_is_found_once(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        scene.pull.review("bob", "changes_requested", "No.")
        found = [(await desk.reconciler.look()).found for _ in range(2)]
        rejections = [event for event in sqlite_book.events() if isinstance(event.fact, ReviewRejected)]
        assert (found[0] > 0, found[1], len(rejections)) == (True, 0, 1)


@asynchronous
async def test_a_quiet_repository_costs_one_request(scene: Scene, sqlite_book: Book) -> None:
    scene.double.clock.advance(60)
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        asked = desk.client.requests
        await desk.reconciler.look()
        assert desk.client.requests - asked == 1


@asynchronous
async def test_a_missed_end_is_found(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        scene.pull.close("alice")
        await desk.reconciler.look()
        assert desk.last(PrClosed).merged is False
        assert desk.loop.closed == "closed"


@asynchronous
async def test_a_comment_that_only_a_replica_lacks_is_not_deleted(scene: Scene, sqlite_book: Book) -> None:
    said = scene.pull.say("bob", "stay")
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        scene.double.clock.advance(60)
        scene.pull.say("bob", "news")
        said.hide(9)
        assert (await desk.reconciler.look()).missed != []
        assert not any(isinstance(event.fact, CommentDeleted) for event in sqlite_book.events())


@asynchronous
async def test_a_thread_that_was_opened_again_while_nobody_looked_is_open(scene: Scene, sqlite_book: Book) -> None:
    thread, other = (scene.pull.comment("bob", words, path="app.py", line=10) for words in ("Why?", "How?"))
    thread.resolve("alice")
    async with at_work(sqlite_book, scene) as before:
        await before.reconciler.look()
    thread.unresolve("bob")
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        told = [event.fact for event in sqlite_book.events() if isinstance(event.fact, ThreadUnresolved)]
        assert [fact.root for fact in told] == [thread.root.id]
        assert [desk.loop.items[f"thread/{one.root.id}"].resolved for one in (thread, other)] == [False, False]


@asynchronous
async def test_one_bad_repository_does_not_keep_the_others(scene: Scene, sqlite_book: Book) -> None:
    rules = QUIET.model_copy(update={"repositories": ("acme/gone", "acme/widget")})
    async with at_work(sqlite_book, scene, rules) as desk:
        tally = await desk.reconciler.look()
        assert (tally.repositories, tally.pulls, len(tally.missed)) == (1, 1, 1)
        assert tally.missed[0].startswith("acme/gone is out of reach")


@asynchronous
async def test_access_that_came_back_is_said(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        scene.installation.suspend()
        assert (await desk.reconciler.look()).missed != []
        scene.installation.suspend(on=False)
        await desk.reconciler.look()
        assert desk.last(AccessChanged).access == "granted"


def test_the_timer_has_a_budget() -> None:
    now = [0.0]
    budget = Budget(2, lambda: now[0])
    budget.spend()
    budget.spend()
    with pytest.raises(Spent):
        budget.spend()
    now[0] = 3_601.0
    budget.spend()


@asynchronous
async def test_what_the_budget_leaves_undone_is_said_and_done_later(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.reconciler._budget.most = 1
        assert "within an hour" in (await desk.reconciler.look()).missed[0]
        desk.reconciler._budget.most = 100
        tally = await desk.reconciler.look()
        assert (tally.missed, tally.pulls) == ([], 1)


@asynchronous
async def test_a_recorder_that_is_away_loses_nothing(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.review("bob", "changes_requested", "No.")
    async with at_work(sqlite_book, scene) as desk:
        desk.reconciler.followed = _away
        assert (await desk.reconciler.look()).missed != []
        desk.reconciler.followed = desk.recorder.followed
        await desk.reconciler.look()
        assert desk.last(ReviewRejected).author.login == "bob"


@asynchronous
async def test_a_round_that_met_no_recorder_comes_again_soon(scene: Scene, sqlite_book: Book) -> None:
    rounds: list[int] = []

    async def away() -> list[Followed]:
        rounds.append(1)
        return await _away()

    async with at_work(sqlite_book, scene) as desk:
        desk.reconciler.followed, desk.reconciler.away_seconds = away, 0.01
        running = asyncio.create_task(desk.reconciler.run())
        await until(lambda: len(rounds) > 1)
        running.cancel()
        await asyncio.wait({running})


async def _away() -> list[Followed]:
    raise Later(10, "nobody answers")


@asynchronous
async def test_a_command_that_no_webhook_told_is_given_and_is_no_feedback(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.say("bob", "/amends pause")
    async with at_work(sqlite_book, scene, QUIET) as desk:
        await desk.reconciler.look()
        await desk.react()
        assert (desk.loop.paused != "", desk.loop.items) == (True, {})


@asynchronous
async def test_who_is_led_to_a_sign_in_page_says_so_and_looks_again(sqlite_book: Book, scene: Scene) -> None:
    async with at_work(sqlite_book, scene) as desk:
        page = {"location": "http://127.0.0.1:9/sign-in"}
        scene.double.faults.next("GRAPHQL", status=302, headers=page)
        (missed,) = (await desk.reconciler.look()).missed
        assert "leads to http://127.0.0.1:9/sign-in" in missed
        assert (await desk.reconciler.look()).missed == []


@asynchronous
async def test_a_repository_that_is_listed_under_its_old_name_is_told_of_once(
    sqlite_book: Book, scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        scene.repo.rename("gadget")
        for _ in range(3):
            await desk.reconciler.look()
    warned = [vars(one) for one in caplog.records if one.levelname == "WARNING"]
    assert [(one["listed"], one["called"]) for one in warned] == [("acme/widget", "acme/gadget")]
