"""Whose opinion stands, and when an approval finishes the loop."""

from itertools import permutations

import pytest

from amends.common.events import AnyFact, Permission
from tests.support.facts import (
    ANNA,
    EVE,
    HEAD,
    MARIA,
    NEXT,
    PANEL,
    ROBOT,
    TOM,
    approved,
    believed,
    checked,
    comment,
    commented,
    deleted,
    dismissed,
    observed,
    rejected,
)
from tests.support.given import awaiting_review, fixing, given, pushing, settling
from tests.support.policies import ROBOT_MAY, THREADS

# --- standing opinions ---------------------------------------------------------------------------------------------


def test_a_later_comment_does_not_clear_a_rejection() -> None:
    awaiting_review().when(*believed(commented(3, body="")), *believed(approved(4, TOM, head=NEXT))).then()


def test_dismissal_clears_a_rejection() -> None:
    story = awaiting_review().when(*believed(approved(4, TOM, head=NEXT))).then()
    story.when(dismissed(1)).then("loop.finished approved")


def test_a_dismissed_rejection_starts_nothing() -> None:
    settling().when(dismissed(1)).after(300).then()


def test_a_dismissal_that_overtakes_its_rejection_holds() -> None:
    given(dismissed(1), *believed(rejected(1))).after(300).then()


def test_another_reviewers_approval_clears_nobody_elses_rejection() -> None:
    awaiting_review().when(*believed(approved(2, TOM, head=NEXT))).then()


def test_a_rejection_after_the_approval_stands() -> None:
    given(*believed(approved(2)), *believed(rejected(4))).after(30).then("fix.requested 1/1")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_last_opinion_is_the_last_by_number_and_not_by_arrival(order: tuple[int, ...]) -> None:
    said: list[tuple[AnyFact, AnyFact]] = [believed(rejected(1)), believed(approved(5)), believed(rejected(7))]
    story = given(*(fact for index in order for fact in said[index]))
    assert story.status == "settling"


@pytest.mark.parametrize("order", list(permutations(range(2))))
def test_an_approval_with_the_higher_number_wins_in_either_order(order: tuple[int, ...]) -> None:
    said: list[tuple[AnyFact, AnyFact]] = [believed(rejected(1, body="")), believed(approved(5))]
    story = given(*(fact for index in order for fact in said[index]))
    assert story.status == "done"


def test_a_dismissed_approval_is_none() -> None:
    given(dismissed(2)).when(*believed(approved(2))).then()


def test_an_unchecked_approval_does_not_clear_a_trusted_rejection() -> None:
    story = awaiting_review().when(approved(2, head=NEXT), *believed(approved(3, TOM, head=NEXT))).then()
    story.when(checked(approved(2))).then("loop.finished approved")


def test_a_cycle_waits_until_it_is_known_whether_he_may_take_his_rejection_back() -> None:
    settling().when(approved()).after(30).then().when(checked(approved())).then("loop.finished approved")


def test_a_cycle_does_not_wait_for_ever_for_somebody_whom_nobody_looks_up() -> None:
    story = settling().when(approved()).after(6 * 3_600)
    assert [one for one in story.decided if one.startswith("fix")] == ["fix.requested 1/1"]


def test_a_cycle_that_waits_for_him_begins_also_when_what_came_meanwhile_is_gone_again() -> None:
    remark = comment(by=TOM)
    story = settling(THREADS).when(approved()).after(30).when(remark).after(30).when(deleted(remark)).after(30).then()
    story.after(6 * 3_600).then("escalated stalled", "fix.requested 1/1")


def test_an_approval_of_a_stranger_keeps_nobody_waiting() -> None:
    settling().when(approved(2, EVE)).after(30).then("fix.requested 1/1")


def test_an_approval_by_somebody_who_may_not_write_any_more_does_not_clear_his_rejection() -> None:
    awaiting_review().when(*believed(approved(2, head=NEXT), "read"), *believed(approved(3, TOM, head=NEXT))).then()


def test_an_unchecked_rejection_does_not_replace_a_trusted_one() -> None:
    story = settling().when(rejected(4)).after(30).then("fix.requested 1/1")
    assert story.status == "collecting"


# --- approvals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("permission", ["admin", "maintain", "write"])
def test_who_may_write_may_approve(permission: Permission) -> None:
    given().when(*believed(approved(), permission)).then("loop.finished approved")


@pytest.mark.parametrize("permission", ["triage", "read", "none"])
def test_inv_17_who_may_not_write_approves_nothing(permission: Permission) -> None:
    given().when(*believed(approved(by=EVE), permission)).then()


def test_an_unchecked_approval_finishes_nothing_until_it_is_checked() -> None:
    given().when(approved()).then().when(checked(approved())).then("loop.finished approved")


def test_inv_17_the_author_approves_nothing() -> None:
    given().when(*believed(approved(by=ANNA), "admin")).then()


def test_inv_17_an_approval_of_an_older_head_finishes_nothing_until_that_head_is_back() -> None:
    story = given(observed(1, head=NEXT)).when(*believed(approved(head=HEAD))).then()
    story.when(observed(2, head=HEAD)).then("loop.finished approved")


def test_after_our_push_an_approval_of_the_head_before_it_finishes_nothing() -> None:
    story = pushing().when(*believed(approved(2, TOM, head=HEAD))).then()
    assert story.status == "pushing"


def test_a_bot_and_a_human_together_approve() -> None:
    story = given(policy=ROBOT_MAY).when(*believed(rejected(1, TOM, body="")), approved(2, ROBOT)).then()
    story.when(*believed(approved(3, TOM))).then("loop.finished approved")


def test_inv_17_an_unlisted_bots_approval_finishes_nothing() -> None:
    given().when(approved(2, ROBOT)).then()


def test_an_external_reviewer_may_approve() -> None:
    given().when(approved(2, PANEL)).then("loop.finished approved")


def test_a_rejection_that_nobody_has_checked_yet_holds_an_approval_back() -> None:
    story = given().when(rejected(by=EVE), *believed(approved(2, TOM))).then()
    story.when(checked(rejected(by=EVE), "none")).then("loop.finished approved")


def test_what_counts_holds_an_approval_back_until_it_has_its_verdict() -> None:
    story = given(comment(by=MARIA), policy=THREADS).when(*believed(approved(2, TOM))).then()
    assert story.status == "settling"


def test_an_approval_during_a_fix_finishes_nothing_yet() -> None:
    fixing().when(*believed(approved(2, TOM))).then()


def test_the_same_approval_twice_finishes_once() -> None:
    story = given().when(*believed(approved()), *believed(approved())).then("loop.finished approved")
    assert story.already == 2


def test_a_loop_may_be_finished_and_begun_more_than_once() -> None:
    story = given(*believed(approved(2))).so_far().when(*believed(rejected(4, body=""))).after(30)
    story.when(*believed(approved(6))).then("fix.requested 1/1")
    assert story.status == "collecting"
