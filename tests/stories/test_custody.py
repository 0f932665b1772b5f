"""What becomes of a change's own worktree: kept over its cycles, and what is odd about it is on record."""

from dataclasses import replace
from pathlib import Path
from shutil import rmtree

from amends.cli.explain import explained
from amends.common.events import CycleFinished, Escalated, Failure, FixFailed, FixPrepared, FixPushed, Judgement
from amends.common.explain import lines
from amends.common.git.tidying import Tidying
from amends.common.policy import Overrides
from amends.common.settings import Settings
from amends.doubles.github.control.pulls import Inline
from amends.doubles.model import ModelDouble
from amends.fixer.app import tidy
from tests.stories.test_fix import Team, team
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fixing import edits, reports, suggests, triages
from tests.support.github import LINES, Scene


async def worked(all_: Team, double: ModelDouble, line: str) -> None:
    """A cycle in the workspace."""
    number = int(line.split()[1])
    inline: Inline = {"path": "app.py", "line": number, "body": f"Shout {line}."}
    all_.scene.pull.review("bob", "changes_requested", "", [inline])
    double.says(
        triages(item_1="actionable"),
        edits("app.py", line, line.upper()),
        reports(item_1=(f"app.py:{number}-{number}",)),
    )


def account(book: Book, all_: Team) -> str:
    return "\n".join(lines(explained(book.log, all_.crew.loop, None, 50)))


async def after_a_loss(all_: Team, double: ModelDouble, folder: Path) -> FixPrepared | FixFailed:
    """Two cycles; in between somebody removes the workspace."""
    await worked(all_, double, "line 8")
    await all_.cycle()
    rmtree(folder / "fixer/workspaces" / all_.crew.loop)
    await worked(all_, double, "line 12")
    return await all_.bench.fixed()


@asynchronous
async def test_rel_22_a_workspace_that_is_gone_is_made_anew_and_why_is_on_record(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    async with team(sqlite_book, scene, tmp_path, double) as all_:
        fact = await after_a_loss(all_, double, tmp_path)
        assert fact.notes == ("the workspace was gone and has been made anew",)
        assert "the workspace was gone and has been made anew" in account(sqlite_book, all_)
        await all_.crew.publish()
        assert all_.read("app.py").splitlines()[11] == "LINE 12"


@asynchronous
async def test_rel_22_where_the_policy_says_fail_a_human_is_told_what_to_do(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    async with team(sqlite_book, scene, tmp_path, double) as all_:
        all_.bench.desk.rules(Overrides(worktree_missing="fail"))
        fact = await after_a_loss(all_, double, tmp_path)
        assert isinstance(fact, FixFailed)
        assert fact.reason is Failure.WORKSPACE_LOST
        assert (all_.crew.last(Escalated).reason, all_.crew.last(CycleFinished).used) == ("workspace_lost", False)
        assert "put the directory back, or set recreate; then say retry" in account(sqlite_book, all_)
        assert not (tmp_path / "fixer/workspaces" / all_.crew.loop).exists()


@asynchronous
async def test_what_is_too_much_goes_from_the_fixers_disk_and_the_next_cycle_goes_on(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    async with team(sqlite_book, scene, tmp_path, double) as all_:
        await worked(all_, double, "line 8")
        await all_.cycle()
        around = all_.bench.slot.means
        tidying = tidy(Settings(data_dir=tmp_path), around)
        await Tidying("fixer", around.repositories, tuple(replace(one, most=0) for one in tidying.shelves), 1).once()
        assert (around.workspaces.loops(), around.repositories.all()) == ([], {})
        await worked(all_, double, "line 12")
        await all_.cycle()
        assert all_.read("app.py").splitlines()[11] == "LINE 12"
        assert [f"refs/amends/pull/{scene.pull.number}/"] == tidying.kept(scene.repo.id)


@asynchronous
async def test_a_reviewer_who_only_finds_fault_with_our_own_lines_is_a_humans_matter(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    ours = [f"new {number}" for number in range(1, 5)]
    first: list[Inline] = [{"path": "app.py", "line": 10, "body": suggests(*ours)}]
    again: list[Inline] = [{"path": "app.py", "line": line, "body": suggests("x")} for line in (10, 11, 12)]
    async with team(sqlite_book, scene, tmp_path, None) as all_:
        scene.pull.review("bob", "changes_requested", "", first)
        await all_.cycle()
        assert all_.crew.last(FixPushed).wrote == ("app.py:10-13",)
        scene.pull.review("bob", "changes_requested", "", again)
        fetched = await all_.bench.desk.cycle()
        assert [one.ours for one in fetched.items if one.kind == "thread"] == [False, True, True, True]
        assert all_.crew.last(Escalated).reason == "chasing_itself"


@asynchronous
async def test_a_suggestion_that_its_author_made_himself_is_answered_without_a_model_or_a_push(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    async with team(sqlite_book, scene, tmp_path, None) as all_:
        scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": suggests("line X")}])
        mine = scene.pull.push({"app.py": LINES.replace("line 10\n", "line X\n"), "more.py": "x\n"}, by="alice")
        await all_.cycle()
        assert (all_.finished.outcome, all_.judged()) == ("answered", [Judgement.ANSWERED])
        assert (scene.pull.head, all_.crew.keys) == (mine, [])
