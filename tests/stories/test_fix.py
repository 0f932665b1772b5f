"""A rejected review becomes one commit: everybody who takes part, on a GitHub of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amends.common.events import CycleFinished, Escalated, FixPrepared, FixPushed, Judgement, ReviewRequested
from amends.common.github.auth import PUBLISHING
from amends.common.github.client import Client
from amends.doubles.github.control.pulls import Inline
from amends.doubles.model import ModelDouble, Uses, calls
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fetching import RULES
from tests.support.fixing import Bench, edits, fixing, reports, suggests, triages
from tests.support.github import LINES, Scene
from tests.support.publishing import Crew, crew_of

BASE = LINES.replace("line 10\n", "line ten\n")
WIDE = "".join(f"row {n}\n" for n in range(1, 61))


@dataclass
class Team:
    """Everybody who takes part."""

    bench: Bench
    crew: Crew
    scene: Scene

    async def cycle(self) -> None:
        """From what people said to what became of it."""
        await self.bench.fixed()
        await self.crew.publish()

    @property
    def finished(self) -> CycleFinished:
        return self.crew.last(CycleFinished)

    def judged(self) -> list[Judgement]:
        return sorted(one.judgement for one in self.finished.verdicts if not one.item.startswith("review/"))

    def read(self, path: str) -> str:
        content = self.scene.repo.read(path, "feature")
        return "" if content is None else content.decode()


@asynccontextmanager
async def team(
    book: Book, scene: Scene, folder: Path, double: ModelDouble | None, **settings: Any
) -> AsyncIterator[Team]:
    async with (
        fixing(book, scene, folder, double, RULES, **settings) as bench,
        Client(scene.app_settings, PUBLISHING) as client,
    ):
        yield Team(bench, crew_of(bench.desk, client, folder / "publisher"), scene)


def replaced(*changes: tuple[str, str]) -> str:
    text = BASE
    for old, new in changes:
        text = text.replace(f"{old}\n", f"{new}\n", 1)
    return text


@asynchronous
async def test_three_suggestions_and_two_comments_become_one_commit(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    inline: list[Inline] = [
        {"path": "app.py", "line": 8, "body": suggests("line eight")},
        {"path": "app.py", "line": 10, "body": suggests("line 10", "line 10 b")},
        {"path": "app.py", "line": 12, "body": suggests("line twelve")},
        {"path": "app.py", "line": 9, "body": "Write the number as a word."},
        {"path": "app.py", "line": 13, "body": "Drop this line."},
    ]
    scene.pull.review("bob", "changes_requested", "Almost.", inline)
    before = scene.pull.head
    double.says(
        triages(item_1="question", item_2="actionable", item_3="actionable"),
        edits("app.py", "line 9\n", "line nine\n"),
        edits("app.py", "line 13\n", ""),
        calls(Uses("changes")),
        reports(item_1="answered: Thank you.", item_2=("app.py:8-10",), item_3=("app.py:12-13",)),
    )
    async with team(sqlite_book, scene, tmp_path, double) as all_:
        await all_.cycle()
        changes = [("line 8", "line eight"), ("line 9", "line nine"), ("line ten", "line 10\nline 10 b")]
        assert all_.read("app.py") == replaced(*changes, ("line 12", "line twelve")).replace("line 13\n", "")
        assert all_.judged() == [Judgement.FIXED] * 5
        assert all_.finished.outcome == "pushed"
        assert all_.crew.last(FixPushed).sha == scene.pull.head
        assert scene.repo.log("feature")[1].sha == before
        assert len(all_.crew.keys) == 1
        assert [one.login for one in all_.crew.last(ReviewRequested).reviewers] == ["bob"]


@asynchronous
async def test_ten_suggestions_in_five_files_cost_no_model_call(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.push({f"f{n}.py": WIDE for n in range(5)})
    inline: list[Inline] = [
        {"path": f"f{n}.py", "line": line, "body": suggests(f"new {line}")} for n in range(5) for line in (10, 40)
    ]
    scene.pull.review("bob", "changes_requested", "", inline)
    async with team(sqlite_book, scene, tmp_path, double) as all_:
        await all_.cycle()
        assert all_.read("f4.py") == WIDE.replace("row 10\n", "new 10\n").replace("row 40\n", "new 40\n")
        assert all_.judged() == [Judgement.FIXED] * 10
        assert double.asked == []


@asynchronous
async def test_an_impossible_request_ends_in_a_decision_for_a_human(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Ask legal first."}])
    before = scene.pull.head
    double.says(triages(item_1="needs_human"), reports(item_1="needs_human: Has legal agreed?"))
    async with team(sqlite_book, scene, tmp_path, double) as all_:
        await all_.cycle()
        assert all_.crew.last(Escalated).reason == "question"
        assert scene.pull.head == before


@asynchronous
async def test_without_a_sandbox_suggestions_go_on_and_then_a_human_is_asked(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    inline: list[Inline] = [
        {"path": "app.py", "line": 10, "body": suggests("line X")},
        {"path": "app.py", "line": 12, "body": "Shorter."},
    ]
    scene.pull.review("bob", "changes_requested", "", inline)
    walls = {"sandbox": {"bwrap": "/usr/bin/false"}}
    async with team(sqlite_book, scene, tmp_path, double, **walls) as all_:
        await all_.cycle()
        assert all_.read("app.py") == replaced(("line ten", "line X"))
        await all_.bench.fixed()
        assert all_.crew.last(Escalated).reason == "sandbox_unavailable"
    assert double.asked == []


@asynchronous
async def test_without_a_model_suggestions_are_still_taken_over(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": suggests("line X")}])
    async with team(sqlite_book, scene, tmp_path, None) as all_:
        await all_.cycle()
        assert all_.crew.last(FixPrepared).credits[0].login == "bob"
        assert all_.read("app.py") == replaced(("line ten", "line X"))
