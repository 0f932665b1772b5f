"""From a rejected review to a change set with verdicts: suggestions without a model, the agent for the rest."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from amends.common.answers import Report
from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import AnyFact, CommentsFetched, Failure, FixFailed, FixPrepared, FixStarted, Judgement
from amends.common.identity import About
from amends.doubles.github.control.pulls import Inline
from amends.doubles.model import ModelDouble
from amends.evaluator.batch import Said
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


@pytest.fixture
def rejected(scene: Scene) -> Scene:
    inline: list[Inline] = [{"path": "app.py", "line": 10, "body": suggests("line X")}]
    scene.pull.review("bob", "changes_requested", "", inline)
    return scene


def claimed(event: Event, holder: str, run: str) -> Said:
    fetched = event.fact
    assert isinstance(fetched, CommentsFetched)
    claim = FixStarted(n=fetched.n, k=fetched.k, holder=holder, run=run)
    return Said("fixer", Report(fact=claim, about=About(loop=event.loop)))


def reason(said: list[AnyFact]) -> Failure | None:
    return said[-1].reason if said and isinstance(said[-1], FixFailed) else None


@asynchronous
async def test_the_claim_comes_before_anything_that_costs(sqlite_book: Book, rejected: Scene, tmp_path: Path) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        before = len(rejected.double.requests.entries)
        bench.book.record(claimed(event, "somebody/1", "his-run"))
        with pytest.raises(Later, match="somebody/1 works on it") as put_off:
            await bench.slot.fix(event)
        assert put_off.value.delay <= 5  # who holds it died, or nobody else was asked; he may be back at once
        assert len(rejected.double.requests.entries) == before
        assert not (tmp_path / "fixer").exists()


@asynchronous
async def test_rel_04_a_fixer_that_died_over_it_says_so_when_it_is_back(
    sqlite_book: Book, rejected: Scene, tmp_path: Path
) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        bench.book.record(claimed(event, bench.slot.holder, "an-earlier-run"))
        assert reason(await bench.fix(event)) is Failure.CRASHED
        again = await bench.fix(await bench.collected())
        assert isinstance(again[-1], FixPrepared)
        assert again[-1].k == 2


@asynchronous
async def test_rel_04_what_an_earlier_life_held_in_another_slot_comes_to_any_slot(
    sqlite_book: Book, rejected: Scene, tmp_path: Path
) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        bench.book.record(claimed(event, "fixer/1", "an-earlier-run"))
        slot = replace(bench.slot, beside=("fixer/1",))
        assert reason(list(await slot.fix(event))) is Failure.CRASHED


@asynchronous
async def test_what_another_slot_of_this_life_works_on_is_left_to_it(
    sqlite_book: Book, rejected: Scene, tmp_path: Path
) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        bench.book.record(claimed(event, "fixer/1", bench.slot.run))
        with pytest.raises(Later, match="fixer/1 works on it"):
            await replace(bench.slot, beside=("fixer/1",)).fix(event)


@asynchronous
async def test_an_attempt_that_failed_in_our_hands_is_not_begun_again(
    sqlite_book: Book, rejected: Scene, tmp_path: Path
) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        (tmp_path / "fixer").write_text("no directory")
        with pytest.raises(OSError, match="fixer"):
            await bench.slot.fix(event)
        assert reason(await bench.fix(event)) is Failure.CRASHED


@asynchronous
async def test_rel_04_what_was_recorded_before_the_crash_stays_and_nothing_is_added(
    sqlite_book: Book, rejected: Scene, tmp_path: Path
) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        await bench.fix(event)
        before = len(bench.book.rows())
        await bench.again().fix(event)
        assert len(bench.book.rows()) == before


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (lambda scene: scene.pull.close("alice"), Failure.CLOSED),
        (lambda scene: scene.pull.draft(), Failure.DRAFT),
        (lambda scene: scene.pull.push({"app.py": "new"}), Failure.MOVED),
        (lambda scene: scene.installation.suspend(), Failure.ACCESS_LOST),
    ],
)
@asynchronous
async def test_rel_19_what_happened_meanwhile_is_seen_before_the_work(
    sqlite_book: Book, rejected: Scene, tmp_path: Path, happens: Callable[[Scene], None], why: Failure
) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        happens(rejected)
        assert reason(await bench.fix(event)) is why


@asynchronous
async def test_an_outage_of_github_is_no_failure_of_the_fix(sqlite_book: Book, rejected: Scene, tmp_path: Path) -> None:
    async with fixing(sqlite_book, rejected, tmp_path, None) as bench:
        event = await bench.collected()
        for _ in range(9):
            rejected.double.faults.next("GET", "/pulls", status=502)
        assert reason(await bench.fix(event)) is Failure.GITHUB_UNAVAILABLE


@asynchronous
async def test_a_suggestion_for_a_protected_file_is_handed_to_a_human(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    scene.pull.push({".github/workflows/ci.yml": "a\nb\nc\n"})
    where: list[Inline] = [
        {"path": ".github/workflows/ci.yml", "line": 2, "body": suggests("x")},
        {"path": "app.py", "line": 10, "body": suggests("line X")},
    ]
    scene.pull.review("bob", "changes_requested", "", where)
    async with fixing(sqlite_book, scene, tmp_path, None) as bench:
        fact = await bench.fixed()
    assert isinstance(fact, FixPrepared)
    assert [one.path for one in fact.changes] == ["app.py"]
    assert sorted(one.judgement for one in fact.verdicts if one.item.startswith("thread")) == ["fixed", "needs_human"]


@asynchronous
async def test_a_rejection_without_a_word_is_a_question_to_a_human(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    scene.pull.review("bob", "changes_requested", "<!-- nothing that is seen -->")
    async with fixing(sqlite_book, scene, tmp_path, None) as bench:
        assert judgements(await bench.fixed()) == {"review": Judgement.NEEDS_HUMAN}


@asynchronous
async def test_words_beside_a_suggestion_are_read_and_the_suggestion_stays(
    sqlite_book: Book, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    body = f"Also drop the next line.\n{suggests('line X')}"
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": body}])
    double.says(triages(item_1="question"), reports(item_1="declined: The next line is needed."))
    async with fixing(sqlite_book, scene, tmp_path, double) as bench:
        fact = await bench.fixed()
    assert bench.files(fact) == {"app.py": CHANGED.replace("line ten\n", "line X\n").encode()}
    assert judgements(fact)["thread"] is Judgement.FIXED
    assert "its suggestion is applied already" in double.asked[0].words
