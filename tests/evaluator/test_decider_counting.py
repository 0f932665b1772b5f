"""What counts: which feedback starts anything, under which trigger, and whose."""

import pytest

from amends.common.events import AnyFact, Author, Finding, PolicyChanged
from amends.common.policy import Overrides
from tests.support.facts import (
    EVE,
    GHOST,
    HEAD,
    MARIA,
    NEXT,
    PANEL,
    ROBOT,
    TOM,
    US,
    approved,
    aside,
    believed,
    check,
    checked,
    command,
    comment,
    commented,
    deleted,
    dismissed,
    edited,
    failed,
    fetched,
    item,
    looked_at,
    observed,
    policy_changed,
    prepared,
    pushed,
    rejected,
    resolved,
    started,
    unresolved,
    verdict,
)
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import ANYONE, CHECKS, NOBODY, ONLY_TOM, ROBOT_MAY, THREADS

# --- triggers ------------------------------------------------------------------------------------------------------


def starts(story: Telling) -> bool:
    """Whether it comes to a request."""
    return any(line.startswith("fix.requested") for line in story.after(300).decided)


@pytest.mark.parametrize(
    "facts",
    [
        believed(rejected()),
        believed(rejected(body="")),
        (*believed(rejected()), aside()),
        (command("refine", text="use a set"),),
        (rejected(by=PANEL),),
    ],
    ids=["a rejection", "one without words", "with a comment below", "refine", "an external reviewer"],
)
def test_without_any_trigger_these_start_a_fix(facts: tuple[AnyFact, ...]) -> None:
    assert starts(given(*facts))


@pytest.mark.parametrize(
    "facts",
    [
        (comment(),),
        believed(commented()),
        believed(approved(body="but mind the name", head=NEXT)),
        (aside(),),
        (check(),),
        (resolved(),),
        (command("explain"),),
        (observed(1, labels=("feature",)),),
    ],
    ids=["thread", "comment-only review", "approval", "conversation", "check", "resolved", "explain", "label"],
)
def test_without_any_trigger_these_start_nothing(facts: tuple[AnyFact, ...]) -> None:
    assert not starts(given(*facts))


@pytest.mark.parametrize("facts", [(comment(),), believed(commented())], ids=["thread", "comment-only review"])
def test_the_trigger_comments_adds_threads_and_reviews_that_only_comment(facts: tuple[AnyFact, ...]) -> None:
    assert starts(given(*facts, policy=THREADS))


@pytest.mark.parametrize(
    "facts",
    [(aside(),), believed(approved(body="nice")), (*believed(rejected(body="")), dismissed()), (check(),)],
    ids=["conversation", "approval", "dismissed rejection", "check"],
)
def test_the_trigger_comments_adds_nothing_else(facts: tuple[AnyFact, ...]) -> None:
    assert not starts(given(*facts, policy=THREADS))


def test_a_rejection_makes_everything_its_author_said_count() -> None:
    story = given(comment(5), comment(6, by=TOM), aside()).when(*believed(rejected())).after(30).so_far()
    story.when(fetched(item("thread/5"), item("thread/6", by=TOM), item("comment/8"))).when(started())
    story.when(prepared(verdict("thread/5"), verdict("comment/8")), pushed()).so_far().after(300).then()


def test_a_rejecting_reviewers_reply_makes_anothers_thread_count() -> None:
    story = given(comment(5, by=TOM), comment(5, "I agree", reply=6)).when(*believed(rejected())).after(30).so_far()
    story.when(fetched(item("thread/5", by=TOM))).then()
    assert story.status == "fixing"


def test_the_findings_of_an_external_reviewer_are_items_with_their_text() -> None:
    findings = (Finding(text="too slow", path="shop.py", line=3), Finding(text="too long"))
    story = given(rejected(by=PANEL).model_copy(update={"findings": findings})).after(30)
    assert {"finding/1/1", "finding/1/2"} <= set(story.loop.items)
    story.then("fix.requested 1/1")


def test_a_standing_rejection_whose_items_all_have_verdicts_starts_nothing() -> None:
    awaiting_review().after(3_000).then()


# --- checks --------------------------------------------------------------------------------------------------------


def test_the_trigger_checks_adds_a_failed_required_check() -> None:
    assert starts(given(check(), policy=CHECKS))


@pytest.mark.parametrize(
    "changes", [{"required": False}, {"fails_on_base": True}, {"conclusion": "success"}, {"conclusion": "neutral"}]
)
def test_no_other_check_is_an_item(changes: dict[str, object]) -> None:
    assert not starts(given(check(**changes), policy=CHECKS))


def test_no_check_at_all_is_no_failed_check() -> None:
    assert not starts(given(check(conclusion="none_started"), policy=CHECKS))


def test_a_check_that_failed_on_an_older_head_does_not_count() -> None:
    assert not starts(given(check(HEAD), observed(1, head=NEXT), policy=CHECKS))


def test_a_check_that_fails_before_its_head_was_seen_counts_when_it_is() -> None:
    story = given(check(NEXT), policy=CHECKS).after(300).then()
    assert starts(story.when(observed(1, head=NEXT)))


def test_a_check_that_passes_in_the_end_does_not_count() -> None:
    assert not starts(given(check(), check(conclusion="success", updated_at=observed(9).updated_at), policy=CHECKS))


def test_late_news_of_an_older_head_does_not_hide_that_the_check_fails_now() -> None:
    story = given(observed(1, head=NEXT), check(NEXT), policy=CHECKS)
    assert starts(story.when(check(HEAD, conclusion="success"), check(HEAD)))


def test_a_check_has_one_verdict_for_each_head() -> None:
    story = given(check(), policy=CHECKS).after(30).when(fetched(item("check/build")), started())
    story.when(prepared(verdict("check/build")), pushed(), observed(40, head=NEXT)).so_far()
    story.after(300).then()
    story.when(check(NEXT)).after(30).then("fix.requested 2/1")


def test_a_check_that_fails_while_it_is_collected_is_no_news_afterwards() -> None:
    story = collecting(CHECKS).when(check(), fetched(item(), item("check/build")), started()).so_far()
    story.when(prepared(verdict(), verdict("check/build")), pushed(), observed(40, head=NEXT)).after(300)
    assert story.judgement("check/build") == "fixed"
    assert not starts(story.so_far())


# --- whose ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", [US, GHOST, ROBOT], ids=["our own", "a deleted account's", "an unlisted bot's"])
def test_these_comments_start_nothing(by: Author) -> None:
    assert not starts(given(comment(by=by), policy=THREADS))


def test_our_own_reply_does_not_open_again_what_it_answers() -> None:
    story = fixing(THREADS).when(prepared(), pushed(), comment(text="done", by=US)).so_far()
    assert not starts(story)


def test_a_listed_bots_comment_counts() -> None:
    assert starts(given(comment(by=ROBOT), policy=Overrides(triggers=("comments",), bots=(ROBOT.id,))))


def test_a_listed_bots_rejection_counts_without_a_look_at_its_permission() -> None:
    assert starts(given(rejected(by=ROBOT), policy=ROBOT_MAY))


def test_an_unlisted_bots_rejection_starts_nothing() -> None:
    assert not starts(given(rejected(by=ROBOT)))


def test_a_stranger_is_found_out_by_collecting_and_starts_nothing_more() -> None:
    story = given(comment(by=EVE), policy=THREADS).after(30).then("fix.requested 1/1")
    story.when(fetched(seen=looked_at(comment(by=EVE)), strangers=(EVE.id,))).so_far()
    assert not starts(story.when(comment(6, "and another", by=EVE)))


def test_a_stranger_who_may_write_now_counts() -> None:
    story = given(comment(by=EVE), policy=THREADS).after(30)
    story.when(fetched(strangers=(EVE.id,))).so_far()
    assert starts(story.when(*believed(rejected(4, EVE))))


def test_somebody_whom_the_list_leaves_out_starts_nothing() -> None:
    story = given(*believed(rejected()), policy=ONLY_TOM)
    assert not starts(story)
    assert starts(story.when(*believed(rejected(4, TOM))))


def test_somebody_on_the_list_who_may_not_write_starts_nothing() -> None:
    assert not starts(given(*believed(rejected(by=TOM), "read"), policy=ONLY_TOM))


def test_an_empty_list_is_nobody() -> None:
    assert not starts(given(*believed(rejected()), policy=NOBODY))


def test_anyone_has_to_be_written_out() -> None:
    assert starts(given(rejected(by=EVE), policy=ANYONE))
    assert not starts(given(rejected(by=EVE), checked(rejected(by=EVE), "read")))


def test_a_rejection_waits_until_its_author_was_checked() -> None:
    story = given(rejected())
    assert not starts(story)
    assert starts(story.when(checked(rejected())))


def test_a_rejection_by_the_panels_token_is_believed() -> None:
    assert starts(given(rejected(by=PANEL)))


# --- resolved, deleted, edited -------------------------------------------------------------------------------------


def test_a_resolved_thread_does_not_count() -> None:
    assert not starts(given(comment(), resolved(), policy=THREADS))


def test_a_thread_that_is_opened_again_counts() -> None:
    assert starts(given(comment(), resolved(), unresolved(), policy=THREADS))


def test_what_is_said_after_a_thread_was_resolved_counts() -> None:
    story = given(comment(), resolved(seconds=100), policy=THREADS)
    assert starts(story.when(comment(text="not quite", reply=6, seconds=200)))
    story.so_far().when(fetched(item("thread/5", "why so?/not quite", resolved=True))).then()
    assert story.status == "fixing"


def test_a_last_word_before_a_thread_was_resolved_does_not_count() -> None:
    story = given(comment(), resolved(seconds=100), policy=THREADS)
    assert not starts(story.when(comment(text="thanks", reply=6, seconds=90)))


def test_a_deleted_comment_does_not_count() -> None:
    assert not starts(given(comment(), deleted(comment()), policy=THREADS))


def test_a_deletion_that_overtakes_its_comment_holds() -> None:
    assert not starts(given(deleted(comment()), comment(), policy=THREADS))


def test_an_edit_is_a_new_version() -> None:
    story = given(comment(), policy=THREADS).after(30).when(fetched(item("thread/5"), seen=looked_at(comment())))
    story.when(started(), prepared(verdict("thread/5")), pushed()).so_far()
    assert starts(story.when(edited(comment(), "no, really")))


def test_an_edit_there_and_back_again_needs_no_second_verdict() -> None:
    story = given(comment(), policy=THREADS).when(edited(comment(), "oh", 10), edited(comment(), "why so?", 20))
    story.after(30).when(fetched(item("thread/5", "why so?"), seen=looked_at(comment()))).when(started()).so_far()
    story.when(prepared(verdict("thread/5", text="why so?")), pushed()).then(
        "push.requested 1/1", "resolve.requested", "cycle.finished 1 pushed used"
    )
    assert not starts(story)


def test_an_older_edit_that_arrives_late_changes_nothing() -> None:
    early, late = given(policy=THREADS), given(policy=THREADS)
    early.when(comment(), edited(comment(), "two", 20), edited(comment(), "three", 30))
    late.when(comment(), edited(comment(), "three", 30), edited(comment(), "two", 20))
    assert early.loop.items["thread/5"].hints["C5"].body == late.loop.items["thread/5"].hints["C5"].body


# --- what a policy change does -------------------------------------------------------------------------------------


def test_a_change_of_policy_wakes_no_loop_by_itself() -> None:
    story = given(comment()).when(policy_changed(triggers=("comments",))).then()
    assert starts(story.when(comment(6)))


def test_a_verdict_for_the_version_that_was_fetched_stays_when_the_policy_changes() -> None:
    story = pushing().when(policy_changed(reviewers=()), pushed())
    assert story.judgement("review/1") == "fixed"
    assert not starts(story.so_far())


def test_reviewers_that_were_narrowed_hold_at_once() -> None:
    story = collecting().when(policy_changed(reviewers=(TOM.id,)), fetched(item()))
    story.then("cycle.finished 1 nothing_to_do")


def test_reviewers_that_were_widened_hold_from_the_next_cycle() -> None:
    story = settling(ONLY_TOM).when(*believed(rejected(4, TOM))).after(30).so_far()
    story.when(policy_changed(reviewers="write"), fetched(item(by=MARIA))).then("cycle.finished 1 nothing_to_do")
    story.after(30).then("fix.requested 2/1")


def test_more_attempts_are_allowed_from_the_next_cycle() -> None:
    story = fixing(Overrides(max_attempts=1)).when(policy_changed(max_attempts=9), failed("crashed"))
    story.then("cycle.finished 1 failed fixer_crashing", "escalated fixer_crashing")


@pytest.mark.parametrize("change", [policy_changed(max_attempts=1), policy_changed(worktree_missing="fail")])
def test_fewer_attempts_are_allowed_at_once(change: PolicyChanged) -> None:
    story = fixing().when(change, failed("workspace_lost"))
    assert story.decided[0].startswith("cycle.finished 1 failed")


def test_more_attempts_do_not_help_a_fix_under_which_the_head_moves_either() -> None:
    story = fixing(Overrides(max_attempts=1)).when(policy_changed(max_attempts=9), observed(1, head=NEXT), prepared())
    story.then("cycle.finished 1 failed head_moving", "escalated head_moving")
