"""Pause beats everything: facts are recorded, nothing is decided; and how each state goes on at the resume."""

from collections.abc import Callable

import pytest

from amends.common.events import AnyFact, Author, CommandGiven, CommandName, PushRequested
from amends.common.policy import Overrides
from tests.support.facts import (
    EVE,
    NEXT,
    ROBOT,
    TOM,
    approved,
    believed,
    checked,
    closed,
    command,
    failed,
    fetched,
    item,
    observed,
    policy_changed,
    prepared,
    pushed,
    refused,
    rejected,
    started,
)
from tests.support.given import MOST, Telling, again, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import ANYONE, MANY_CYCLES, ONLY_TOM

RESUMED = ("command.accepted resume", "loop.resumed")


def paused(story: Telling) -> Telling:
    return story.when(command("pause")).then("command.accepted pause", "loop.paused")


@pytest.mark.parametrize("stage", [given, settling, collecting, fixing, pushing, awaiting_review])
def test_from_anywhere_nothing_is_decided_while_it_is_paused(stage: Callable[[], Telling]) -> None:
    story = paused(stage())
    story.when(*believed(rejected(4)), *believed(approved(5, TOM)), command("fix"), closed(90), observed(95))
    story.after(3_000).then()
    assert story.status == "paused"


@pytest.mark.parametrize("stage", [given, settling, collecting, fixing, pushing, awaiting_review])
def test_from_anywhere_nothing_is_decided_under_the_kill_switch(stage: Callable[[], Telling]) -> None:
    story = stage().installation(command("pause")).so_far()
    story.when(*believed(rejected(4)), command("fix"), command("resume"), closed(90), observed(95))
    story.after(3_000).then()
    assert story.status == "paused"


# --- resume --------------------------------------------------------------------------------------------------------


def test_a_prepared_fix_is_pushed_at_the_resume_when_the_head_has_not_moved() -> None:
    story = paused(fixing()).when(prepared()).then()
    story.when(command("resume")).then(*RESUMED, "push.requested 1/1")


def test_a_push_that_pausing_cut_off_is_asked_for_again() -> None:
    story = paused(pushing()).when(refused("cancelled")).then()
    story.when(command("resume")).then(*RESUMED, "push.requested 1/1 again 1")
    assert story.last(PushRequested).changes


def test_a_prepared_fix_is_made_afresh_when_the_head_has_moved() -> None:
    story = paused(fixing()).when(prepared(), observed(9, head=NEXT)).then()
    story.when(command("resume")).then(*RESUMED, "fix.requested 1/2")


def test_work_that_was_cut_off_is_begun_again() -> None:
    story = paused(fixing()).when(failed("cancelled")).then()
    story.when(command("resume")).then(*RESUMED, "fix.requested 1/2")


def test_work_whose_fixer_died_meanwhile_is_begun_again() -> None:
    story = paused(fixing()).after(2_000).then()
    story.when(command("resume")).then(*RESUMED, "fix.requested 1/2")


def test_a_push_that_was_made_meanwhile_ends_its_cycle() -> None:
    story = paused(pushing()).when(pushed()).then()
    story.when(command("resume")).then(*RESUMED, "cycle.finished 1 pushed used", "review.requested of maria")


ENDINGS: list[tuple[AnyFact, list[str]]] = [
    (closed(), ["loop.finished closed"]),
    (command("accept"), ["review.requested of maria", "command.accepted accept", "loop.finished accepted"]),
    (command("stop"), ["review.requested of maria", "command.accepted stop", "loop.finished stopped"]),
    (command("skip"), ["review.requested of maria", "command.accepted skip"]),
]


@pytest.mark.parametrize(("end", "decided"), ENDINGS, ids=["closed", "accept", "stop", "skip"])
def test_a_push_that_was_made_meanwhile_is_told_before_anything_ends(end: AnyFact, decided: list[str]) -> None:
    story = paused(pushing()).when(pushed(), end).then()
    story.when(command("resume")).then(*RESUMED, "cycle.finished 1 pushed used", *decided)
    assert story.judgement("review/1") == "fixed"


def test_what_nobody_was_told_for_hours_is_asked_for_again_one_by_one_after_the_resume() -> None:
    story = awaiting_review(MANY_CYCLES)
    for review in range(4, 11):
        again(story, review)
    paused(story.so_far()).after(2 * 3_600).then().when(command("resume")).then(*RESUMED)
    assert len(story.after(1).decided) > MOST


@pytest.mark.parametrize("reason", ["draft", "closed", "branch_gone", "access_lost"])
def test_a_pull_request_that_was_seen_since_its_cycle_was_cut_off_is_not_held_back(reason: str) -> None:
    story = paused(fixing()).when(failed(reason), observed(50)).then()
    story.when(command("resume")).then(*RESUMED, f"cycle.finished 1 cancelled {reason}")
    story.after(30).then("fix.requested 2/1")


def test_what_was_collected_meanwhile_goes_to_the_fixer() -> None:
    story = paused(collecting()).when(fetched(item())).then().when(command("resume")).then(*RESUMED)
    assert story.status == "fixing"


def test_what_came_meanwhile_settles() -> None:
    story = paused(given()).when(*believed(rejected())).after(600).then()
    story.when(command("resume")).after(30).then(*RESUMED, "fix.requested 1/1")


def test_a_pull_request_that_was_closed_meanwhile_is_finished() -> None:
    story = paused(fixing()).when(closed()).then()
    story.when(command("resume")).then(*RESUMED, "cycle.finished 1 cancelled closed", "loop.finished closed")


def test_an_approval_that_came_meanwhile_finishes_the_loop() -> None:
    story = paused(given()).when(*believed(approved())).then()
    story.when(command("resume")).then(*RESUMED, "loop.finished approved")


# --- commands meanwhile --------------------------------------------------------------------------------------------


def test_a_command_given_meanwhile_is_carried_out_at_the_resume() -> None:
    story = paused(settling()).when(command("stop")).then()
    story.when(command("resume")).then(*RESUMED, "command.accepted stop", "loop.finished stopped")


def test_a_second_pause_is_taken_back_by_the_same_resume() -> None:
    story = paused(settling()).when(command("pause", id_="second"), command("resume")).then(*RESUMED)
    story.after(30).then("fix.requested 1/1")


def test_it_may_be_paused_and_resumed_again_and_again() -> None:
    story = paused(settling()).when(command("resume")).then(*RESUMED)
    story.when(command("pause", id_="second")).then("command.accepted pause", "loop.paused")
    story.when(command("resume", id_="third")).then(*RESUMED)


def test_a_resume_waits_until_its_author_was_checked() -> None:
    story = paused(settling()).when(command("resume", by=TOM)).then()
    story.when(checked(command("resume", by=TOM))).then(*RESUMED)


def test_a_stranger_resumes_nothing() -> None:
    paused(settling()).when(*believed(command("resume", by=EVE), "read")).then()


@pytest.mark.parametrize("name", ["explain", "help"])
def test_who_asks_why_nothing_happens_is_answered_in_the_pause(name: CommandName) -> None:
    story = paused(settling()).when(command(name)).then(f"command.accepted {name}")
    assert (story.status, story.loop.commands) == ("paused", {})
    story.when(*believed(command(name, by=EVE, id_="strange"), "read")).then()


def test_a_crowd_of_commands_does_not_set_off_more_than_can_be_decided_at_once() -> None:
    story = paused(settling()).when(*(command("skip", id_=f"skip-{number}") for number in range(40)))
    story.when(command("resume"))
    assert story.decided[:2] == list(RESUMED)


def test_a_crowd_of_strangers_does_not_push_out_what_a_maintainer_said() -> None:
    story = paused(settling()).when(*believed(command("stop", by=TOM)))
    crowd = [believed(command("help", by=EVE, id_=f"help-{number}"), "none") for number in range(40)]
    story.when(*(fact for pair in crowd for fact in pair), command("resume"))
    assert "loop.finished stopped" in story.decided


def test_a_crowd_that_nobody_has_looked_up_yet_does_not_either() -> None:
    story = paused(settling()).when(*believed(command("stop", by=TOM)), command("resume", by=TOM))
    story.when(*(command("help", by=EVE, id_=f"help-{number}") for number in range(30))).then()
    story.when(checked(command("resume", by=TOM)))
    assert story.decided[:2] == list(RESUMED)
    assert "loop.finished stopped" in story.decided


def test_of_a_crowd_that_turns_out_to_be_believed_no_more_is_done_than_can_be_decided_at_once() -> None:
    crowd = [command("skip", by=TOM, id_=f"skip-{number}") for number in range(30)]
    story = paused(settling()).when(*crowd, *map(checked, crowd)).then()
    story.when(command("resume"))
    assert story.decided[:2] == list(RESUMED)


def crowd(by: Author, number: int = 30) -> list[CommandGiven]:
    """So many commands, one comment each."""
    return [command("skip", by=by, id_=f"crowd-{one}") for one in range(number)]


def answered(story: Telling) -> int:
    """How many commands were accepted or refused."""
    return sum(line.startswith(("command.accepted skip", "command.refused skip")) for line in story.decided)


@pytest.mark.parametrize(
    ("policy", "by"),
    [(ONLY_TOM, EVE), (ANYONE, EVE), (None, ROBOT)],
    ids=["not on the list", "anyone", "an unlisted bot"],
)
def test_a_crowd_that_nobody_has_to_look_up_is_answered_a_few_at_a_time(policy: Overrides | None, by: Author) -> None:
    story = paused(given(policy=policy)).when(*crowd(by), command("resume"))
    assert answered(story) < MOST
    assert answered(story.after(0)) == 30
    assert story.loop.commands == {}


def test_pausing_comes_before_every_other_command_that_waits() -> None:
    story = given(command("stop", by=TOM), command("pause", by=TOM)).when(checked(command("pause", by=TOM)))
    story.then("command.accepted pause", "loop.paused").when(checked(command("stop", by=TOM))).then()


# --- the kill switch -----------------------------------------------------------------------------------------------


def lifted(story: Telling) -> Telling:
    return story.installation(command("resume"))


def test_what_settled_under_the_kill_switch_starts_when_it_is_lifted() -> None:
    story = given().installation(command("pause")).when(*believed(rejected())).after(600).so_far()
    lifted(story).after(30).then(*RESUMED, "fix.requested 1/1")


def test_a_commands_turn_comes_when_the_kill_switch_is_lifted() -> None:
    story = settling().installation(command("pause")).when(command("stop")).so_far()
    lifted(story).then(*RESUMED, "command.accepted stop", "loop.finished stopped")


def test_a_crowd_under_the_kill_switch_is_answered_a_few_at_a_time_when_it_is_lifted() -> None:
    story = given().installation(command("pause")).when(*crowd(EVE))
    story.when(*(checked(one, "none") for one in crowd(EVE))).so_far()
    assert answered(lifted(story)) < MOST
    assert answered(story.after(0)) == 30


def test_a_crowd_that_asks_why_nothing_happens_is_answered_a_few_at_a_time_if_a_pause_goes_on() -> None:
    story = given().installation(command("pause")).when(*(command("help", id_=f"help-{one}") for one in range(30)))
    lifted(story.when(command("pause")).so_far())
    assert 0 < story.decided.count("command.accepted help") < MOST
    story.after(0)
    assert (story.decided.count("command.accepted help"), story.status) == (30, "paused")


def test_what_nobody_was_told_for_hours_under_the_kill_switch_is_asked_for_again_one_by_one_afterwards() -> None:
    story = awaiting_review(MANY_CYCLES)
    for review in range(4, 11):
        again(story, review)
    story.when(command("pause"), command("resume"))
    lifted(story.installation(command("pause")).so_far().after(2 * 3_600).then()).then(*RESUMED)
    assert len(story.after(1).decided) > MOST


def test_an_approval_under_the_kill_switch_finishes_the_loop_when_it_is_lifted() -> None:
    story = given().installation(command("pause")).when(*believed(approved())).so_far()
    lifted(story).then(*RESUMED, "loop.finished approved")


def test_a_pull_request_closed_under_the_kill_switch_is_finished_when_it_is_lifted() -> None:
    story = fixing().installation(command("pause")).when(closed()).so_far()
    lifted(story).then(*RESUMED, "cycle.finished 1 cancelled closed", "loop.finished closed")


def test_a_loops_own_pause_outlasts_the_kill_switch() -> None:
    story = paused(settling()).installation(command("pause")).so_far()
    lifted(story).after(600).then(*RESUMED)
    assert story.status == "paused"


def test_a_change_of_policy_lifts_no_kill_switch() -> None:
    story = settling().installation(command("pause"), policy_changed(max_cycles=5)).so_far()
    story.after(600).then()


def test_a_fixer_that_delivers_under_the_kill_switch_is_heard_afterwards() -> None:
    story = collecting().when(fetched(item()), started()).installation(command("pause")).so_far()
    lifted(story.when(prepared()).then()).then(*RESUMED, "push.requested 1/1")
