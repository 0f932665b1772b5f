"""Paths that a human is asked about: the question says how to allow them, and afterwards the fix goes through."""

from pathlib import Path

import pytest

from amends.common.answers import Report
from amends.common.events import Author, CommandGiven, Escalated, FixPushed, Judgement
from amends.common.identity import About
from amends.common.policy import Overrides
from amends.doubles.github.control.pulls import Inline
from amends.doubles.model import ModelDouble
from amends.evaluator.batch import Said
from tests.stories.test_fix import Team, team
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fixing import edits, reports, suggests, triages
from tests.support.github import Scene

MANIFEST = "[project]\nname = 'x'\nversion = '1'\n"


@pytest.fixture
def asked(scene: Scene) -> Scene:
    """Bob suggests another version."""
    scene.pull.push({"pyproject.toml": MANIFEST, ".github/workflows/ci.yml": "a\nb\n"})
    inline: Inline = {"path": "pyproject.toml", "line": 3, "body": suggests("version = '2'")}
    scene.pull.review("bob", "changes_requested", "", [inline])
    return scene


def retry(all_: Team, book: Book) -> None:
    said = CommandGiven(id=f"retry-{len(book.rows())}", name="retry", author=Author(id=0, login="op", kind="token"))
    book.record(Said("cli", Report(fact=said, about=About(loop=all_.crew.loop))))


@asynchronous
async def test_inv_27_what_is_asked_about_is_a_question_and_once_allowed_it_is_pushed(
    sqlite_book: Book, asked: Scene, tmp_path: Path
) -> None:
    async with team(sqlite_book, asked, tmp_path, None) as all_:
        await all_.cycle()
        assert (all_.crew.last(Escalated).reason, all_.crew.count(FixPushed)) == ("question", 0)
        [verdict] = [one for one in all_.finished.verdicts if one.judgement is Judgement.NEEDS_HUMAN]
        assert "`allowed_paths`" in verdict.reason
        all_.bench.desk.rules(Overrides(allowed_paths=("pyproject.toml",)))
        retry(all_, sqlite_book)
        await all_.cycle()
        assert all_.read("pyproject.toml") == MANIFEST.replace("'1'", "'2'")
        assert all_.finished.outcome == "pushed"


@asynchronous
async def test_inv_27_what_nobody_may_touch_is_not_allowed_by_a_pattern(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    scene.pull.push({".github/workflows/ci.yml": "a\nb\n"})
    scene.pull.review(
        "bob", "changes_requested", "", [{"path": ".github/workflows/ci.yml", "line": 2, "body": suggests("c")}]
    )
    async with team(sqlite_book, scene, tmp_path, None) as all_:
        all_.bench.desk.rules(Overrides(allowed_paths=("**",)))
        await all_.cycle()
        assert (all_.crew.last(Escalated).reason, all_.crew.count(FixPushed)) == ("question", 0)


@asynchronous
async def test_inv_27_what_is_taken_back_before_the_push_is_not_pushed(
    sqlite_book: Book, asked: Scene, tmp_path: Path
) -> None:
    async with team(sqlite_book, asked, tmp_path, None) as all_:
        all_.bench.desk.rules(Overrides(allowed_paths=("pyproject.toml",)))
        event = await all_.bench.collected()
        all_.bench.desk.rules(Overrides(allowed_paths=()))
        await all_.bench.fix(event)
        await all_.crew.publish()
        assert (all_.crew.last(Escalated).reason, all_.crew.count(FixPushed)) == ("policy", 0)
        assert "pyproject.toml" in all_.crew.last(Escalated).detail


@asynchronous
async def test_inv_27_the_agent_may_touch_what_is_allowed(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.push({"pyproject.toml": MANIFEST})
    scene.pull.review("bob", "changes_requested", "", [{"path": "pyproject.toml", "line": 3, "body": "Version 2."}])
    double.says(
        triages(item_1="actionable"), edits("pyproject.toml", "'1'", "'2'"), reports(item_1=("pyproject.toml:3-3",))
    )
    async with team(sqlite_book, scene, tmp_path, double) as all_:
        all_.bench.desk.rules(Overrides(allowed_paths=("*.toml",)))
        await all_.cycle()
        assert all_.read("pyproject.toml") == MANIFEST.replace("'1'", "'2'")
