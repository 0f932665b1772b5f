"""The second table of design.md section 6, row by row: why an attempt ended, what is next, and whether it is used."""

from itertools import pairwise

import pytest

from amends.common.events import AnyFact, CycleFinished, Escalated, Judgement
from amends.common.policy import Overrides
from tests.support.facts import (
    NEXT,
    TOM,
    believed,
    closed,
    command,
    failed,
    fetched,
    item,
    not_fetched,
    observed,
    policy_changed,
    prepared,
    pushed,
    refused,
    rejected,
    started,
    verdict,
)
from tests.support.given import Telling, collecting, fixing, pushing

HOUR, MINUTE = 3_600, 60_000_000


def ending(fact: AnyFact) -> Telling:
    """An attempt that ends with this, at the point where such a thing is reported."""
    stage = {"comments.failed": collecting, "fix.failed": fixing, "push.refused": pushing}[fact.type]
    return stage().when(fact)


def in_all_three(*reasons: str) -> pytest.MarkDecorator:
    facts = [report(reason) for report in (not_fetched, failed, refused) for reason in reasons]
    return pytest.mark.parametrize("fact", facts, ids=lambda fact: f"{fact.type}-{fact.reason}")


# --- outages of the world around us --------------------------------------------------------------------------------

outages = in_all_three("model_overloaded", "github_unavailable", "github_incomplete")


@outages
def test_an_outage_is_waited_out_for_a_minute_and_then_begun_again(fact: AnyFact) -> None:
    ending(fact).after(59).then().after(1).then("fix.requested 1/2")


def test_outages_in_a_row_are_waited_out_for_1_2_4_8_16_and_then_30_minutes() -> None:
    times = [event.time // MINUTE for event in outage_of(100 * 60).events if event.type == "fix.requested"]
    assert [later - sooner for sooner, later in pairwise(times)] == [1, 2, 4, 8, 16, 30, 30]


def test_the_forges_own_wait_is_respected_when_it_is_longer() -> None:
    collecting().when(not_fetched(retry_after=300)).after(299).then().after(1).then("fix.requested 1/2")


def outage_of(seconds: int) -> Telling:
    """GitHub answers nothing for so long."""
    story = collecting()
    for _ in range(0, seconds, 60):
        if story.loop.cycle and not story.loop.cycle.failed:
            story.when(not_fetched(k=story.loop.k))
        story.after(60)
    return story


def test_after_six_hours_of_outage_a_human_is_asked_and_the_cycle_is_not_used() -> None:
    story = outage_of(6 * HOUR)
    assert (story.status, story.decided[-1]) == ("collecting", "fix.requested 1/16")
    story.so_far().after(60).then("cycle.finished 1 failed github_unavailable", "escalated github_unavailable")
    assert story.loop.used == 0


def test_an_outage_is_not_counted_among_the_three_attempts() -> None:
    story = collecting().when(not_fetched()).after(60).when(not_fetched(k=2)).after(120).so_far()
    story.when(fetched(item(), k=3), started(k=3), failed("crashed", k=3)).then("fix.requested 1/4")


def test_an_outage_that_is_over_is_forgotten() -> None:
    story = collecting().when(not_fetched()).after(60).when(fetched(item(), k=2), started(k=2), prepared(k=2))
    story.so_far().when(refused("github_unavailable", k=2)).after(60).then("fix.requested 1/3")


# --- the model does not want us ------------------------------------------------------------------------------------

model_off = in_all_three("model_auth", "model_spend", "model_unknown")


@model_off
def test_fixing_is_off_for_the_installation_and_one_human_is_told_there(fact: AnyFact) -> None:
    story = ending(fact).after(600)
    assert [line.partition(" ")[0] for line in story.decided[-1:]] == ["escalated"]
    assert story.loops["installation"].fixing_off == story.last(Escalated).reason
    assert story.loop.used == 0


def test_the_waiting_loop_begins_again_when_fixing_is_on_again() -> None:
    story = fixing().when(failed("model_auth")).then("escalated model_auth").after(7_000).so_far()
    story.installation(command("resume")).then("command.accepted resume", "loop.resumed", "fix.requested 1/2")


def test_while_fixing_is_off_no_loop_begins_and_afterwards_all_do() -> None:
    story = fixing().when(failed("model_spend"), command("stop"), command("fix")).so_far()
    story.when(*believed(rejected(7))).after(100).then()
    story.installation(command("resume"))
    story.then("command.accepted resume", "loop.resumed", "fix.requested 2/1")


def test_another_failure_while_fixing_is_off_raises_no_second_alarm() -> None:
    story = fixing().when(failed("model_auth")).so_far()
    story.installation(command("resume")).when(fetched(item(), k=2), started(k=2)).so_far()
    story.when(failed("model_auth", k=2)).then("escalated model_auth")
    story.when(*believed(rejected(7))).then()


def test_asking_the_notifier_again_does_not_turn_fixing_off_again() -> None:
    story = fixing().when(failed("model_auth")).installation(command("resume")).so_far().after(3_600)
    assert story.loops["installation"].fixing_off == ""


def test_a_notifier_that_tells_nobody_does_not_turn_fixing_off() -> None:
    story = fixing().installation(command("pause"), command("resume")).after(8 * HOUR)
    assert story.loops["installation"].fixing_off == ""


def test_closing_while_fixing_is_off_finishes_the_loop() -> None:
    story = fixing().when(failed("model_auth")).so_far()
    story.when(closed()).then("cycle.finished 1 cancelled closed", "loop.finished closed")


# --- begin again at once -------------------------------------------------------------------------------------------

restarts = in_all_three("moved", "workspace_lost", "crashed", "superseded")


@restarts
def test_the_next_attempt_begins_at_once(fact: AnyFact) -> None:
    assert ending(fact).decided[-1] == "fix.requested 1/2"


@pytest.mark.parametrize(
    ("reason", "escalated"),
    [
        ("moved", "head_moving"),
        ("superseded", "head_moving"),
        ("workspace_lost", "fixer_crashing"),
        ("crashed", "fixer_crashing"),
    ],
)
def test_the_third_in_a_row_asks_a_human_and_is_not_used(reason: str, escalated: str) -> None:
    story = fixing().when(failed(reason), fetched(item(), k=2), started(k=2), failed(reason, k=2))
    story.when(fetched(item(), k=3), started(k=3)).so_far().when(failed(reason, k=3))
    story.then(f"cycle.finished 1 failed {escalated}", f"escalated {escalated}")
    assert story.loop.used == 0


def test_a_head_that_moves_under_every_prepared_fix_asks_a_human_too() -> None:
    story = fixing().when(observed(1, head=NEXT), prepared()).then("fix.requested 1/2")
    story.when(fetched(item(), k=2, head=NEXT), observed(2), prepared(k=2, base=NEXT)).then("fix.requested 1/3")
    story.when(fetched(item(), k=3), observed(3, head=NEXT), prepared(k=3))
    story.then("cycle.finished 1 failed head_moving", "escalated head_moving")


def test_a_new_cycle_counts_its_attempts_anew() -> None:
    story = fixing().when(failed("crashed"), fetched(item(), k=2), started(k=2), failed("crashed", k=2))
    story.when(fetched(item(), k=3), started(k=3), prepared(k=3), pushed()).when(*believed(rejected(4))).after(30)
    story.when(fetched(item("review/4"), n=2), started(n=2)).so_far()
    story.when(failed("crashed", n=2)).then("fix.requested 2/2")


def test_a_lost_workspace_asks_a_human_at_once_where_the_policy_says_fail() -> None:
    story = fixing(Overrides(worktree_missing="fail")).when(failed("workspace_lost"))
    story.then("cycle.finished 1 failed workspace_lost", "escalated workspace_lost")
    assert story.loop.used == 0


# --- cancelled -----------------------------------------------------------------------------------------------------


def test_work_that_pausing_cut_off_begins_again_at_the_resume() -> None:
    story = fixing().when(command("pause"), failed("cancelled")).so_far().after(600).then()
    story.when(command("resume")).then("command.accepted resume", "loop.resumed", "fix.requested 1/2")
    assert story.loop.used == 0


def test_work_that_the_kill_switch_cut_off_begins_again_when_it_is_lifted() -> None:
    story = fixing().installation(command("pause")).when(failed("cancelled")).so_far()
    story.installation(command("resume")).then("command.accepted resume", "loop.resumed", "fix.requested 1/2")


# --- the pull request is not what it was ---------------------------------------------------------------------------

dropped = in_all_three("closed", "draft", "fork", "branch_gone", "access_lost")


@dropped
def test_the_cycle_is_cancelled_and_nothing_starts_until_the_pull_request_is_seen_otherwise(fact: AnyFact) -> None:
    story = ending(fact).after(7_000)
    assert story.decided[-1].startswith("cycle.finished 1 cancelled")
    assert (story.loop.used, story.status) == (0, "watching")
    story.so_far().when(observed(9, title="Seen again")).after(30).then("fix.requested 2/1")


def in_vain(reason: str) -> Telling:
    """Three cycles found the door closed, and each time the pull request was seen again as if nothing were wrong."""
    story = collecting().when(not_fetched(reason)).so_far()
    for n in (2, 3):
        story = story.when(observed(10 * n)).after(30).then(f"fix.requested {n}/1")
        story = story.when(not_fetched(reason, n=n)).then(f"cycle.finished {n} cancelled {reason}")
    return story


@pytest.mark.parametrize("reason", ["access_lost", "branch_gone"])
def test_a_door_that_is_closed_three_times_in_a_row_is_shown_to_a_human(reason: str) -> None:
    story = in_vain(reason).when(observed(40)).after(30).then(f"escalated {reason}")
    assert (story.loop.used, story.status) == (0, "needs_human")
    story.when(observed(50)).after(300).then()


@pytest.mark.parametrize("reason", ["access_lost", "branch_gone"])
def test_whoever_opens_it_says_so_and_it_is_tried_again(reason: str) -> None:
    story = in_vain(reason).when(observed(40)).after(30).so_far()
    story.when(*believed(command("retry"))).after(30).then("command.accepted retry", "fix.requested 4/1")


def test_a_cycle_that_ends_otherwise_in_between_is_no_row() -> None:
    story = collecting().when(not_fetched("access_lost")).so_far()
    story = story.when(observed(20)).after(30).when(fetched(n=2)).so_far()
    assert (story.loop.n, story.loop.vain) == (2, 0)


def test_a_pull_request_that_is_really_closed_finishes_the_loop() -> None:
    fixing().when(failed("closed")).so_far().when(closed()).then("loop.finished closed")


# --- the cycle's own failure ---------------------------------------------------------------------------------------

own = in_all_three("no_change", "limits", "checks_failed", "policy", "refused", "malformed")


@own
def test_a_failure_of_the_cycles_own_work_is_used_and_asks_a_human(fact: AnyFact) -> None:
    story = ending(fact)
    reason = fact.model_dump()["reason"]
    assert story.decided[-2:] == [f"cycle.finished 1 failed {reason} used", f"escalated {reason}"]
    assert (story.loop.used, story.status) == (1, "needs_human")


def test_a_missing_sandbox_asks_a_human_and_is_not_used() -> None:
    story = fixing().when(failed("sandbox_unavailable"))
    story.then("cycle.finished 1 failed sandbox_unavailable", "escalated sandbox_unavailable")
    assert story.loop.used == 0


def test_what_a_failed_cycle_was_about_is_deferred_with_the_reason() -> None:
    story = fixing().when(failed("checks_failed"))
    assert story.judgement("review/1") is Judgement.DEFERRED
    assert story.loop.items["review/1"].verdicts


def test_what_was_no_work_of_a_failed_cycle_is_not_put_aside_with_it() -> None:
    story = collecting().when(fetched(item(), item("thread/5", by=TOM)), started())
    story.when(policy_changed(triggers=("comments",)), failed("checks_failed"))
    assert [verdict.item for verdict in story.last(CycleFinished).verdicts] == ["review/1"]


def test_what_a_failed_cycle_was_about_is_open_again_after_a_retry() -> None:
    story = fixing().when(failed("checks_failed")).so_far().when(command("retry")).after(30)
    story.then("command.accepted retry", "fix.requested 2/1")


def test_a_human_pause_outlasts_every_wait() -> None:
    story = collecting(Overrides()).when(command("pause"), not_fetched()).so_far().after(600).then()
    story.when(command("resume")).then("command.accepted resume", "loop.resumed", "fix.requested 1/2")


def test_a_fix_that_answers_only_some_items_without_a_change_has_failed() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started()).so_far()
    story.when(prepared(verdict(judgement="answered"), changes=()))
    story.then("cycle.finished 1 failed no_change used", "escalated no_change")
