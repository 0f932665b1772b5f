"""The first table of design.md section 6, row by row: in this state, when this, then that."""

from amends.common.events import Escalated
from tests.support.facts import (
    ANNA,
    HEAD,
    MARIA,
    NEXT,
    ROBOT,
    TOM,
    approved,
    believed,
    checked,
    closed,
    command,
    comment,
    dismissed,
    fetched,
    item,
    observed,
    only_answered,
    prepared,
    pushed,
    rejected,
    started,
    verdict,
)
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import ONE_CYCLE, ROBOT_MAY, THREADS


def stopped() -> Telling:
    """The one cycle is used, and Maria asks for changes again."""
    return awaiting_review(ONE_CYCLE).when(*believed(rejected(4))).after(30).so_far()


# --- any -----------------------------------------------------------------------------------------------------------


def test_while_paused_facts_are_recorded_and_nothing_is_decided() -> None:
    story = given(command("pause")).when(*believed(rejected())).after(600)
    story.then()
    assert story.status == "paused"
    assert 1 in story.loop.reviews


def test_under_the_kill_switch_facts_are_recorded_and_nothing_is_decided() -> None:
    story = given().installation(command("pause")).so_far().when(*believed(rejected())).after(600)
    story.then()
    assert story.status == "paused"
    assert 1 in story.loop.reviews


def test_a_closed_pull_request_finishes_the_loop() -> None:
    settling().when(closed()).then("loop.finished closed")


def test_a_merged_pull_request_finishes_the_loop() -> None:
    settling().when(closed(merged=True)).then("loop.finished merged")


def test_closing_ends_the_running_cycle_first() -> None:
    fixing().when(closed()).then("cycle.finished 1 cancelled closed", "loop.finished closed")


def test_a_reopened_pull_request_is_watched_with_its_ledger_and_counters() -> None:
    story = awaiting_review().when(closed(60), observed(90, head=NEXT)).then("loop.finished closed")
    assert story.status == "awaiting_review"
    assert (story.loop.n, story.loop.used, story.judgement("review/1")) == (1, 1, "fixed")


def test_what_was_stopped_stays_so_through_closing_and_reopening() -> None:
    story = settling().when(command("stop"), closed(60), closed(70, merged=True)).so_far()
    story.when(observed(90)).then("loop.finished stopped")
    story.when(*believed(rejected(4))).after(300).then()
    story.when(command("fix")).then("command.accepted fix", "fix.requested 1/1")


def test_feedback_that_was_open_at_closing_goes_on_after_reopening() -> None:
    settling().when(closed(60)).so_far().when(observed(90)).after(30).then("fix.requested 1/1")


# --- watching, awaiting_review, done -------------------------------------------------------------------------------


def test_what_counts_moves_a_watching_loop_to_settling() -> None:
    story = given()
    assert story.status == "watching"
    assert story.when(*believed(rejected())).status == "settling"


def test_what_counts_moves_a_loop_that_awaits_review_to_settling() -> None:
    story = awaiting_review()
    assert story.status == "awaiting_review"
    assert story.when(*believed(rejected(4))).status == "settling"


def test_what_counts_moves_a_finished_loop_to_settling() -> None:
    story = given(*believed(approved())).so_far()
    assert story.status == "done"
    assert story.when(*believed(rejected(4))).status == "settling"
    story.after(30).then("fix.requested 1/1")


# --- settling ------------------------------------------------------------------------------------------------------


def test_when_the_settle_window_is_over_a_fix_is_requested() -> None:
    story = settling().after(29).then().after(1).then("fix.requested 1/1")
    assert story.status == "collecting"


def test_when_all_cycles_are_used_a_human_is_asked_and_nothing_is_collected() -> None:
    story = awaiting_review(ONE_CYCLE).when(*believed(rejected(4))).after(30)
    story.then("escalated max_cycles")
    assert story.status == "needs_human"


def test_the_escalation_names_the_new_feedback() -> None:
    assert stopped().last(Escalated).items == ("review/4",)


# --- collecting ----------------------------------------------------------------------------------------------------


def test_nothing_trusted_and_open_ends_the_cycle_unused_and_nobody_is_told() -> None:
    asked = len(collecting().loop.asks)
    story = collecting().when(fetched()).then("cycle.finished 1 nothing_to_do")
    assert (story.loop.used, len(story.loop.asks), story.status) == (0, asked, "watching")


def test_collected_feedback_waits_for_a_fixer() -> None:
    assert collecting().when(fetched(item())).then().status == "fixing"


# --- fixing --------------------------------------------------------------------------------------------------------


def test_every_item_answered_without_a_change_ends_the_cycle_used_and_asks_for_no_review() -> None:
    story = fixing().when(only_answered(verdict(judgement="answered"))).then("cycle.finished 1 answered used")
    assert story.status == "awaiting_review"


def test_a_prepared_fix_is_to_be_pushed() -> None:
    story = fixing().when(prepared()).then("push.requested 1/1")
    assert story.status == "pushing"


# --- pushing -------------------------------------------------------------------------------------------------------


def test_a_pushed_fix_ends_the_cycle_and_its_reviewer_is_asked_again() -> None:
    story = pushing().when(pushed()).then("cycle.finished 1 pushed used", "review.requested of maria")
    assert (story.status, story.judgement("review/1")) == ("awaiting_review", "fixed")


def test_only_reviewers_all_of_whose_items_have_verdicts_are_asked_again() -> None:
    story = collecting().when(*believed(rejected(4, TOM)), fetched(item(), item("review/4", by=TOM)), started())
    story.when(prepared(verdict())).so_far().when(pushed())
    story.then("cycle.finished 1 pushed used", "review.requested of maria")


def test_when_no_reviewer_is_wholly_answered_no_review_is_requested() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started(), prepared(verdict())).so_far()
    story.when(pushed()).then("cycle.finished 1 pushed used")


def test_what_came_during_the_push_settles_after_it() -> None:
    story = pushing(THREADS).when(comment(text="and this"), pushed()).so_far()
    assert story.status == "settling"


# --- after a cycle -------------------------------------------------------------------------------------------------


def test_an_open_question_is_escalated_and_other_items_go_on() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started())
    story.when(prepared(verdict(), verdict("thread/5", "needs_human"))).so_far().when(pushed())
    story.then("cycle.finished 1 pushed used", "review.requested of maria", "escalated question")
    assert story.status == "needs_human"
    story.when(comment(6, "another thing")).after(30).then("fix.requested 2/1")


def test_a_question_is_left_by_a_new_trusted_version_of_its_item() -> None:
    story = fixing().when(only_answered(verdict(judgement="needs_human"))).so_far()
    story.when(*believed(rejected(4, body="take the second"))).after(30).then("fix.requested 2/1")


# --- needs_human (stopped) -----------------------------------------------------------------------------------------


def test_a_stopped_loop_only_records_rejections_comments_and_pushes() -> None:
    story = stopped().when(*believed(rejected(5, TOM)), comment(), observed(90, head=HEAD)).after(3_000)
    story.then()
    assert story.status == "needs_human"


def test_a_stopped_loop_is_left_by_a_command() -> None:
    stopped().when(command("retry")).after(30).then("command.accepted retry", "fix.requested 2/1")


def test_a_stopped_loop_is_left_by_approval() -> None:
    stopped().when(*believed(approved(5, head=NEXT))).then("loop.finished approved")


# --- any resting ---------------------------------------------------------------------------------------------------


def test_an_approval_of_the_current_head_clears_his_rejection_and_finishes_a_resting_loop() -> None:
    awaiting_review().when(*believed(approved(2, head=NEXT))).then("loop.finished approved")


def test_an_approval_that_only_bots_gave_finishes_the_loop_as_ready() -> None:
    given(policy=ROBOT_MAY).when(approved(2, ROBOT)).then("loop.finished ready")


def test_an_approval_beside_a_standing_rejection_finishes_nothing() -> None:
    awaiting_review().when(*believed(approved(2, TOM, head=NEXT))).then()


def test_an_approval_of_an_older_head_finishes_nothing() -> None:
    given(observed(40, head=NEXT)).when(*believed(approved(2, head=HEAD))).then()


def test_the_authors_own_approval_finishes_nothing() -> None:
    given().when(*believed(approved(2, ANNA))).then()


def test_an_untrusted_approval_finishes_nothing() -> None:
    given().when(approved(2), checked(approved(2), "read")).then()


def test_an_approval_beside_something_that_counts_finishes_nothing_yet() -> None:
    given(comment(by=MARIA), policy=THREADS).when(*believed(approved(2, TOM))).then()


def test_an_approval_beside_an_open_question_finishes_nothing() -> None:
    story = fixing().when(only_answered(verdict(judgement="needs_human"))).so_far()
    story.when(dismissed(), *believed(approved(2, TOM))).then()


def test_the_command_ready_finishes_the_loop_as_ready() -> None:
    awaiting_review().when(command("ready")).then("command.accepted ready", "loop.finished ready")


def test_an_approval_during_a_cycle_waits_until_it_is_over() -> None:
    story = pushing().when(*believed(approved(2, head=NEXT))).then()
    story.when(pushed(), observed(40, head=NEXT))
    story.then("cycle.finished 1 pushed used", "loop.finished approved")
