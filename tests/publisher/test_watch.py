"""Whether checks begin for what was pushed: looked at after a while, and a human hears of it if none does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from amends.common.events import ChecksCounted, ChecksRequested, Escalated
from amends.common.standing import SECOND, Status, status, timers
from tests.support.book import Book
from tests.support.github import Scene
from tests.support.publishing import WHAT, Crew, publishing

SOON = 600  # seconds that checks have, by default


async def pushed(crew: Crew) -> None:
    """The push, and all that is to be said about its threads."""
    await crew.fix({"app.py": WHAT})
    await crew.publish()
    await crew.resolve()


def watched(book: Book, scene: Scene, folder: Path, before: Callable[[], object]) -> tuple[tuple[str, ...], Crew]:
    """Publish, and look when it is time: which checks are missing."""

    async def story() -> tuple[tuple[str, ...], Crew]:
        async with publishing(book, scene, folder) as crew:
            await pushed(crew)
            before()
            book.waits(SOON)
            [answer] = await crew.work_off(ChecksRequested)
            assert isinstance(answer, ChecksCounted)
            assert book.log.outstanding("publisher") == []
            return answer.missing, crew

    return asyncio.run(story())


def test_required_checks_that_never_begin_are_a_humans_to_know_once(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    scene.repo.protect(checks=("build", "lint"))
    missing, crew = watched(sqlite_book, scene, tmp_path, lambda: scene.repo.check(scene.pull.head, "lint", None))
    assert missing == ("build",)
    escalated = crew.last(Escalated)
    assert (escalated.reason, escalated.stops) == ("ci_not_started", False)
    assert escalated.detail == f"build did not begin for {scene.pull.head}"
    assert crew.count(Escalated) == 1


def test_what_has_begun_is_no_news_however_it_ends(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    scene.repo.protect(checks=("build",))
    missing, crew = watched(sqlite_book, scene, tmp_path, lambda: scene.repo.check(scene.pull.head, "build", "failure"))
    assert (missing, crew.count(Escalated)) == ((), 0)


@pytest.mark.parametrize(("on_base", "missing"), [(True, ("any",)), (False, ())])
def test_with_nothing_required_the_base_says_whether_anything_should_begin(
    sqlite_book: Book, scene: Scene, tmp_path: Path, on_base: bool, missing: tuple[str, ...]
) -> None:
    if on_base:
        scene.repo.check(scene.repo.branches["main"], "build", "success")
    found, _ = watched(sqlite_book, scene, tmp_path, lambda: None)
    assert found == missing


def test_a_head_that_went_on_is_not_looked_at(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    scene.repo.protect(checks=("build",))
    found, _ = watched(sqlite_book, scene, tmp_path, lambda: scene.pull.push({"b.py": "b"}, by="alice"))
    assert found == ()


def test_before_it_is_time_nobody_is_asked_and_nothing_waits(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> None:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await pushed(crew)
            assert sqlite_book.log.outstanding("publisher") == []
            loop, policy = crew.desk.loop, sqlite_book.policy(crew.desk.loop)
            [due] = [timer.due for timer in timers(loop, policy) if timer.name.startswith("ci/")]
            assert due >= sqlite_book.now + (SOON - 30) * SECOND
            assert status(loop, policy) is Status.AWAITING_REVIEW

    asyncio.run(story())


def test_a_forge_that_does_not_let_us_look_is_no_trouble(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    missing, crew = watched(
        sqlite_book, scene, tmp_path, lambda: scene.double.faults.next("GET", "/check-runs", status=403)
    )
    assert (missing, crew.count(Escalated)) == ((), 0)
