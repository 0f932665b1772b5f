"""Why a loop stands where it stands: one snapshot for each place, and the promises that hold in all of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import pytest
from pydantic import TypeAdapter

from amends.common.answers import RefusalReason
from amends.common.events import Ending, Failure, LoopStuck, Outcome
from amends.common.explain import Explanation, explain, lines
from amends.common.explain.reasons import ENDINGS, FAILURES, OUTCOMES, REFUSALS, escalation
from amends.common.loop import Loop
from amends.common.standing import SECOND, Status, obstacles, requests, status
from tests.support.examples import NOON
from tests.support.facts import (
    MARIA,
    TOM,
    approved,
    believed,
    command,
    comment,
    failed,
    fetched,
    item,
    only_answered,
    prepared,
    pushed,
    rejected,
    started,
    verdict,
)
from tests.support.facts import observed as seen
from tests.support.given import Telling, collecting, given, settling
from tests.support.given import fixing as taken_up
from tests.support.snapshots import assert_as_before
from tests.support.stories import STORIES, Teller, awaiting, fixing, no_model, observed, opened, paused, used_up
from tests.support.story import Story


def explained(story: Story) -> Explanation:
    return explain(story.loop, story.policy, story.recent[-3:])


@pytest.mark.parametrize(("name", "teller"), STORIES.items(), ids=STORIES)
def test_it_is_explained_like_this(name: str, teller: Teller) -> None:
    assert_as_before(f"explain/{name}", "\n".join(lines(explained(teller()))))


@pytest.mark.parametrize("teller", STORIES.values(), ids=STORIES)
def test_the_status_is_that_of_every_other_surface(teller: Teller) -> None:
    story = teller()
    assert explained(story).status is status(story.loop, story.policy)


@pytest.mark.parametrize("teller", STORIES.values(), ids=STORIES)
def test_whoever_owes_an_answer_is_named_with_when_it_is_due(teller: Teller) -> None:
    story = teller()
    named = [(turn.who, turn.due) for turn in explained(story).turns]
    assert [(owed.service, owed.due) for owed in requests(story.loop, story.policy)] == [
        turn for turn in named if turn[0] in {"comment-fetcher", "fixer", "publisher", "notifier"}
    ]


@pytest.mark.parametrize("teller", STORIES.values(), ids=STORIES)
def test_whatever_hinders_is_an_unmet_condition_with_its_remedy(teller: Teller) -> None:
    story = teller()
    unmet = {(condition.what, condition.remedy) for condition in explained(story).conditions if not condition.met}
    assert {(f"nothing hinders: {name}", remedy) for name, remedy in obstacles(story.loop, story.policy)} <= unmet


@pytest.mark.parametrize("teller", STORIES.values(), ids=STORIES)
def test_it_can_be_sent_as_json(teller: Teller) -> None:
    sent = TypeAdapter(Explanation).dump_json(explained(teller()))
    assert json.loads(sent)["why"]


@pytest.mark.parametrize("teller", STORIES.values(), ids=STORIES)
def test_only_a_loop_that_needs_a_human_is_handed_over(teller: Teller) -> None:
    explanation = explained(teller())
    assert (explanation.handover is not None) == (explanation.status is Status.NEEDS_HUMAN)


def test_a_command_whose_author_nobody_looks_up_is_shown_with_its_deadline_and_then_as_late() -> None:
    story = given(command("fix", by=MARIA))
    [asked] = [turn for turn in explain(story.loop, story.policy, []).turns if turn.who == "comment-fetcher"]
    assert asked.due == story.time + story.policy.waits.author_seconds * SECOND
    story.after(story.policy.waits.author_seconds)
    shown = [condition.remedy for condition in explain(story.loop, story.policy, []).conditions if not condition.met]
    assert "the comment-fetcher reports author.checked (late)" in shown


def said(story: Telling) -> Explanation:
    return explain(story.loop, story.policy, story.events[-20:])


def test_of_a_loop_that_was_stopped_nobody_is_told_that_feedback_begins_it_again() -> None:
    story = settling().when(command("stop"))
    assert said(story).next == "Nothing, unless somebody says fix or reset."
    story.so_far().when(*believed(rejected(4))).after(300).then()


def test_of_a_stopped_loop_nobody_is_told_that_an_answer_helps_nor_of_a_question_that_an_approval_does() -> None:
    stopped = taken_up().when(failed("checks_failed"), comment(by=TOM))
    assert said(stopped).next == "One of the commands below, or an approval of the current head."
    stopped.so_far().when(*believed(approved())).then("loop.finished approved")
    asking = taken_up().when(only_answered(verdict(judgement="needs_human")))
    assert said(asking).next == "An answer where it was asked, or one of the commands below."
    asking.so_far().when(*believed(approved())).then()


def test_an_open_question_is_why_a_human_is_needed_whatever_he_was_told_of_since() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started())
    story.when(only_answered(verdict(judgement="answered"), verdict("thread/5", "needs_human")))
    conflict = fetched(item("thread/5"), item("review/4"), n=2).model_copy(update={"conflicts": ("shop.py",)})
    story.when(*believed(rejected(4))).after(30).when(conflict, started(n=2), prepared(verdict("review/4"), n=2))
    explanation = said(story.when(pushed(2)))
    assert explanation.why.startswith("A human is needed (question)")
    assert explanation.handover is not None
    assert explanation.handover.reason == "question"


def test_where_something_hinders_the_next_step_is_to_take_it_away() -> None:
    story = given(pull=seen(draft=True))
    assert said(story).next.endswith("But first: mark the pull request as ready for review.")


def test_the_stories_cover_every_status() -> None:
    assert {explained(teller()).status for teller in STORIES.values()} == set(Status)


def test_it_shows_the_events_it_is_given_and_says_how_many_there_are() -> None:
    story = awaiting()
    assert [event.pos for event in explained(story).last] == [event.pos for event in story.recent[-3:]]
    assert f"Last events (3 of {story.loop.version}):" in lines(explained(story))
    whole = explain(story.loop, story.policy, story.recent)
    assert (len(whole.last), "Events:" in lines(whole)) == (story.loop.version, True)


def test_whoever_takes_over_learns_what_was_tried_what_is_left_and_what_to_say() -> None:
    explanation = explained(used_up())
    assert explanation.handover is not None
    assert explanation.handover.reason == "max_cycles"
    assert [line.partition(":")[0] for line in explanation.handover.tried] == ["cycle 1", "cycle 2", "spent"]
    assert explanation.handover.left[0].endswith("https://forge.test/octo/shop/pull/7#discussion_r501")
    assert ("amends loops retry octo/shop#7", "/amends retry") in [order[:2] for order in explanation.orders]


def test_what_waits_for_the_installation_is_told_to_resume_the_installation() -> None:
    explanation = explained(no_model())
    assert [order.command for order in explanation.orders] == ["amends loops resume installation"]


@pytest.mark.parametrize("teller", [paused, no_model], ids=["paused", "no model"])
def test_the_installation_and_a_policy_explain_themselves_too(teller: Teller) -> None:
    story = teller()
    for name in ("installation", "1-policy"):
        loop = story.loops.get(name, Loop(name))
        assert lines(explain(loop, story.policy, [event for event in story.events if event.loop == name]))


def test_a_loop_whose_log_is_ahead_of_it_is_stuck_and_says_where() -> None:
    story = fixing()
    before = story.loop
    story.says(LoopStuck(error="KeyError", code="0.1.0", at=9), service="evaluator")
    explanation = explain(before, story.policy, story.recent)
    assert explanation.stuck.startswith("KeyError in amends 0.1.0 at event 9.")
    assert lines(explanation)[1].startswith("stuck, was fixing at version 9")


def test_a_newer_version_of_amends_that_folded_it_says_nothing_of_it() -> None:
    story = fixing().says(LoopStuck(error="KeyError", code="0.1.0", at=9), service="evaluator")
    assert explained(story).stuck == ""


def test_words_from_outside_cannot_move_the_cursor() -> None:
    hostile = observed(minutes=1).model_copy(update={"title": "\x1b[2J\u202eboo\n[x] approved", "updated_at": NOON})
    story = opened()
    loop = replace(story.loop, pull=hostile)
    assert lines(explain(loop, story.policy, []))[0] == "octo/shop#7  ?[2J?boo?[x] approved"


# --- words -----------------------------------------------------------------------------------------------------------


def test_every_reason_code_has_its_words() -> None:
    assert set(FAILURES) == set(Failure)
    assert set(REFUSALS) == set(get_args(RefusalReason))
    assert set(ENDINGS) == set(get_args(Ending))
    assert set(OUTCOMES) == set(get_args(Outcome))


def test_an_unknown_escalation_is_shown_as_it_is() -> None:
    assert escalation("novel").means == "novel"
