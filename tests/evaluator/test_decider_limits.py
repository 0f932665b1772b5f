"""Limits, loops that do not converge, and what an escalation says."""

from collections.abc import Callable
from functools import reduce

import pytest

from amends.common.events import (
    Change,
    CommandName,
    CycleFinished,
    Escalated,
    FixRequested,
    Judgement,
    ReviewRequested,
    Usage,
)
from amends.common.policy import BudgetOverrides, Overrides
from tests.support.facts import (
    HEAD,
    MARIA,
    NEXT,
    TOM,
    approved,
    believed,
    checked,
    command,
    comment,
    failed,
    fetched,
    item,
    observed,
    only_answered,
    policy_changed,
    policy_observed,
    prepared,
    pushed,
    rejected,
    started,
    verdict,
)
from tests.support.given import Telling, again, awaiting_review, collecting, fixing, given, settling
from tests.support.policies import MANY_CYCLES, ONE_CYCLE, ONE_TURN


def rounds(story: Telling, *reviews: int) -> Telling:
    return reduce(again, reviews, story)


# --- cycles --------------------------------------------------------------------------------------------------------


def test_two_cycles_are_the_default_and_the_third_rejection_is_a_humans() -> None:
    story = again(awaiting_review(), 4).so_far()
    again(story, 5).then("escalated max_cycles")
    assert (story.loop.used, story.loop.n, story.status) == (2, 2, "needs_human")


def test_further_rejections_raise_no_further_escalation() -> None:
    story = rounds(awaiting_review(), 4, 5).so_far()
    rounds(story, 6, 7).after(3_000).then()


def test_the_limit_is_the_policys() -> None:
    story = awaiting_review(MANY_CYCLES)
    rounds(story, 4, 5, 6, 7)
    assert (story.loop.used, story.status) == (5, "awaiting_review")


def test_the_repository_may_only_lower_the_limit() -> None:
    assert given(policy_observed(max_cycles=9)).policy.max_cycles == 2
    assert given(policy_observed(max_cycles=1)).policy.max_cycles == 1


def test_cycles_that_came_to_nothing_are_not_counted() -> None:
    story = collecting(ONE_CYCLE).when(fetched()).when(*believed(rejected(4))).after(30)
    story.then("cycle.finished 1 nothing_to_do", "fix.requested 2/1")


def test_an_answered_cycle_is_counted() -> None:
    story = fixing(ONE_CYCLE).when(only_answered(verdict(judgement="answered"))).so_far()
    again(story, 4).then("escalated max_cycles")


@pytest.mark.parametrize(
    ("name", "decided"),
    [
        ("retry", ["command.accepted retry", "fix.requested 2/1"]),
        ("reset", ["command.accepted reset", "fix.requested 2/1"]),
        ("accept", ["command.accepted accept", "loop.finished accepted"]),
        ("ready", ["command.accepted ready", "loop.finished ready"]),
        ("stop", ["command.accepted stop", "loop.finished stopped"]),
    ],
)
def test_each_human_exit_from_the_limit(name: CommandName, decided: list[str]) -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).so_far()
    story.when(command(name)).after(30).then(*decided)


def test_retry_grants_exactly_one() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).when(command("retry")).after(30)
    story.when(fetched(item("review/4"), n=2, head=NEXT), started(n=2))
    story.when(prepared(verdict("review/4"), n=2, base=NEXT), pushed(2)).so_far()
    again(story, 5).then("escalated max_cycles")


def test_reset_grants_all_of_them_again() -> None:
    story = rounds(awaiting_review(), 4, 5).when(command("reset")).after(30).so_far()
    assert (story.loop.used, story.loop.granted, story.loop.n) == (0, 0, 3)


def test_approval_is_an_exit_too() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).so_far()
    story.when(*believed(approved(9, head=NEXT))).then("loop.finished approved")


def test_the_counters_come_from_the_log_alone() -> None:
    story = again(awaiting_review(), 4)
    assert story.folded() == story.loop


# --- budgets -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "usage"),
    [
        (BudgetOverrides(turns=10), Usage(turns=10)),
        (BudgetOverrides(tokens=1_000), Usage(tokens=1_000)),
        (BudgetOverrides(usd=1.5), Usage(usd_micro=1_500_000)),
        (BudgetOverrides(wall_seconds=60), Usage(seconds=60)),
    ],
    ids=["turns", "tokens", "dollars", "seconds"],
)
def test_a_budget_that_is_used_up_stops_the_next_cycle(budget: BudgetOverrides, usage: Usage) -> None:
    story = fixing(Overrides(budget=budget)).when(prepared().model_copy(update={"usage": usage}), pushed()).so_far()
    story.when(*believed(rejected(4))).after(30).then("escalated limits")
    assert story.last(Escalated).detail


def test_what_failed_attempts_cost_counts_too() -> None:
    story = fixing(ONE_TURN).when(failed("no_change", usage=Usage(turns=1)), command("retry")).so_far().after(30)
    story.then("escalated limits")


@pytest.mark.parametrize("reason", ["model_overloaded", "crashed", "moved"])
def test_a_budget_that_is_used_up_by_failed_attempts_stops_the_next_attempt(reason: str) -> None:
    usage = Usage(usd_micro=1_900_000)
    story = fixing(Overrides(budget=BudgetOverrides(usd=3.0))).when(failed(reason, usage=usage)).after(60)
    story.then("fix.requested 1/2").when(fetched(item(), k=2), started(k=2), failed(reason, k=2, usage=usage))
    story.after(120).then("cycle.finished 1 failed limits used", "escalated limits")
    assert story.last(Escalated).detail == "3.8 of 3 dollars"


def test_a_budget_that_is_used_up_by_what_a_pause_cut_off_stops_the_next_attempt() -> None:
    story = fixing(ONE_TURN).when(command("pause"), failed("cancelled", usage=Usage(turns=1))).so_far()
    story.when(command("resume"))
    assert story.decided[2:] == ["cycle.finished 1 failed limits used", "escalated limits"]


def test_a_raised_budget_and_a_retry_go_on() -> None:
    story = fixing(ONE_TURN).when(prepared(), pushed(), *believed(rejected(4))).after(30).so_far()
    story.when(policy_changed(budget={"turns": 9}), command("retry")).after(30)
    story.then("command.accepted retry", "fix.requested 2/1")


def test_reset_forgets_what_was_spent() -> None:
    story = fixing(ONE_TURN).when(prepared(), pushed(), *believed(rejected(4))).after(30).so_far()
    story.when(command("reset")).after(30).then("command.accepted reset", "fix.requested 2/1")


# --- loops that do not converge ------------------------------------------------------------------------------------


def raised(times: int) -> Telling:
    """Maria raises the same thread again after each fix."""
    story = collecting(MANY_CYCLES)
    for n in range(1, times + 1):
        said = f"still {n}"
        story.when(fetched(item(), item("thread/5", said), n=n), started(n=n))
        fixed = prepared(verdict(), verdict("thread/5", text=said), n=n, changes=(Change(path=f"{n}.py"),))
        story.when(fixed, pushed(n, sha=HEAD)).so_far()
        story.when(comment(5, f"still {n + 1}", reply=100 + n)).after(30)
    return story


def test_an_item_that_is_raised_again_after_two_fixes_is_a_humans() -> None:
    raised(1).then("fix.requested 2/1")
    raised(2).then("escalated reraised")


def test_a_human_may_have_it_tried_again() -> None:
    raised(2).so_far().when(command("retry")).after(30).then("command.accepted retry", "fix.requested 3/1")


def test_a_fix_that_undoes_the_last_one_is_a_humans() -> None:
    story = again(awaiting_review(MANY_CYCLES), 4).when(*believed(rejected(5, head=NEXT))).after(30).so_far()
    story.when(fetched(item("review/5"), n=3, head=NEXT), started(n=3))
    undoing = Change(path="shop.py", before="3" * 40, blob="2" * 40)
    story.when(prepared(verdict("review/5"), n=3, base=NEXT, changes=(undoing,)))
    story.then("cycle.finished 3 failed undoes_itself used", "escalated undoes_itself")


def test_a_change_of_the_same_file_that_goes_on_undoes_nothing() -> None:
    assert rounds(awaiting_review(MANY_CYCLES), 4, 5).status == "awaiting_review"


def on_our_lines(ours: int, others: int) -> Telling:
    story = awaiting_review(MANY_CYCLES).when(*believed(rejected(4))).after(30).so_far()
    found = [item(f"thread/{number}", ours=number <= ours) for number in range(1, ours + others + 1)]
    return story.when(fetched(*found, n=2, head=NEXT))


def test_mostly_new_findings_on_lines_of_our_own_are_a_humans() -> None:
    on_our_lines(3, 2).then("cycle.finished 2 failed chasing_itself", "escalated chasing_itself")


@pytest.mark.parametrize(("ours", "others"), [(2, 0), (3, 3), (0, 5)])
def test_few_or_mostly_other_findings_are_work(ours: int, others: int) -> None:
    on_our_lines(ours, others).then()


def test_eight_rounds_of_a_genuine_reviewer_are_not_stopped() -> None:
    story = rounds(awaiting_review(MANY_CYCLES), *range(4, 11))
    assert (story.loop.used, story.status) == (8, "awaiting_review")


# --- what an escalation says ---------------------------------------------------------------------------------------


def test_an_escalation_tells_the_whole_history() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4)
    past = story.last(Escalated).history
    assert [(line.n, line.outcome, line.verdicts) for line in past] == [(1, "pushed", ((Judgement.FIXED, 1),))]


def test_the_history_ends_with_the_cycle_that_failed() -> None:
    past = fixing().when(failed("checks_failed")).last(Escalated).history
    assert [(line.n, line.outcome, line.reason) for line in past] == [(1, "failed", "checks_failed")]


def test_an_escalation_names_what_is_open() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started(), prepared(verdict()), pushed()).after(30)
    story.when(fetched(item(), item("thread/5"), n=2), started(n=2), failed("limits", n=2))
    assert story.last(Escalated).items == ("thread/5",)


STOPS: list[Callable[[], Telling]] = [
    lambda: fixing().when(failed("policy")),
    lambda: again(awaiting_review(ONE_CYCLE), 4),
    lambda: fixing(ONE_TURN).when(prepared(), pushed(), *believed(rejected(4))).after(30),
]


@pytest.mark.parametrize("stop", STOPS, ids=["failed", "max_cycles", "limits"])
def test_one_cause_is_escalated_once(stop: Callable[[], Telling]) -> None:
    story = stop().so_far()
    story.when(*believed(rejected(8, TOM)), checked(rejected(8, MARIA)), observed(99, title="x")).after(3_000).then()


# --- numbers -------------------------------------------------------------------------------------------------------


def test_cycles_and_attempts_never_go_back() -> None:
    story = fixing(MANY_CYCLES).when(failed("crashed"), fetched(item(), k=2), started(k=2), prepared(k=2), pushed())
    story.when(observed(40, head=NEXT), command("reset"), command("stop"), command("fix")).so_far()
    again(story.when(fetched(n=2, head=NEXT)), 4)
    numbers = [(event.fact.n, event.fact.k) for event in story.events if isinstance(event.fact, FixRequested)]
    assert numbers == [(1, 1), (1, 2), (2, 1), (3, 1)]


def test_every_cycle_ends_exactly_once() -> None:
    story = rounds(awaiting_review(MANY_CYCLES), 4, 5)
    assert [event.fact.n for event in story.events if isinstance(event.fact, CycleFinished)] == [1, 2, 3]
    assert story.last(ReviewRequested).n == 3


def test_a_settled_loop_stays_where_it_is() -> None:
    story = settling().after(30).so_far()
    story.when(fetched(item()), started(), prepared(), pushed(), observed(40, head=NEXT)).so_far().after(3_000).then()
