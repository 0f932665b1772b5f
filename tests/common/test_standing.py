"""What stands in a loop under a policy: the questions that the decider, `explain` and every view ask alike."""

from collections.abc import Callable

import pytest

from amends.common.events import Author, Permission
from amends.common.policy import Policy
from amends.common.standing import (
    Status,
    approvals,
    backoff,
    blocked,
    counting,
    obstacles,
    opinions,
    questions,
    rejections,
    timers,
    trusted,
    window,
    work,
)
from tests.support.facts import (
    ANNA,
    EVE,
    GHOST,
    MARIA,
    PANEL,
    ROBOT,
    TOM,
    US,
    approved,
    aside,
    believed,
    check,
    closed,
    command,
    comment,
    commented,
    dismissed,
    failed,
    fetched,
    item,
    observed,
    only_answered,
    pushed,
    rejected,
    resolved,
    verdict,
)
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import THREADS

WRITERS, ANYBODY, LIST = Policy(), Policy(reviewers="anyone"), Policy(reviewers=(MARIA.id,))
EMPTY, BOTS = Policy(reviewers=()), Policy(bots=(ROBOT.id,), reviewers=())

# --- trust ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "author", "permission", "expected"),
    [
        (WRITERS, MARIA, None, None),
        (WRITERS, MARIA, "admin", True),
        (WRITERS, MARIA, "maintain", True),
        (WRITERS, MARIA, "write", True),
        (WRITERS, MARIA, "triage", False),
        (WRITERS, MARIA, "read", False),
        (WRITERS, MARIA, "none", False),
        (WRITERS, ANNA, "write", True),
        (WRITERS, ROBOT, "admin", False),
        (WRITERS, US, "admin", False),
        (WRITERS, GHOST, "admin", False),
        (WRITERS, PANEL, None, True),
        (LIST, MARIA, None, None),
        (LIST, MARIA, "read", False),
        (LIST, MARIA, "write", True),
        (LIST, TOM, "admin", False),
        (EMPTY, MARIA, "admin", False),
        (ANYBODY, EVE, None, True),
        (ANYBODY, ROBOT, None, False),
        (BOTS, ROBOT, None, True),
    ],
)
def test_whose_word_counts(
    policy: Policy, author: Author, permission: Permission | None, expected: bool | None
) -> None:
    assert trusted(policy, author, permission) is expected


def test_a_user_is_no_bot_because_he_has_its_number() -> None:
    assert trusted(BOTS, Author(id=ROBOT.id, login="robot"), "write") is False


# --- opinions ------------------------------------------------------------------------------------------------------


def test_each_reviewer_has_one_standing_opinion() -> None:
    story = given(*believed(rejected(1)), *believed(approved(2)), *believed(rejected(3, TOM)), *believed(commented(4)))
    standing = opinions(story.loop, story.policy)
    assert [(review.author.login, review.verb) for review in standing] == [("maria", "approved"), ("tom", "rejected")]


def test_rejections_and_approvals_are_the_two_halves_of_it() -> None:
    story = given(*believed(approved(2)), *believed(rejected(3, TOM)))
    assert [review.author.login for review in rejections(story.loop, story.policy)] == ["tom"]
    assert [review.author.login for review in approvals(story.loop, story.policy)] == ["maria"]


def test_a_dismissed_opinion_is_none() -> None:
    story = given(*believed(rejected(1)), dismissed(1))
    assert opinions(story.loop, story.policy) == []


def test_unchecked_rejections_are_asked_for_by_name() -> None:
    story = given(rejected(1, EVE))
    assert rejections(story.loop, story.policy) == []
    assert [review.author.login for review in rejections(story.loop, story.policy, believed=None)] == ["eve"]


# --- what counts ---------------------------------------------------------------------------------------------------


def test_counting_with_all_adds_what_the_triggers_leave_out() -> None:
    story = given(*believed(rejected()), comment(5, by=TOM), aside(by=TOM), check())
    assert set(counting(story.loop, story.policy)) == {"review/1"}
    assert set(counting(story.loop, story.policy, "all")) == {"review/1", "thread/5", "comment/8", "check/build"}


def test_work_is_what_was_collected_and_has_no_verdict() -> None:
    story = collecting(THREADS).when(comment(6), fetched(item(), item("thread/5")))
    assert set(work(story.loop, story.policy, "triggers")) == {"review/1", "thread/5"}
    assert set(counting(story.loop, story.policy)) == {"review/1", "thread/5", "thread/6"}


def test_questions_are_open_until_somebody_trusted_says_more() -> None:
    story = fixing().when(only_answered(verdict(judgement="needs_human")))
    assert set(questions(story.loop, story.policy)) == {"review/1"}


# --- status --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        (given(), Status.WATCHING),
        (settling(), Status.SETTLING),
        (collecting(), Status.COLLECTING),
        (fixing(), Status.FIXING),
        (pushing(), Status.PUSHING),
        (awaiting_review(), Status.AWAITING_REVIEW),
        (awaiting_review().when(*believed(rejected(4))), Status.SETTLING),
        (fixing().when(failed("policy")), Status.NEEDS_HUMAN),
        (fixing().when(only_answered(verdict(judgement="needs_human"))), Status.NEEDS_HUMAN),
        (fixing().when(only_answered(verdict(judgement="needs_human")), comment()), Status.SETTLING),
        (fixing().when(command("pause")), Status.PAUSED),
        (fixing().installation(command("pause")), Status.PAUSED),
        (given(closed()).installation(command("pause")), Status.DONE),
        (fixing().when(closed()), Status.DONE),
        (given(*believed(approved())), Status.DONE),
        (given(*believed(approved()), *believed(rejected(4))), Status.SETTLING),
        (given(*believed(rejected()), pull=observed(draft=True)), Status.WATCHING),
        (settling().when(command("stop"), *believed(rejected(4))), Status.DONE),
    ],
)
def test_how_a_loop_looks_to_people(story: Telling, expected: Status) -> None:
    assert story.status == expected


def test_every_obstacle_says_what_would_remove_it() -> None:
    pull = observed(draft=True, head_repo=None, labels=("amends: off",), full_name="octo/other")
    story = given(command("pause"), pull=pull).installation(command("pause"))
    found = obstacles(story.loop, story.policy)
    assert [obstacle.name for obstacle in found] == ["killed", "paused", "not enabled", "opted out", "draft", "fork"]
    assert all(obstacle.remedy for obstacle in found)


# --- waits ---------------------------------------------------------------------------------------------------------


def test_the_backoff_doubles_up_to_half_an_hour() -> None:
    waits = [backoff(Policy(), failures) // 60 for failures in range(9)]
    assert waits == [1, 1, 2, 4, 8, 16, 30, 30, 30]


def test_the_backoff_never_overflows() -> None:
    assert backoff(Policy(), 10**9) == 1_800


def test_a_moved_window_has_a_new_generation() -> None:
    story = settling(THREADS)
    before = window(story.loop, story.policy)
    after = window(story.when(comment()).loop, story.policy)
    assert before is not None
    assert after is not None
    assert (before.name, before.generation < after.generation) == (after.name, True)


def test_a_window_is_not_moved_by_what_does_not_count() -> None:
    story = settling()
    before = window(story.loop, story.policy)
    story.when(comment(6, by=TOM), aside(by=EVE), observed(9, title="x"), resolved(77), check())
    assert window(story.loop, story.policy) == before


@pytest.mark.parametrize("stage", [settling, collecting, fixing, pushing])
def test_a_closed_loop_waits_for_nobodys_work(stage: Callable[[], Telling]) -> None:
    story = stage().when(closed(90))
    assert {timer.name.partition("/")[0] for timer in timers(story.loop, story.policy)} <= {"tell"}


def test_no_two_timers_of_a_loop_have_the_same_name() -> None:
    story = pushing().when(pushed(), rejected(4, TOM), rejected(5, EVE))
    found = [timer.name for timer in timers(story.loop, story.policy)]
    assert len(found) == len(set(found)) > 3


# --- waiting for the installation ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [settling, collecting, fixing, pushing])
def test_a_loop_that_has_something_to_do_waits_for_the_installation(stage: Callable[[], Telling]) -> None:
    story = stage().installation(command("pause"))
    assert blocked(story.loop, story.policy)
    assert not blocked(story.installation(command("resume")).loop, story.policy)


def test_a_loop_whose_model_failed_waits_for_the_installation() -> None:
    story = fixing().when(failed("model_auth"))
    assert blocked(story.loop, story.policy)


def test_a_quiet_loop_waits_for_no_model() -> None:
    story = fixing().when(failed("model_auth"), command("accept"))
    assert not blocked(story.loop, story.policy)


# --- deadlines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("story", "name", "deadline"),
    [
        (settling(), "settle/1", False),
        (collecting(), "collect/1/1", True),
        (collecting().when(fetched(item())), "start/1/1", True),
        (fixing(), "claim/1/1", True),
        (fixing().when(failed("model_overloaded")), "retry/1/1", False),
        (pushing(), "push/1/1", True),
        (given(rejected()), "author/1", True),
        (given(command("fix", by=MARIA)), "author/command/fix-1", True),
    ],
)
def test_a_wait_is_a_deadline_when_it_is_about_somebody_who_does_not_answer(
    story: Telling, name: str, deadline: bool
) -> None:
    assert [(timer.name, timer.deadline) for timer in timers(story.loop, story.policy)] == [(name, deadline)]
