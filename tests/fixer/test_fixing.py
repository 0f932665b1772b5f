"""From a rejected review to a change set with verdicts: suggestions without a model, the agent for the rest."""

from pathlib import Path

from amends.common.events import FixFailed, FixPrepared, Judgement
from amends.doubles.github.control.pulls import Inline
from amends.doubles.model import ModelDouble
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fixing import edits, fixing, reports, suggests, triages
from tests.support.github import LINES, Scene

CHANGED = LINES.replace("line 10\n", "line ten\n")


def judgements(fact: FixPrepared | FixFailed) -> dict[str, Judgement]:
    assert isinstance(fact, FixPrepared), fact
    return {one.item.partition("/")[0]: one.judgement for one in fact.verdicts}


@asynchronous
async def test_suggestions_need_no_model_and_no_sandbox(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    inline: list[Inline] = [{"path": "app.py", "line": 10, "body": suggests("line X")}]
    scene.pull.review("bob", "changes_requested", "", inline)
    async with fixing(sqlite_book, scene, tmp_path, None) as bench:
        fact = await bench.fixed()
    assert bench.files(fact) == {"app.py": CHANGED.replace("line ten\n", "line X\n").encode()}
    assert judgements(fact) == {"thread": Judgement.FIXED, "review": Judgement.ANSWERED}
    assert not (tmp_path / "fixer/workspaces").exists()


@asynchronous
async def test_prose_is_worked_on_by_the_agent(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    inline: list[Inline] = [{"path": "app.py", "line": 10, "body": "Please write it in capitals."}]
    scene.pull.review("bob", "changes_requested", "", inline)
    double.says(
        triages(item_1="actionable"),
        edits("app.py", "line ten", "LINE TEN"),
        reports(item_1=("app.py:10-10",)),
    )
    async with fixing(sqlite_book, scene, tmp_path, double) as bench:
        fact = await bench.fixed()
    assert bench.files(fact) == {"app.py": CHANGED.replace("line ten\n", "LINE TEN\n").encode()}
    assert judgements(fact)["thread"] is Judgement.FIXED
