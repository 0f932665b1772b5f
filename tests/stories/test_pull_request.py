"""The stories of ../shared/requirements on a whole pull request: people, a GitHub, and everybody of ours at work.

What is only decided, with nobody doing anything, is in test_requirements.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amends.common.answers import Report
from amends.common.delivery import Later
from amends.common.events import (
    CommandAccepted,
    CommentsFailed,
    CommentsFetched,
    CycleFinished,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixStarted,
    Judgement,
    ResolveFinished,
    ResolveRequested,
)
from amends.common.identity import About
from amends.common.loop import OUTAGES, needs_human
from amends.common.policy import BudgetOverrides
from amends.common.sections import Fetcher
from amends.common.standing import Status
from amends.doubles.github.control.pulls import Inline
from amends.doubles.model import ModelDouble, Says
from amends.evaluator.batch import Said
from amends.fixer.fixing import Slot
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fixing import edits, reports, suggests, triages
from tests.support.github import Scene
from tests.support.stage import RULES, Stage, stage

SHOULD_BE = "line number {}"


def rejects(scene: Scene, line: int = 10, by: str = "bob", words: str = "") -> None:
    """A rejection whose only comment is a suggestion: it needs no model."""
    body = suggests(words or SHOULD_BE.format(line))
    scene.pull.review(by, "changes_requested", "", [{"path": "app.py", "line": line, "body": body}])


def approves(scene: Scene, by: str = "bob") -> None:
    scene.pull.review(by, "approved", "")


async def used_up(all_: Stage) -> None:
    """Both cycles are used, and bob is still not content."""
    for line in (8, 12, 14):
        rejects(all_.scene, line)
        await all_.goes()


# --- round and round -------------------------------------------------------------------------------------------------


@asynchronous
async def test_rejected_fixed_asked_again_approved_and_done(scene: Scene, sqlite_book: Book, tmp_path: Path) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene)
        await all_.goes()
        assert SHOULD_BE.format(10) in all_.read("app.py")
        assert (scene.pull.waiting_for, scene.pull.labels) == (["bob"], ["amends: waiting"])
        assert (scene.pull.threads[0].resolved, all_.said("Fixed in ")) == (True, 1)
        approves(scene)
        await all_.goes()
        assert (all_.loop.finished, scene.pull.labels) == ("approved", ["amends: ready"])


@asynchronous
async def test_threads_that_the_publisher_lost_sight_of_are_asked_for_again_and_resolved_after_all(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene)
        for step in (all_.looks, all_.collects, all_.fixes, all_.crew.publish):
            await step()
        sqlite_book.waits(3_600)  # what it had in hand went with its process, or with NATS
        assert not scene.pull.threads[0].resolved
        [owed] = all_.crew.owed(ResolveRequested)
        assert owed.key == "cycle/1/resolve/again/1"
        await all_.goes()
        assert (scene.pull.threads[0].resolved, all_.crew.owed(ResolveRequested)) == (True, [])
        assert len(all_.all(ResolveFinished)) == 1


@asynchronous
async def test_approved_by_bots_alone_it_is_ready_for_a_human_who_is_asked(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    robot, bob = scene.double.bot("robot"), scene.double.user("bob")
    scene.repo.collaborator("robot[bot]", "write")
    rules = RULES.model_copy(update={"bots": (robot.id,), "reviewers": (bob.id,)})
    async with stage(sqlite_book, scene, tmp_path, rules=rules) as all_:
        rejects(scene, by="robot[bot]")
        await all_.goes()
        approves(scene, "robot[bot]")
        await all_.goes()
        assert (all_.loop.finished, all_.said("Ready for human review")) == ("ready", 1)
        assert "bob" in scene.pull.waiting_for


@asynchronous
async def test_an_approval_starts_nothing(scene: Scene, sqlite_book: Book, tmp_path: Path) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        before = scene.pull.head
        scene.pull.comment("bob", suggests("line X"), path="app.py", line=8)
        approves(scene)
        await all_.goes()
        assert (all_.runs(), scene.pull.head, all_.loop.finished) == (0, before, "approved")


@asynchronous
async def test_two_cycles_used_up_are_escalated_exactly_once_and_a_human_is_required(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        await used_up(all_)
        scene.pull.say("bob", "And?")
        rejects(scene, 9)
        await all_.goes()
        assert (all_.escalations(), all_.said("**A human is needed** (max\\_cycles)")) == (["max_cycles"], 1)
        assert needs_human(all_.loop)
        assert (len(all_.all(FixPushed)), scene.pull.labels) == (2, ["amends: needs human"])


@asynchronous
async def test_of_a_used_up_loop_retry_grants_one_more_cycle(scene: Scene, sqlite_book: Book, tmp_path: Path) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        await used_up(all_)
        scene.pull.say("bob", "/amends retry")
        await all_.goes()
        assert (len(all_.all(FixPushed)), all_.loop.used, all_.loop.granted) == (3, 3, 1)
        rejects(scene, 9)
        await all_.goes()
        assert all_.escalations() == ["max_cycles"] * 2


@asynchronous
async def test_of_a_used_up_loop_reset_starts_the_count_over(scene: Scene, sqlite_book: Book, tmp_path: Path) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        await used_up(all_)
        scene.pull.say("bob", "/amends reset")
        await all_.goes()
        rejects(scene, 9)
        await all_.goes()
        assert (len(all_.all(FixPushed)), all_.loop.used, all_.escalations()) == (4, 2, ["max_cycles"])


@asynchronous
async def test_of_a_used_up_loop_accept_ends_it_as_it_is(scene: Scene, sqlite_book: Book, tmp_path: Path) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        await used_up(all_)
        scene.pull.say("bob", "/amends accept")
        await all_.goes()
        assert (all_.loop.finished, len(all_.all(FixPushed)), all_.status) == ("accepted", 2, Status.DONE)


@asynchronous
async def test_a_human_resolves_it_himself_and_the_loop_ends_with_his_approval(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        await used_up(all_)
        scene.pull.push({"app.py": all_.read("app.py").replace("line 14", "by hand")}, by="alice")
        for thread in scene.pull.threads:
            thread.resolve("alice")
        approves(scene)
        await all_.goes()
        assert (all_.loop.finished, "by hand" in all_.read("app.py")) == ("approved", True)


# --- who is heard ----------------------------------------------------------------------------------------------------


@asynchronous
async def test_only_the_reviewers_who_are_allowed_start_a_fix(scene: Scene, sqlite_book: Book, tmp_path: Path) -> None:
    carol = scene.double.user("carol")
    async with stage(sqlite_book, scene, tmp_path, rules=RULES.model_copy(update={"reviewers": (carol.id,)})) as all_:
        rejects(scene, 8, "bob")
        rejects(scene, 9, "rita")
        await all_.goes()
        assert (all_.runs(), all_.ours()) == (0, [])
        rejects(scene, 12, "carol")
        await all_.goes()
        assert "line 8\n" in all_.read("app.py")
        assert SHOULD_BE.format(12) in all_.read("app.py")


@asynchronous
async def test_a_comment_counts_only_where_comments_trigger_and_a_human_may_trigger_it_by_hand(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        scene.pull.comment("bob", suggests("line X"), path="app.py", line=8)
        await all_.goes()
        assert all_.runs() == 0
        said = scene.pull.say("carol", "/amends fix")
        await all_.goes()
        assert (all_.last(CommandAccepted).name, "line X" in all_.read("app.py")) == ("fix", True)
        assert said.reactions == [("amends[bot]", "rocket")]


# --- what the agent is told ------------------------------------------------------------------------------------------


@asynchronous
async def test_the_agent_gets_the_summary_the_comments_with_path_and_line_the_spec_and_the_custom_prompt(
    scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.push({"docs/spec.md": "unused\n", ".specify/spec.md": "Totals are decimals.\n"}, by="alice")
    inline: list[Inline] = [{"path": "app.py", "line": 12, "body": "Say it in words."}]
    scene.pull.review("bob", "changes_requested", "Almost: the numbers.", inline)
    double.says(
        triages(item_1="question", item_2="actionable"), edits("app.py", "line 12\n", "line twelve\n"),
        Says(("changes next",)), reports(item_1="answered: Done below.", item_2=("app.py:12-12",)),
    )  # fmt: skip
    rules = RULES.model_copy(update={"custom_prompt": "Prefer small changes."})
    async with stage(sqlite_book, scene, tmp_path, double, rules) as all_:
        await all_.goes()
    told = str(double.asked[0].messages)
    for words in ("Almost: the numbers.", "Say it in words.", "app.py (lines 12 to 12)", "Totals are decimals."):
        assert words in told
    assert "Prefer small changes." in told


# --- what happens meanwhile ------------------------------------------------------------------------------------------


@asynchronous
async def test_a_comment_during_a_fix_is_not_lost_and_has_its_turn_in_the_next_cycle(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene, 8)
        await all_.looks()
        await all_.collects()
        scene.pull.comment("bob", suggests("line twelve"), path="app.py", line=12)
        await all_.goes()
        cycles = [one.n for one in all_.all(CycleFinished) if one.outcome == "pushed"]
        assert (cycles, "line twelve" in all_.read("app.py")) == ([1, 2], True)
        assert all(thread.resolved for thread in scene.pull.threads)


STEPS = ("looks", "collects", "fixes", "pushes", "tells")


async def up_to(all_: Stage, step: str) -> None:
    """All steps as far as this one, which is still to come."""
    for name in STEPS[: STEPS.index(step)]:
        await getattr(all_, name)()


@pytest.mark.parametrize("step", STEPS)
@asynchronous
async def test_a_pause_stops_every_step_before_it_has_an_effect_and_resume_goes_on_to_the_same_end(
    step: str, scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene)
        await up_to(all_, step)
        all_.commands("pause")
        head, words = scene.pull.head, len([body for body in all_.ours() if "/card" not in body])
        await all_.goes()
        assert (scene.pull.head, len([body for body in all_.ours() if "/card" not in body])) == (head, words)
        assert all_.status is Status.PAUSED
        all_.commands("resume")
        await all_.goes()
        assert (SHOULD_BE.format(10) in all_.read("app.py"), scene.pull.waiting_for) == (True, ["bob"])
        assert (len(all_.all(FixPushed)), all_.loop.used, all_.said("Fixed in ")) == (1, 1, 1)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("deed", [lambda pull: pull.close("alice"), lambda pull: pull.draft()], ids=["closed", "draft"])
@asynchronous
async def test_a_pull_request_that_is_closed_or_made_a_draft_is_left_alone_from_that_step_on(
    deed: Callable[[Any], object], step: str, scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene)
        await up_to(all_, step)
        deed(scene.pull)
        head = scene.pull.head
        await all_.goes()
        assert (scene.pull.head, all_.ours(), scene.pull.waiting_for) == (head, [], [])
        assert scene.pull.labels == []


@asynchronous
async def test_looking_again_and_hearing_everything_again_changes_nothing(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene)
        await all_.goes()
        head, words, events = scene.pull.head, sorted(all_.ours()), len(sqlite_book.rows())
        all_.told = 0
        for event in sqlite_book.events():
            if event.type in {"comments.fetched", "push.requested", "fix.requested"}:
                await all_.bench.slot.fix(event)
                await all_.crew.answers.answer(event)
        await all_.goes()
        assert (scene.pull.head, sorted(all_.ours()), len(sqlite_book.rows())) == (head, words, events)


# --- bounds ----------------------------------------------------------------------------------------------------------


@asynchronous
async def test_the_workspace_is_the_same_in_every_cycle(
    scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    async with stage(sqlite_book, scene, tmp_path, double) as all_:
        for line in (8, 12):
            scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": line, "body": "In words."}])
            double.says(
                triages(item_1="actionable"), edits("app.py", f"line {line}\n", f"words {line}\n"),
                reports(item_1=(f"app.py:{line}-{line}",)),
            )  # fmt: skip
            await all_.goes()
        assert len(all_.all(FixPushed)) == 2
        [first, second] = [one.workspace for one in all_.all(FixStarted)]
        assert first == second
        assert Path(first).is_dir()


@asynchronous
async def test_collecting_ends_after_30_seconds_unless_told_otherwise_and_is_tried_again(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    assert Fetcher().collect_seconds <= 30
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene)
        await all_.looks()
        all_.bench.desk.answers.collector.seconds = 0.3
        scene.double.faults.next("GRAPHQL", status=502, times=99)
        await all_.collects()
        assert (all_.last(CommentsFailed).reason in OUTAGES, all_.all(CommentsFetched)) == (True, [])
        scene.double.faults.clear()
        all_.bench.desk.answers.collector.seconds = 5.0
        sqlite_book.waits(120)
        await all_.goes()
        assert (len(all_.all(FixPushed)), all_.loop.used) == (1, 1)


@asynchronous
async def test_an_agent_whose_time_is_up_is_stopped_and_a_human_asked(
    scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 12, "body": "Think hard."}])
    double.says(Says(("Hm.",), seconds=30.0))
    rules = RULES.model_copy(update={"budget": BudgetOverrides(agent_seconds=1)})
    async with stage(sqlite_book, scene, tmp_path, double, rules) as all_:
        head = scene.pull.head
        await all_.goes()
        assert (all_.last(FixFailed).reason, all_.escalations(), scene.pull.head) == ("limits", ["limits"], head)


@asynchronous
async def test_two_fixers_that_hear_of_one_cycle_make_one_fix(scene: Scene, sqlite_book: Book, tmp_path: Path) -> None:
    async with stage(sqlite_book, scene, tmp_path) as all_:
        rejects(scene)
        event = await all_.bench.collected()
        claim = FixStarted(n=1, k=1, holder="fixer/0", run="run-1")
        sqlite_book.record(Said("fixer", Report(fact=claim, about=About(loop=event.loop))))
        with pytest.raises(Later):
            await Slot(all_.bench.slot.means, "fixer/1", "run-2").fix(event)
        assert (len(all_.all(FixStarted)), all_.all(FixPrepared)) == (1, [])
        await all_.goes()
        assert (len(all_.all(FixPrepared)), len(all_.all(FixPushed))) == (1, 1)


@asynchronous
async def test_the_installation_works_on_no_more_pull_requests_at_once_than_its_cap(
    scene: Scene, sqlite_book: Book, tmp_path: Path
) -> None:
    async with stage(sqlite_book, scene, tmp_path, rules=RULES.model_copy(update={"max_fixers": 0})) as all_:
        rejects(scene)
        await all_.looks()
        await all_.collects()
        await all_.fixes()
        assert all_.all(FixStarted) == []
        all_.rules(max_fixers=1)
        await all_.goes()
        assert len(all_.all(FixPushed)) == 1


# --- questions -------------------------------------------------------------------------------------------------------

QUESTION = "Which one?\n1. keep the number\n2. write it as a word"


@asynchronous
async def test_a_question_about_a_review_is_answered_by_a_plain_comment_and_both_reach_the_agent(
    scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.review("bob", "changes_requested", "Numbers or words in line 12?")
    double.says(triages(item_1="needs_human"), reports(item_1=f"needs_human: {QUESTION}"))
    async with stage(sqlite_book, scene, tmp_path, double) as all_:
        await all_.goes()
        assert (all_.status, all_.escalations()) == (Status.NEEDS_HUMAN, ["question"])
        assert all_.said("What needs a decision is answered by a comment below.") == 1
        scene.pull.say("alice", "2")
        double.says(
            triages(item_1="actionable", item_2="actionable"), edits("app.py", "line 12\n", "line twelve\n"),
            reports(item_1=("app.py:12-12",), item_2=("app.py:12-12",)),
        )  # fmt: skip
        await all_.goes()
        told = str(double.asked[2].messages)
        assert "1. keep the number" in told
        assert "alice: 2" in told
        assert re.search(
            r"The answer is in item-[12]\.", told
        )  # which is older, when both are of one second, their ids say
        assert ("line twelve" in all_.read("app.py"), all_.loop.used, all_.status) == (True, 2, Status.AWAITING_REVIEW)


@asynchronous
async def test_a_plain_comment_is_no_answer_when_nothing_was_asked_or_a_stranger_or_a_bot_says_it(
    scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    robot = scene.double.bot("robot")
    scene.pull.say("alice", "said before")
    scene.pull.review("bob", "changes_requested", "Numbers or words?")
    double.says(
        triages(item_1="question", item_2="needs_human"),
        reports(item_1="answered: I see.", item_2=f"needs_human: {QUESTION}"),
    )
    async with stage(sqlite_book, scene, tmp_path, double, RULES.model_copy(update={"bots": (robot.id,)})) as all_:
        await all_.goes()
        scene.pull.say("rita", "1")
        scene.pull.say("robot[bot]", "coverage is 1 %")
        await all_.goes()
        assert (all_.status, all_.loop.used, len(double.asked)) == (Status.NEEDS_HUMAN, 1, 2)


def contradicted(scene: Scene) -> None:
    for by, line, words in (("bob", 8, "Spell numbers out."), ("carol", 12, "Use digits everywhere.")):
        scene.pull.review(by, "changes_requested", "", [{"path": "app.py", "line": line, "body": words}])


def opposite(double: ModelDouble) -> None:
    said = reports(item_1=f"needs_human: {QUESTION}", item_2="needs_human: see the other")
    one_decision(said)
    double.says(triages(item_1="needs_human", item_2="needs_human"), said)


def hopeless(double: ModelDouble) -> None:
    said = triages(item_1="needs_human", item_2="needs_human")
    one_decision(said)["overall"] = "blocked"
    double.says(said)


def one_decision(said: Says) -> Any:
    [given] = [block.given for block in said.blocks if not isinstance(block, str)]
    given["items"][0] |= {"beside": ["item-2"], "reason": QUESTION}
    return given


@pytest.mark.parametrize("model", [opposite, hopeless], ids=["in the report", "at once"])
@asynchronous
async def test_reviewers_who_contradict_each_other_get_one_decision_card_in_both_threads(
    model: Callable[[ModelDouble], None], scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    contradicted(scene)
    model(double)
    async with stage(sqlite_book, scene, tmp_path, double) as all_:
        await all_.goes()
        [one, other] = [thread.bodies[-1].partition("\n")[2] for thread in scene.pull.threads]
        assert one == other
        assert "These ask for different things, and one decision settles them" in one
        assert "1. keep the number" in one
        assert (all_.escalations(), all_.status) == (["question"], Status.NEEDS_HUMAN)


@pytest.mark.parametrize("said", [(0, "1"), (1, "2"), (0, "Words, please.")], ids=["first", "second", "in words"])
@asynchronous
async def test_one_answer_in_either_thread_settles_both(
    said: tuple[int, str], scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    contradicted(scene)
    opposite(double)
    async with stage(sqlite_book, scene, tmp_path, double) as all_:
        await all_.goes()
        scene.pull.threads[said[0]].reply(said[1], "alice")
        double.says(
            triages(item_1="actionable", item_2="actionable"), edits("app.py", "line 8\n", "line eight\n"),
            reports(item_1=("app.py:8-8",), item_2="declined: It was decided so."),
        )  # fmt: skip
        await all_.goes()
        told = str(double.asked[2].messages)
        assert (f"alice: {said[1]}" in told, "You asked about it" in told) == (True, True)
        assert all_.judged() == {Judgement.FIXED: 1, Judgement.DECLINED: 1}
        assert (all_.loop.used, all_.escalations()) == (2, ["question"])


@asynchronous
async def test_a_strangers_word_in_a_thread_of_a_contradiction_decides_nothing(
    scene: Scene, sqlite_book: Book, tmp_path: Path, double: ModelDouble
) -> None:
    contradicted(scene)
    opposite(double)
    async with stage(sqlite_book, scene, tmp_path, double) as all_:
        await all_.goes()
        scene.pull.threads[0].reply("1", "rita")
        await all_.goes()
        assert (all_.status, all_.loop.used, len(double.asked)) == (Status.NEEDS_HUMAN, 1, 2)
