"""The rules of the loop in ../shared/requirements, one test each, as far as the core decides them.

Where design.md overrules a requirement (an empty list is nobody, no degrading to a summary, no "newer than last
checked", no push without a change) the test says what the design says.
"""

from collections.abc import Callable

import pytest

from amends.common.events import (
    AnyFact,
    CommandName,
    Escalated,
    FixRequested,
    PushRequested,
    ReviewRequested,
)
from amends.common.loop import needs_human
from amends.common.policy import Overrides
from tests.support.facts import (
    EVE,
    HEAD,
    MARIA,
    NEXT,
    PANEL,
    ROBOT,
    TOM,
    US,
    approved,
    believed,
    check,
    closed,
    command,
    comment,
    commented,
    failed,
    fetched,
    item,
    not_fetched,
    observed,
    only_answered,
    policy_changed,
    prepared,
    pushed,
    rejected,
    started,
    verdict,
)
from tests.support.given import Telling, again, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import CHECKS, MANY_CYCLES, NOBODY, ONE_CYCLE, ONLY_TOM, THREADS


def requested(story: Telling) -> int:
    """How many fixes were asked for so far."""
    return sum(event.type == "fix.requested" for event in story.events)


# --- S1, user scenarios --------------------------------------------------------------------------------------------


def test_us_1_a_rejection_starts_a_fix_by_itself() -> None:
    given().when(*believed(rejected())).after(30).then("fix.requested 1/1")


def test_us_1_the_fix_is_collected_made_and_pushed() -> None:
    story = collecting().when(fetched(item()), started(), prepared()).then("push.requested 1/1")
    assert story.last(PushRequested).head_ref == "basket"


def test_us_2_after_the_push_the_reviewer_looks_again_and_the_cycle_is_counted() -> None:
    story = pushing().when(pushed()).then("cycle.finished 1 pushed used", "review.requested of maria")
    assert (story.last(ReviewRequested).sha, story.loop.used) == (NEXT, 1)


def test_us_3_after_two_cycles_the_next_rejection_is_escalated_and_nothing_more_is_fixed() -> None:
    story = again(awaiting_review(), 4).so_far()
    again(story, 5).then("escalated max_cycles")
    assert needs_human(story.loop)
    assert requested(story) == 2


def test_us_4_a_fixer_begins_only_when_all_feedback_is_collected() -> None:
    story = collecting()
    assert story.status == "collecting"
    assert story.when(fetched(item(), item("thread/5"), item("comment/8"))).status == "fixing"
    assert set(story.loop.items) == {"review/1", "thread/5", "comment/8"}


def test_us_5_an_approved_pull_request_has_no_loop() -> None:
    story = given().when(*believed(approved())).after(3_000).then("loop.finished approved")
    assert requested(story) == 0


# --- S1, functional requirements -----------------------------------------------------------------------------------


def test_fr_1_a_request_says_which_cycle_it_is_from_which_head_and_under_which_limits() -> None:
    request = collecting().last(FixRequested)
    assert (request.n, request.k, request.head, request.rules.max_cycles) == (1, 1, HEAD, 2)


def test_fr_2_the_limit_is_checked_before_anything_is_collected() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4)
    assert requested(story) == 1
    assert story.decided[-1] == "escalated max_cycles"


def test_fr_4_no_change_is_a_failure_and_is_not_tried_again() -> None:
    story = fixing().when(failed("no_change"))
    story.then("cycle.finished 1 failed no_change used", "escalated no_change").after(3_000).then()


def test_fr_4_an_error_of_the_agents_work_is_a_failure_and_is_not_tried_again() -> None:
    story = fixing().when(failed("malformed"))
    story.then("cycle.finished 1 failed malformed used", "escalated malformed").after(3_000).then()


def test_fr_5_the_limit_is_two_unless_the_policy_says_otherwise() -> None:
    assert given().policy.max_cycles == 2
    assert given(policy=ONE_CYCLE).policy.max_cycles == 1


def test_fr_5_beyond_the_limit_neither_a_fix_nor_a_review_is_requested() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).so_far()
    again(story, 5).after(3_000).then()


def test_fr_6_the_review_is_requested_of_the_same_pull_request_at_the_new_head() -> None:
    request = pushing().when(pushed()).last(ReviewRequested)
    assert (request.n, request.sha, request.reviewers) == (1, NEXT, (MARIA,))


def test_fr_7_the_workspace_is_the_same_in_every_cycle() -> None:
    story = collecting().when(fetched(item()), started().model_copy(update={"workspace": "octo-shop-7"}), prepared())
    story.when(pushed(), *believed(rejected(4))).after(30)
    assert story.loop.workspace == "octo-shop-7"


def test_fr_7_a_workspace_that_is_gone_ends_the_attempt_and_not_the_loop() -> None:
    fixing().when(failed("workspace_lost")).then("fix.requested 1/2")


def test_fr_8_comments_that_cannot_be_fetched_are_waited_for_and_never_left_out() -> None:
    story = collecting().when(not_fetched("github_incomplete")).then().after(60).then("fix.requested 1/2")
    assert story.status == "collecting"


# --- S1, the rest --------------------------------------------------------------------------------------------------


def test_nfr_2_looking_again_and_again_before_a_fixer_starts_makes_no_second_fix() -> None:
    story = collecting().when(rejected(), *believed(rejected()), observed(), observed()).after(500)
    story.then()
    assert requested(story) == 1


def test_nfr_3_an_agent_has_ten_minutes_unless_the_policy_says_otherwise() -> None:
    assert given().policy.budget.agent_seconds == 600


def test_nfr_4_every_step_of_the_loop_is_an_event() -> None:
    types = [event.type for event in awaiting_review().events if event.loop == "1-pr-7"]
    steps = ["fix.requested", "comments.fetched", "fix.started", "fix.prepared", "push.requested", "fix.pushed"]
    assert [type_ for type_ in types if type_ in steps] == steps
    assert types.count("cycle.finished") == 1


def test_the_loop_ends_when_the_pull_request_is_merged() -> None:
    awaiting_review().when(closed(90, merged=True)).then("loop.finished merged")


def test_the_loop_ends_when_the_pull_request_is_closed() -> None:
    awaiting_review().when(closed(90)).then("loop.finished closed")


# --- S2 ------------------------------------------------------------------------------------------------------------


def test_s2_refinement_stops_at_a_limit() -> None:
    story = awaiting_review()
    story = again(again(again(again(story, 4), 5), 6), 7)
    assert requested(story) == 2


@pytest.mark.parametrize(
    ("facts", "policy"),
    [
        (believed(rejected()), None),
        ((comment(),), THREADS),
        (believed(commented()), THREADS),
        ((check(),), CHECKS),
        ((command("refine", text="use a set"),), None),
    ],
    ids=["a rejection", "a thread", "a comment-only review", "a failed check", "a person's wish"],
)
def test_s2_feedback_on_the_pull_request_triggers_a_refinement(facts: tuple[AnyFact, ...], policy: Overrides) -> None:
    assert given(policy=policy).when(*facts).after(30).decided[-1] == "fix.requested 1/1"


def test_s2_a_question_is_answered_without_a_change() -> None:
    fixing().when(only_answered(verdict(judgement="answered"))).then("cycle.finished 1 answered used")


def test_s2_what_needs_a_humans_decision_is_flagged_and_the_rest_is_fixed() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started())
    story.when(prepared(verdict(), verdict("thread/5", "needs_human")), pushed())
    assert story.decided[-1] == "escalated question"
    assert story.judgement("review/1") == "fixed"


def test_s2_a_partial_fix_keeps_what_it_left_open() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started(), prepared(verdict()), pushed()).so_far()
    story.after(30).then("fix.requested 2/1")


@pytest.mark.parametrize("stage", [settling, collecting, fixing, pushing, awaiting_review])
@pytest.mark.parametrize("name", ["skip", "ready", "refine", "pause", "accept", "stop"])
def test_s2_a_human_can_overrule_it_at_any_stage(stage: Callable[[], Telling], name: CommandName) -> None:
    assert stage().when(command(name, text="x")).decided[0] == f"command.accepted {name}"


def test_s2_the_state_survives_a_restart_in_the_middle() -> None:
    story = fixing()
    story.loops["1-pr-7"] = story.folded()
    story.when(prepared(), pushed())
    story.then("push.requested 1/1", "cycle.finished 1 pushed used", "review.requested of maria")


def test_s2_a_step_whose_worker_died_is_taken_up_again() -> None:
    fixing().when(failed("crashed")).then("fix.requested 1/2")


def test_s2_it_can_be_switched_off_for_a_repository_and_for_one_pull_request() -> None:
    settling().when(policy_changed(repositories=())).after(300).then()
    settling().when(observed(1, labels=("amends: off",))).after(300).then()


def test_s2_humans_are_told_when_it_is_ready() -> None:
    story = given(policy=Overrides(bots=(ROBOT.id,))).when(approved(2, ROBOT)).then("loop.finished ready")
    assert [ask.fact.type for ask in story.loop.asks.values()] == ["loop.finished"]


def test_s2_a_silent_step_is_an_error_that_somebody_sees() -> None:
    story = collecting().after(1_800)
    assert story.decided[-1] == "escalated stalled"


# --- S3 ------------------------------------------------------------------------------------------------------------


def test_s3_changes_requested_by_an_agent_queue_a_rework() -> None:
    given().when(rejected(by=PANEL)).after(30).then("fix.requested 1/1")


def test_s3_feedback_is_acted_on_once() -> None:
    story = awaiting_review().when(rejected(), *believed(rejected())).after(3_000).then()
    assert requested(story) == 1


def test_s3_feedback_during_a_rework_waits_until_it_is_done() -> None:
    story = fixing().when(*believed(rejected(4, TOM))).after(100).then()
    story.when(prepared(), pushed()).so_far().after(30).then("fix.requested 2/1")


def test_s3_the_loop_ends_with_approval() -> None:
    awaiting_review().when(approved(2, PANEL, head=NEXT)).then()
    awaiting_review().when(*believed(approved(2, head=NEXT))).then("loop.finished approved")


def test_s3_at_the_limit_it_escalates_with_all_feedback_history() -> None:
    story = again(again(awaiting_review(), 4), 5)
    past = story.last(Escalated)
    assert [(line.n, line.outcome) for line in past.history] == [(1, "pushed"), (2, "pushed")]
    assert past.items


def test_s3_a_human_may_resolve_it_himself() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).so_far()
    story.when(observed(99, head="d" * 40), *believed(approved(9, head="d" * 40))).then("loop.finished approved")


def test_s3_a_human_may_reset_the_count_and_allow_more_attempts() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).so_far()
    story.when(command("reset")).after(30).then("command.accepted reset", "fix.requested 2/1")


def test_s3_a_human_may_accept_it_despite_the_issues() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).so_far()
    story.when(command("accept")).then("command.accepted accept", "loop.finished accepted")


def test_s3_the_count_is_not_lost_by_a_restart() -> None:
    story = again(awaiting_review(), 4)
    assert story.folded().used == story.loop.used == 2


# --- S4 ------------------------------------------------------------------------------------------------------------


def test_s4_it_is_off_unless_somebody_switched_it_on() -> None:
    story = Telling().when(observed(), *believed(rejected())).after(300).then()
    assert not story.policy.enabled


def test_s4_many_detections_of_one_comment_start_one_fix() -> None:
    story = given(comment(), comment(), comment(), policy=THREADS).after(30).when(comment()).after(100)
    assert requested(story) == 1


def test_s4_one_pull_request_has_one_fixer_at_a_time() -> None:
    story = fixing(THREADS).when(comment(6), *believed(rejected(4, TOM)), command("fix")).after(300)
    assert requested(story) == 1


def test_s4_only_allowed_users_trigger_a_fix() -> None:
    given(*believed(rejected(1, MARIA)), policy=ONLY_TOM).after(300).then()
    given(*believed(rejected(1, TOM)), policy=ONLY_TOM).after(30).then("fix.requested 1/1")


def test_s4_an_empty_list_of_users_is_nobody() -> None:
    given(*believed(rejected()), policy=NOBODY).after(300).then()


def test_s4_a_user_without_write_access_triggers_nothing() -> None:
    given(*believed(rejected(by=EVE), "read")).after(300).then()


def test_s4_a_comment_counts_however_old_it_is_until_it_has_its_verdict() -> None:
    story = pushing(THREADS).when(comment(5, seconds=-90_000), pushed()).so_far()
    story.after(30).then("fix.requested 2/1")


def test_s4_a_comment_that_has_its_verdict_never_counts_again() -> None:
    story = given(comment(), policy=THREADS).after(30).when(fetched(item("thread/5")), started())
    story.when(prepared(verdict("thread/5")), pushed()).so_far().when(comment(seconds=50)).after(3_000).then()


def test_s4_a_person_may_trigger_a_check_at_once() -> None:
    given(comment()).when(command("fix")).then("command.accepted fix", "fix.requested 1/1")


def test_s4_a_custom_prompt_goes_with_every_request() -> None:
    story = collecting(Overrides(custom_prompt="Prefer small changes."))
    assert story.last(FixRequested).rules.custom_prompt == "Prefer small changes."


def test_s4_all_reviewers_who_wait_for_an_answer_are_asked_to_look_again() -> None:
    story = given(*believed(rejected()), *believed(rejected(4, TOM))).after(30)
    story.when(fetched(item(), item("review/4", by=TOM)), started(), prepared(verdict(), verdict("review/4")))
    assert story.when(pushed()).last(ReviewRequested).reviewers == (MARIA, TOM)


def test_s4_nobody_is_asked_to_look_again_when_nothing_was_pushed() -> None:
    fixing().when(only_answered(verdict(judgement="declined"))).then("cycle.finished 1 answered used")


def test_s4_an_outage_of_github_is_waited_out_and_no_cycle_is_used() -> None:
    story = collecting().when(not_fetched()).after(60).then("fix.requested 1/2")
    assert story.loop.used == 0


def test_s4_its_own_comments_never_trigger_it() -> None:
    given(comment(by=US), policy=THREADS).after(300).then()


def test_s4_a_bot_that_nobody_listed_never_triggers_it() -> None:
    given(comment(by=ROBOT), rejected(by=ROBOT), policy=THREADS).after(300).then()


# --- a whole story -------------------------------------------------------------------------------------------------


def test_a_review_goes_round_until_it_is_satisfied() -> None:
    story = given(policy=MANY_CYCLES).when(*believed(rejected())).after(30)
    story.when(fetched(item()), started(), prepared(), pushed(), observed(40, head=NEXT))
    story.when(*believed(rejected(4, head=NEXT))).after(30)
    story.when(fetched(item("review/4"), n=2, head=NEXT), started(n=2))
    story.when(prepared(verdict("review/4"), n=2, base=NEXT), pushed(2, "d" * 40))
    story.when(*believed(approved(6, head="d" * 40))).then(
        *["fix.requested 1/1", "push.requested 1/1", "cycle.finished 1 pushed used", "review.requested of maria"],
        *["fix.requested 2/1", "push.requested 2/1", "cycle.finished 2 pushed used", "review.requested of maria"],
        "loop.finished approved",
    )
