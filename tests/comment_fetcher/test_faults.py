"""What is not whole is never passed on, and never taken for silence: it is said, and asked for again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amends.common.events import CommentsFailed, CommentsFetched, Failure, FixRequested
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fetching import Desk, at_work
from tests.support.github import Crowd, Scene, crowd


def rejected(scene: Scene) -> None:
    scene.pull.review("bob", "changes_requested", "No.", [{"path": "app.py", "line": 10, "body": "Why?"}])


Spoil = Callable[[Scene], object]
PASSING: dict[str, Spoil] = {
    "502": lambda scene: scene.double.faults.next("GRAPHQL", status=502, times=4),
    "a 502 on the pages": lambda scene: scene.double.faults.next("GET", "/comments", status=502, times=4),
    "truncated JSON": lambda scene: scene.double.faults.next("GRAPHQL", cut=0.6),
    "truncated pages": lambda scene: scene.double.faults.next("GET", "/pulls/1/comments", cut=0.6),
    "a broken connection": lambda scene: scene.double.faults.next("GRAPHQL", broken=True),
    "a looping link": lambda scene: scene.double.faults.next("GET", "/pulls/1/comments", link="loop"),
    "404 after the webhook": lambda scene: scene.pull.lose(2),
    "a comment in no list": lambda scene: scene.pull.threads[0].root.hide(3),
    "errors and no data": lambda scene: scene.double.faults.next(
        "GRAPHQL", status=200, body={"errors": [{"message": "Something went wrong"}], "data": None}
    ),
}


@pytest.mark.parametrize("fault", PASSING)
@asynchronous
async def test_what_passes_costs_time_and_nothing_else(fault: str, scene: Scene, sqlite_book: Book) -> None:
    rejected(scene)
    async with at_work(sqlite_book, scene, seconds=15) as desk:
        await desk.ask()
        desk.answers.collector.reader.forget()
        PASSING[fault](scene)
        await desk.react()
        assert set(desk.texts(desk.last(CommentsFetched))) == {"No.", "Why?"}
        assert scene.double.faults.unused == []


LASTING: dict[str, tuple[Spoil, Failure]] = {
    "502": (
        lambda scene: scene.double.faults.next("*", status=502, times=999),
        Failure.GITHUB_UNAVAILABLE,
    ),
    "truncated JSON": (
        lambda scene: scene.double.faults.next("GRAPHQL", cut=0.6, times=999),
        Failure.GITHUB_INCOMPLETE,
    ),
    "looping links": (
        lambda scene: scene.double.faults.next("GET", "/pulls/1/comments", link="loop", times=999),
        Failure.GITHUB_INCOMPLETE,
    ),
    "a comment in no list": (lambda scene: scene.pull.threads[0].root.hide(999), Failure.GITHUB_INCOMPLETE),
    "404": (lambda scene: scene.pull.lose(999), Failure.GITHUB_INCOMPLETE),
    "uninstalled": (lambda scene: scene.installation.uninstall(), Failure.ACCESS_LOST),
}


@pytest.mark.parametrize("fault", LASTING)
@asynchronous
async def test_what_lasts_is_said_and_a_part_is_never_passed_on(fault: str, scene: Scene, sqlite_book: Book) -> None:
    rejected(scene)
    spoil, reason = LASTING[fault]
    async with at_work(sqlite_book, scene, seconds=1.5) as desk:
        await desk.ask()
        desk.answers.collector.reader.forget()
        spoil(scene)
        await desk.react()
        assert desk.failure().reason is reason
        assert not any(isinstance(event.fact, CommentsFetched) for event in sqlite_book.events())


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize("retry_after", [None, 90])
@asynchronous
async def test_a_limit_is_rescheduled_and_not_slept_out(
    status: int, retry_after: int | None, scene: Scene, sqlite_book: Book
) -> None:
    rejected(scene)
    async with at_work(sqlite_book, scene) as desk:
        await desk.ask()
        scene.double.faults.secondary_limit("GRAPHQL", retry_after=retry_after, status=status)
        asked = desk.client.requests
        await desk.react()
        failed = desk.failure()
        assert (failed.reason, failed.retry_after) == (Failure.GITHUB_UNAVAILABLE, retry_after or 60)
        await again(desk)
        assert desk.failure().k == 2
        assert desk.client.requests - asked <= 2  # while it is closed nobody knocks


async def again(desk: Desk) -> None:
    """After the wait that was asked for, on the log's clock and not on ours."""
    desk.book.waits(120)
    await desk.react()


@asynchronous
async def test_a_trigger_survives_an_outage(scene: Scene, sqlite_book: Book) -> None:
    rejected(scene)
    async with at_work(sqlite_book, scene, seconds=1.0) as desk:
        await desk.ask()
        desk.answers.collector.reader.forget()
        scene.double.faults.next("*", status=503, times=999)
        await desk.react()
        assert desk.failure().reason is Failure.GITHUB_UNAVAILABLE
        scene.double.faults.clear()
        await again(desk)
        assert set(desk.texts(desk.last(CommentsFetched))) == {"No.", "Why?"}


@asynchronous
async def test_a_head_older_than_the_webhooks_is_waited_for(scene: Scene, sqlite_book: Book) -> None:
    rejected(scene)
    scene.pull.push({"app.py": "new\n"}, by="alice")
    async with at_work(sqlite_book, scene) as desk:
        await desk.ask()
        scene.pull.stale(2)
        await desk.react()
        assert desk.last(FixRequested).head == scene.pull.head
        assert desk.last(CommentsFetched).head == scene.pull.head


@asynchronous
async def test_a_head_that_stays_old_is_incomplete(scene: Scene, sqlite_book: Book) -> None:
    rejected(scene)
    scene.pull.push({"app.py": "new\n"}, by="alice")
    async with at_work(sqlite_book, scene, seconds=1.0) as desk:
        await desk.ask()
        scene.pull.stale(99)
        await desk.react()
        assert desk.last(CommentsFailed).reason is Failure.GITHUB_INCOMPLETE


@asynchronous
async def test_a_late_page_that_fails_fails_the_whole(scene: Scene, sqlite_book: Book) -> None:
    pull = crowd(scene.repo, Crowd(inline=130, reviews=2, talk=0))
    async with at_work(sqlite_book, Scene(**{**vars(scene), "pull": pull}), seconds=2.0) as desk:
        await desk.ask()
        desk.answers.collector.reader.forget()
        scene.double.faults.next("GET", "/pulls/2/comments.*page=2", status=502, times=999)
        await desk.react()
        assert desk.failure().reason is Failure.GITHUB_UNAVAILABLE


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        (lambda scene: scene.pull.close("alice"), Failure.CLOSED),
        (lambda scene: scene.pull.draft(), Failure.DRAFT),
        (lambda scene: scene.repo.delete_branch("feature"), Failure.CLOSED),
    ],
)
@asynchronous
async def test_inv_12_what_cannot_be_fixed_as_it_stands_is_not_collected(
    deed: Spoil, reason: Failure, scene: Scene, sqlite_book: Book
) -> None:
    rejected(scene)
    async with at_work(sqlite_book, scene) as desk:
        await desk.ask()
        deed(scene)
        await desk.react()
        assert not any(isinstance(event.fact, CommentsFetched) for event in sqlite_book.events())
        assert desk.loop.cycle is None
