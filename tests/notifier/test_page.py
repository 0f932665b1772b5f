"""What the notifier leaves on a pull request: on the double, asserted as what people see."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amends.common.answers import Report
from amends.common.events import Author, CommandGiven, Escalated, Failure, FixFailed, FixRequested, Judgement
from amends.common.identity import About
from amends.common.policy import BudgetOverrides
from amends.evaluator.batch import Said
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.github import Scene
from tests.support.notifying import RULES, at_work
from tests.support.snapshots import assert_as_before

FIXED, ANSWERED, DECLINED, HUMAN = Judgement.FIXED, Judgement.ANSWERED, Judgement.DECLINED, Judgement.NEEDS_HUMAN


@asynchronous
async def test_a_fixed_review_is_answered_and_asked_for_again(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects(lines=(9, 10, 11))
        desk.fixes(FIXED, ANSWERED, DECLINED, FIXED)
        await desk.react()
        assert desk.owed == []
        assert scene.pull.waiting_for == ["bob"]
        assert_as_before("notifier/page_fixed", desk.page())


@asynchronous
async def test_used_up_cycles_are_escalated_once(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        for _ in range(2):
            desk.rejects()
            desk.fixes(FIXED)
            await desk.react()
        desk.rejects()
        await desk.react()
        await desk.hear(Escalated)
        assert sum("A human is needed" in body for body in desk.talk()) == 2  # the comment, and the card's reason
        assert (scene.pull.labels, desk.owed) == (["amends: needs human"], [])
        assert_as_before("notifier/page_escalated", desk.page())


@asynchronous
async def test_a_question_is_asked_in_its_thread(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(HUMAN, ANSWERED)
        await desk.react()
        assert_as_before("notifier/page_question", desk.page())


@asynchronous
async def test_replies_beyond_the_cap_are_in_the_summary_and_questions_never(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects(lines=(8, 9, 10, 11, 12))
        desk.fixes(FIXED, FIXED, FIXED, FIXED, HUMAN)
        await desk.react()
        assert len(desk.replies()) == 3
        assert any("needs your decision" in body for body in desk.replies())
        [summary] = [body for body in desk.talk() if "/finished -->" in body]
        assert summary.count("\n- ") == 3  # two threads and the review itself


@asynchronous
async def test_a_thread_that_is_gone_is_answered_in_the_summary(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        review = desk.rejects(lines=(9, 10))
        desk.fixes(FIXED)
        review.threads[0].root.delete("bob")
        await desk.react()
        assert len(desk.replies()) == 1
        assert desk.owed == []


@asynchronous
async def test_superseded_items_are_not_answered(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(Judgement.SUPERSEDED, FIXED)
        await desk.react()
        assert desk.replies() == []


@asynchronous
async def test_approval_posts_nothing_new_and_marks_it_ready(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        await desk.react()
        before = len(scene.pull.conversation)
        desk.approves()
        await desk.react()
        assert len(scene.pull.conversation) == before
        assert scene.pull.labels == ["amends: ready"]
        assert "**amends: done.**" in desk.card()


@asynchronous
async def test_ready_is_said_and_the_configured_reviewers_are_asked(scene: Scene, sqlite_book: Book) -> None:
    ids = tuple(scene.double.user(login).id for login in ("bob", "carol", "alice"))
    async with at_work(sqlite_book, scene, RULES.model_copy(update={"reviewers": ids})) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        await desk.react()
        desk.commands("ready")
        await desk.react()
        assert sorted(scene.pull.waiting_for) == ["bob", "carol"]
        assert scene.pull.labels == ["amends: ready"]
        assert_as_before("notifier/page_ready", desk.page())


@asynchronous
async def test_a_pause_is_shown_on_the_card_alone(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.commands("pause")
        await desk.react()
        assert [body.splitlines()[1] for body in desk.talk()] == ["**amends: paused.** Cycle 1 of 2."]
        assert (scene.pull.labels, desk.owed) == (["amends: waiting"], [])


@asynchronous
async def test_what_was_told_is_told_after_a_pause_and_not_in_it(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        desk.commands("pause")
        assert len(await desk.react()) == 2
        assert desk.replies() == []
        desk.commands("resume")
        assert await desk.react() == []
        assert (len(desk.replies()), desk.owed) == (1, [])


@asynchronous
async def test_the_start_of_a_cycle_is_shown(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        await desk.hear(FixRequested)
        assert "**amends: collecting feedback.** Cycle 1 of 2." in desk.card()
        assert scene.pull.labels == ["amends: working"]


@asynchronous
async def test_a_start_that_is_heard_of_late_shows_how_it_stands_by_then(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        await desk.hear(FixRequested)
        assert "**amends: waiting for review.** Cycle 1 of 2." in desk.card()
        await desk.react()
        assert (len(desk.talk()), desk.owed) == (3, [])


@asynchronous
async def test_while_fixing_is_off_the_card_does_not_say_that_somebody_works_on_it(
    scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        await desk.hear(FixRequested)
        desk.fails(Failure.MODEL_AUTH)
        await desk.hear(FixFailed)
        assert "**amends: waiting, fixing is off.** Cycle 1 of 2." in desk.card()
        assert scene.pull.labels == ["amends: waiting"]


@asynchronous
async def test_labels_are_made_once_with_their_colour_and_peoples_own_stay(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.label("urgent")
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        await desk.hear(FixRequested)
        desk.fixes(FIXED)
        await desk.react()
    assert sorted(scene.pull.labels) == ["amends: waiting", "urgent"]
    assert {one.name: one.color for one in scene.repo.of.labels if one.name.startswith("amends")} == {
        "amends: working": "1d76db",
        "amends: waiting": "fbca04",
    }


# --- what is left alone --------------------------------------------------------------------------------------------


@asynchronous
async def test_a_closed_pull_request_is_left_alone_but_for_its_card(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        await desk.react()
        before = len(scene.pull.conversation)
        desk.closes()
        await desk.react()
        assert (len(scene.pull.conversation), scene.pull.labels, desk.owed) == (before, [], [])
        assert "the pull request was closed" in desk.card()


@asynchronous
async def test_a_closed_pull_request_without_a_card_gets_none(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.observe()
        desk.closes()
        await desk.react()
        assert (desk.talk(), desk.owed) == ([], [])


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        (lambda scene: scene.pull.close("alice"), "closed"),
        (lambda scene: scene.pull.merge(), "closed"),
        (lambda scene: scene.pull.lock(), "locked"),
        (lambda scene: scene.pull.draft(), "draft"),
        (lambda scene: scene.pull.label("amends: off"), "opted_out"),
    ],
)
@asynchronous
async def test_inv_12_what_became_of_it_since_is_seen_before_anybody_is_told(
    deed: Callable[[Scene], object], reason: str, scene: Scene, sqlite_book: Book
) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        deed(scene)
        await desk.react()
        assert (desk.talk(), desk.replies(), scene.pull.waiting_for, desk.owed) == ([], [], [], [])
        assert set(desk.said()) == {f"github: {reason}"}


@asynchronous
async def test_inv_12_a_pull_request_that_closes_between_two_replies_hears_no_more(
    scene: Scene, sqlite_book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amends.notifier.board._FRESH", 0.0)
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects(lines=(9, 10, 11))
        desk.fixes(FIXED)
        scene.double.faults.next("POST", "/pulls/1/comments", after=lambda: scene.pull.close("alice"))
        await desk.react()
        assert len(desk.replies()) == 1
        assert (desk.talk(), desk.owed) == ([], [])


# --- asking for reviews --------------------------------------------------------------------------------------------


@asynchronous
async def test_somebody_whom_github_refuses_is_mentioned(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects(by="eve")  # who is no collaborator any more
        desk.fixes(FIXED)
        await desk.react()
        [asked] = [body for body in desk.talk() if "/review -->" in body]
        assert "\n- @eve: [what changed since your last review](" in asked
        assert scene.pull.waiting_for == []


@asynchronous
async def test_one_who_is_refused_keeps_no_other_from_being_asked(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects(by="eve")
        desk.rejects(by="carol", lines=(11,))
        desk.fixes(FIXED)
        await desk.react()
        assert scene.pull.waiting_for == ["carol"]


@pytest.mark.parametrize(("takes", "waiting"), [(True, ["robot[bot]"]), (False, [])])
@asynchronous
async def test_a_bot_is_asked_if_it_can_be_and_never_mentioned(
    takes: bool, waiting: list[str], scene: Scene, sqlite_book: Book
) -> None:
    bot = scene.double.bot("robot", reviews_on_request=takes)
    async with at_work(sqlite_book, scene, RULES.model_copy(update={"bots": (bot.id,)})) as desk:
        desk.rejects(by="robot[bot]")
        desk.fixes(FIXED)
        await desk.react()
        assert scene.pull.waiting_for == waiting
        assert not any("@robot" in body for body in desk.talk())


@asynchronous
async def test_nobody_is_asked_when_nothing_changed(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(ANSWERED)
        await desk.react()
        assert (scene.pull.waiting_for, desk.owed) == ([], [])


@asynchronous
async def test_whoever_has_seen_the_fix_already_is_not_asked_again(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        desk.rejects()  # of the new head, before the notifier came to it
        await desk.react()
        assert scene.pull.waiting_for == []
        assert not any("/review -->" in body for body in desk.talk())
        assert desk.owed == []


# --- limits --------------------------------------------------------------------------------------------------------


@asynchronous
async def test_inv_19_beyond_the_comments_of_an_hour_it_waits(scene: Scene, sqlite_book: Book) -> None:
    budget = BudgetOverrides(comments_per_hour=1)
    async with at_work(sqlite_book, scene, RULES.model_copy(update={"budget": budget})) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        [later] = await desk.react()
        assert (later.delay, desk.said()) == (300.0, ["github"])
        sqlite_book.waits(7_300)  # the hour is the loop's own: its clock moves with what happens to it
        await desk.react()
        assert desk.owed == []


@asynchronous
async def test_inv_19_while_everything_is_paused_nobody_is_told(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED)
        pause = CommandGiven(id="req-all", name="pause", author=Author(id=0, login="panel", kind="token"))
        sqlite_book.record(Said("cli", Report(fact=pause, about=About(loop="installation"))))
        await desk.react()
        assert (desk.talk(), desk.replies(), scene.pull.waiting_for) == ([], [], [])
