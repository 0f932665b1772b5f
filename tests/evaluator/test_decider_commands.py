"""The table of commands in design.md section 6, row by row, and who may give them."""

from collections.abc import Callable

import pytest

from amends.common.events import AnyFact, CommandName, FixRequested, Judgement, Permission
from tests.support.facts import (
    ANNA,
    EVE,
    MARIA,
    NEXT,
    ROBOT,
    TOM,
    US,
    approved,
    aside,
    believed,
    checked,
    closed,
    command,
    comment,
    failed,
    fetched,
    item,
    looked_at,
    observed,
    only_answered,
    prepared,
    pushed,
    rejected,
    resolved,
    started,
    verdict,
)
from tests.support.given import MOST, Telling, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import ONE_CYCLE, ONLY_TOM, THREADS


def stopped() -> Telling:
    """The fixer's checks failed: a human is asked."""
    return fixing().when(failed("checks_failed")).so_far()


def asking() -> Telling:
    """The fixer has a question."""
    return fixing().when(only_answered(verdict(judgement="needs_human"))).so_far()


# --- fix -----------------------------------------------------------------------------------------------------------


def test_fix_collects_now_what_counts() -> None:
    settling().when(command("fix")).then("command.accepted fix", "fix.requested 1/1")


def test_fix_collects_also_what_the_triggers_leave_out() -> None:
    story = given(comment()).after(100).then().when(command("fix"))
    story.then("command.accepted fix", "fix.requested 1/1")
    assert story.last(FixRequested).scope == "all"
    story.when(fetched(item("thread/5"))).then()
    assert story.status == "fixing"


def test_fix_with_nothing_to_do_ends_quietly() -> None:
    given(command("fix")).when(fetched()).then("cycle.finished 1 nothing_to_do")


def test_fix_during_a_cycle_is_done_after_it() -> None:
    story = pushing().when(command("fix")).then("command.accepted fix").when(pushed())
    story.then("cycle.finished 1 pushed used", "review.requested of maria", "fix.requested 2/1")


def test_fix_during_a_cycle_is_done_with_its_next_attempt_if_there_is_one() -> None:
    story = fixing().when(comment(by=TOM), command("fix"), failed("crashed"))
    story.then("command.accepted fix", "fix.requested 1/2")
    assert story.last(FixRequested).scope == "all"
    story.when(fetched(item(), item("thread/5", by=TOM), k=2), started(k=2)).so_far()
    story.when(prepared(verdict(), verdict("thread/5"), k=2), pushed())
    assert (story.judgement("thread/5"), story.loop.ask) == ("fixed", "")


def asked_for(*said: AnyFact) -> Telling:
    """Two threads that no trigger covers are asked for and collected."""
    story = given(comment(by=TOM), comment(6, by=TOM), command("fix"))
    seen = looked_at(comment(by=TOM), comment(6, by=TOM))
    story.when(fetched(item("thread/5", by=TOM), item("thread/6", by=TOM), seen=seen), started(), *said)
    return story.when(prepared(verdict("thread/5")), pushed()).so_far()


def test_what_fix_asked_for_and_was_left_for_the_next_cycle_is_in_it() -> None:
    asked_for().after(30).then("fix.requested 2/1")


def test_what_fix_asked_for_and_is_superseded_is_in_the_next_cycle() -> None:
    story = asked_for(resolved(6), comment(text="and the other", by=TOM, reply=7))
    assert story.judgement("thread/5") is Judgement.SUPERSEDED
    story.after(30).then("fix.requested 2/1")


def test_what_fix_asked_for_and_has_its_verdict_is_as_before() -> None:
    story = asked_for(resolved(6)).when(comment(text="and the other", by=TOM, reply=7)).after(300).then()
    assert story.judgement("thread/5") is Judgement.FIXED


def test_fix_starts_a_finished_loop_again() -> None:
    story = given(*believed(approved()), aside(by=TOM)).so_far()
    story.when(command("fix")).then("command.accepted fix", "fix.requested 1/1")


def test_fix_on_a_closed_pull_request_is_refused() -> None:
    given(closed()).when(command("fix")).then("command.refused fix finished")


def test_fix_grants_no_further_cycle() -> None:
    story = awaiting_review(ONE_CYCLE).when(command("fix"))
    story.then("command.accepted fix", "escalated max_cycles")


# --- retry ---------------------------------------------------------------------------------------------------------


def test_retry_grants_one_cycle_and_opens_failed_items_again() -> None:
    story = stopped().when(command("retry")).after(30).then("command.accepted retry", "fix.requested 2/1")
    assert (story.loop.granted, story.loop.used) == (1, 1)
    story.when(fetched(item(), n=2)).then()
    assert story.status == "fixing"


def test_retry_opens_an_unanswered_question_again() -> None:
    story = asking().when(command("retry")).after(30).then("command.accepted retry", "fix.requested 2/1")
    story.when(fetched(item(), n=2)).then()


def test_retry_opens_deferred_items_again() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started())
    story.when(only_answered(verdict(judgement="needs_human"), verdict("thread/5", "deferred"))).so_far()
    story.when(command("retry")).after(30).when(fetched(item(), item("thread/5"), n=2))
    assert [story.judgement("review/1"), story.judgement("thread/5")] == [None, None]


@pytest.mark.parametrize("stage", [given, settling, collecting, fixing, pushing, awaiting_review])
def test_retry_where_no_human_is_needed_is_answered_with_nothing_to_retry(stage: Callable[[], Telling]) -> None:
    story = stage()
    story.when(command("retry")).then("command.refused retry nothing_to_retry")


# --- refine --------------------------------------------------------------------------------------------------------


def test_the_text_of_refine_is_an_item() -> None:
    story = given().when(command("refine", text="use a set")).after(30)
    story.then("command.accepted refine", "fix.requested 1/1")
    assert [text.text for text in story.last(FixRequested).texts] == ["use a set"]
    story.when(fetched(item("command/refine-1", "use a set"))).then()


def test_refine_from_needs_human_is_also_a_retry() -> None:
    story = stopped().when(command("refine", text="use a set")).after(30)
    story.then("command.accepted refine", "fix.requested 2/1")
    assert (story.loop.granted, story.judgement("review/1")) == (1, None)


def test_refine_elsewhere_grants_nothing() -> None:
    assert awaiting_review().when(command("refine", text="use a set")).loop.granted == 0


def test_a_refined_item_has_one_verdict_and_does_not_come_back() -> None:
    story = given(command("refine", text="use a set")).after(30).when(fetched(item("command/refine-1", "use a set")))
    story.when(started(), prepared(verdict("command/refine-1", text="use a set")), pushed()).so_far()
    story.after(600).then()


# --- skip, accept --------------------------------------------------------------------------------------------------


def test_skip_defers_what_is_open() -> None:
    story = settling().when(command("skip")).then("command.accepted skip").after(600).then()
    assert story.status == "watching"
    story.when(command("fix"), fetched(item())).so_far()
    assert story.judgement("review/1") is Judgement.DEFERRED


def test_skip_ends_the_running_cycle_and_what_it_collected_is_deferred() -> None:
    story = fixing().when(command("skip")).then("command.accepted skip", "cycle.finished 1 cancelled skip")
    assert story.judgement("review/1") is Judgement.DEFERRED
    story.after(600).then()


def test_what_was_skipped_counts_again_when_more_is_said() -> None:
    story = settling(THREADS).when(command("skip"), comment()).after(30)
    story.then("command.accepted skip", "fix.requested 1/1")


def test_accept_defers_what_is_open_and_finishes_the_loop() -> None:
    story = stopped().when(command("accept")).then("command.accepted accept", "loop.finished accepted")
    assert (story.status, story.judgement("review/1")) == ("done", Judgement.DEFERRED)
    story.after(600).then()


def test_accept_ends_the_running_cycle() -> None:
    story = fixing().when(command("accept"))
    story.then("command.accepted accept", "cycle.finished 1 cancelled accepted", "loop.finished accepted")


def test_accept_also_takes_back_an_earlier_fix() -> None:
    story = fixing().when(command("fix"), command("accept")).so_far().after(600).then()
    assert story.status == "done"


def test_after_accept_new_feedback_starts_again() -> None:
    story = stopped().when(command("accept")).so_far()
    story.when(*believed(rejected(4))).after(30).then("fix.requested 2/1")


# --- reset ---------------------------------------------------------------------------------------------------------


def test_reset_starts_the_counters_over_and_then_does_what_retry_does() -> None:
    story = stopped().when(command("retry"), command("reset")).after(30)
    story.then("command.accepted retry", "command.accepted reset", "fix.requested 2/1")
    assert (story.loop.used, story.loop.granted) == (0, 0)


def test_reset_never_takes_back_the_numbers_of_cycles() -> None:
    story = awaiting_review().when(command("reset"), *believed(rejected(4))).after(30)
    story.then("command.accepted reset", "fix.requested 2/1")


def test_reset_starts_a_stopped_loop_again() -> None:
    story = settling().when(command("stop")).so_far().when(command("reset")).after(30)
    story.then("command.accepted reset", "fix.requested 1/1")


# --- ready, stop ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", [given, settling, collecting, fixing, pushing, awaiting_review, stopped, asking])
@pytest.mark.parametrize(("name", "outcome"), [("ready", "ready"), ("stop", "stopped")])
def test_ready_and_stop_finish_from_anywhere(stage: Callable[[], Telling], name: CommandName, outcome: str) -> None:
    story = stage()
    story.when(command(name))
    assert story.decided[-1] == f"loop.finished {outcome}"
    story.so_far().after(600).then()
    assert story.status == "done"


def test_after_stop_new_feedback_starts_nothing() -> None:
    story = settling().when(command("stop")).so_far()
    story.when(*believed(rejected(4)), comment(), observed(9, head=NEXT)).after(600).then()


@pytest.mark.parametrize("name", ["retry", "refine", "skip", "accept", "ready", "stop"])
def test_after_stop_the_other_commands_are_refused(name: CommandName) -> None:
    story = settling().when(command("stop")).so_far().when(command(name, id_="later")).after(600)
    assert [line.rpartition(" ")[0] for line in story.decided] == [f"command.refused {name}"]


def test_after_stop_fix_starts_again() -> None:
    story = settling().when(command("stop")).so_far()
    story.when(command("fix")).then("command.accepted fix", "fix.requested 1/1")


def test_after_ready_new_feedback_starts_again() -> None:
    story = settling().when(command("ready")).so_far()
    story.when(*believed(rejected(4))).after(30).then("fix.requested 1/1")


# --- explain, help, resume -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["explain", "help"])
@pytest.mark.parametrize("stage", [given, settling, fixing, stopped])
def test_explain_and_help_are_answered_anywhere_and_change_nothing(
    stage: Callable[[], Telling], name: CommandName
) -> None:
    story = stage()
    before = story.status
    assert story.when(command(name)).then(f"command.accepted {name}").status == before


def test_resume_where_nothing_is_paused_is_refused() -> None:
    settling().when(command("resume")).then("command.refused resume not_paused")


# --- whose commands ------------------------------------------------------------------------------------------------


def test_a_comments_command_waits_until_its_author_was_checked() -> None:
    story = settling().when(command("stop", by=TOM)).then()
    story.when(checked(command("stop", by=TOM))).then("command.accepted stop", "loop.finished stopped")


def test_a_check_that_arrives_before_its_command_holds_for_it() -> None:
    story = settling().when(checked(command("stop", by=TOM))).then()
    story.when(command("stop", by=TOM)).then("command.accepted stop", "loop.finished stopped")


@pytest.mark.parametrize("permission", ["triage", "read", "none"])
def test_a_command_of_somebody_who_may_not_write_is_refused(permission: Permission) -> None:
    story = settling().when(command("stop", by=EVE), checked(command("stop", by=EVE), permission))
    story.then("command.refused stop untrusted").after(30).then("fix.requested 1/1")


def test_a_command_of_somebody_outside_the_list_is_refused_unseen() -> None:
    given(policy=ONLY_TOM).when(command("fix", by=MARIA)).then("command.refused fix untrusted")


def test_a_command_of_an_unlisted_bot_or_of_our_own_is_refused() -> None:
    story = given().when(command("fix", by=ROBOT), command("fix", by=US, id_="ours"))
    story.then("command.refused fix untrusted", "command.refused fix untrusted")


def test_the_author_of_the_pull_request_may_command_it() -> None:
    settling().when(*believed(command("fix", by=ANNA))).then("command.accepted fix", "fix.requested 1/1")


def test_the_same_command_twice_is_one_command() -> None:
    story = settling().when(command("fix"), command("fix")).then("command.accepted fix", "fix.requested 1/1")
    assert story.already == 1


def test_a_command_before_the_pull_request_was_seen_waits_for_it() -> None:
    story = Telling().when(command("fix")).so_far().then()
    story.when(observed()).then("command.refused fix not_here")


def test_a_crowd_of_commands_before_the_pull_request_was_seen_is_answered_a_few_at_a_time() -> None:
    story = Telling().when(*(command("help", id_=f"help-{number}") for number in range(30))).when(observed())
    assert 0 < len(story.decided) < MOST
    assert story.after(0).decided == ["command.accepted help"] * 30


def test_where_amends_is_not_enabled_commands_are_refused_and_explained() -> None:
    story = given(pull=observed(full_name="octo/other"))
    story.when(command("fix"), command("explain")).then("command.refused fix not_here", "command.accepted explain")


# --- the installation ----------------------------------------------------------------------------------------------


def test_the_installation_knows_pause_and_resume_only() -> None:
    story = given().installation(command("pause"), command("fix"), command("resume"), command("resume", id_="again"))
    story.then(
        *["command.accepted pause", "loop.paused", "command.refused fix paused"],
        *["command.accepted resume", "loop.resumed", "command.refused resume not_paused"],
    )


def test_no_comment_commands_the_installation() -> None:
    given().installation(command("pause", by=MARIA)).then("command.refused pause untrusted")
