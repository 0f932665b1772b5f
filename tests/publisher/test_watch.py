"""Whether checks begin for what was pushed: looked at after a while, and a human hears of it if none does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import AnyFact, ChecksFinished, Escalated, FixPushed
from amends.common.standing import Status, status
from tests.support.book import Book
from tests.support.github import Scene
from tests.support.publishing import WHAT, Crew, publishing

SOON = 300


async def pushed(crew: Crew) -> Event:
    await crew.fix({"app.py": WHAT})
    await crew.publish()
    return next(event for event in reversed(crew.book.events()) if isinstance(event.fact, FixPushed))


def watched(book: Book, scene: Scene, folder: Path, before: Callable[[], object]) -> tuple[list[AnyFact], Crew]:
    """Publish, and look when it is time."""

    async def story() -> tuple[list[AnyFact], Crew]:
        async with publishing(book, scene, folder) as crew:
            event = await pushed(crew)
            before()
            return await crew.answer(event), crew

    return asyncio.run(story())


def test_required_checks_that_never_begin_are_a_humans_to_know_once(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    scene.repo.protect(checks=("build", "lint"))
    facts, crew = watched(sqlite_book, scene, tmp_path, lambda: scene.repo.check(scene.pull.head, "lint", None))
    [missing] = [fact for fact in facts if isinstance(fact, ChecksFinished)]
    assert (missing.name, missing.head, missing.conclusion) == ("build", scene.pull.head, "none_started")
    escalated = crew.last(Escalated)
    assert (escalated.reason, escalated.stops) == ("ci_not_started", False)
    assert escalated.detail == f"build did not begin for {scene.pull.head}"
    assert crew.count(Escalated) == 1


def test_what_has_begun_is_no_news_however_it_ends(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    scene.repo.protect(checks=("build",))
    facts, crew = watched(sqlite_book, scene, tmp_path, lambda: scene.repo.check(scene.pull.head, "build", "failure"))
    assert (facts, crew.count(Escalated)) == ([], 0)


@pytest.mark.parametrize(("on_base", "missing"), [(True, ["any"]), (False, [])])
def test_with_nothing_required_the_base_says_whether_anything_should_begin(
    sqlite_book: Book, scene: Scene, tmp_path: Path, on_base: bool, missing: list[str]
) -> None:
    if on_base:
        scene.repo.check(scene.repo.branches["main"], "build", "success")
    facts, _ = watched(sqlite_book, scene, tmp_path, lambda: None)
    assert [fact.name for fact in facts if isinstance(fact, ChecksFinished)] == missing


def test_a_head_that_went_on_is_not_looked_at(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    scene.repo.protect(checks=("build",))
    facts, _ = watched(sqlite_book, scene, tmp_path, lambda: scene.pull.push({"b.py": "b"}, by="alice"))
    assert facts == []


def test_before_it_is_time_it_is_put_off(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> None:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            event = await pushed(crew)
            now = round(scene.double.clock.now().timestamp() * 1_000_000)
            with pytest.raises(Later) as later:
                await crew.answer(event._replace(time=now))
            assert SOON < later.value.delay < 2 * SOON + 30
            assert status(crew.desk.loop, crew.book.policy(crew.desk.loop)) is Status.AWAITING_REVIEW

    asyncio.run(story())


def test_a_forge_that_does_not_let_us_look_is_no_trouble(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    facts, crew = watched(
        sqlite_book, scene, tmp_path, lambda: scene.double.faults.next("GET", "/check-runs", status=403)
    )
    assert (facts, crew.count(Escalated)) == ([], 0)
