"""Verdicts: each version of an item ends in exactly one, and what comes meanwhile is the next cycle's."""

import pytest

from amends.common.events import AnyFact, CommentEdited, CycleFinished, Escalated, FixRequested, Judgement
from tests.support.facts import (
    EVE,
    MARIA,
    NEXT,
    TOM,
    approved,
    aside,
    believed,
    check,
    command,
    comment,
    commented,
    edited,
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
    unresolved,
    verdict,
)
from tests.support.given import Telling, collecting, fixing, given
from tests.support.policies import CHECKS, MANY_CYCLES, THREADS


def thread_fixing() -> Telling:
    """Maria's thread was collected, and a fixer has claimed it."""
    story = given(comment(), policy=THREADS).after(30)
    return story.when(fetched(item("thread/5"), seen=looked_at(comment())), started()).so_far()


# --- what comes meanwhile ------------------------------------------------------------------------------------------


def test_a_version_that_is_outdated_at_the_end_of_its_cycle_is_superseded_and_the_next_cycle_begins() -> None:
    story = thread_fixing().when(comment(text="wait", reply=6), prepared(verdict("thread/5")), pushed())
    assert story.judgement("thread/5") is Judgement.SUPERSEDED
    story.so_far().after(30).then("fix.requested 2/1")


def test_what_comes_while_collecting_and_was_not_seen_is_the_next_cycles() -> None:
    story = given(comment(), policy=THREADS).after(30).when(comment(6)).so_far()
    story.when(fetched(item("thread/5"), seen=looked_at(comment())), started(), prepared(verdict("thread/5")), pushed())
    story.so_far().after(30).then("fix.requested 2/1")


def test_what_comes_while_collecting_and_was_seen_is_no_news() -> None:
    story = given(comment(), policy=THREADS).after(30).when(comment(6)).so_far()
    seen = looked_at(comment(), comment(6))
    story.when(fetched(item("thread/5"), item("thread/6"), seen=seen), started())
    story.when(prepared(verdict("thread/5"), verdict("thread/6")), pushed()).so_far().after(300).then()


def test_a_hint_that_arrives_after_its_text_was_collected_is_no_news() -> None:
    story = given(comment(), policy=THREADS).after(30)
    story.when(fetched(item("thread/5"), seen=looked_at(comment(), edited(comment(), "wait"))), started()).so_far()
    story.when(edited(comment(), "wait"), prepared(verdict("thread/5")), pushed())
    assert story.judgement("thread/5") is Judgement.FIXED
    story.so_far().after(300).then()


def test_a_rejection_during_a_fix_waits_for_the_next_cycle() -> None:
    story = fixing().when(*believed(rejected(4, TOM))).then().when(prepared(), pushed())
    story.then("push.requested 1/1", "cycle.finished 1 pushed used", "review.requested of maria")
    story.after(30).then("fix.requested 2/1")


def test_a_reply_to_an_item_of_an_earlier_cycle_does_not_spoil_an_answer_of_this_one() -> None:
    story = given(comment(), policy=MANY_CYCLES.model_copy(update={"triggers": ("comments",)})).after(30)
    story.when(fetched(item("thread/5")), started(), only_answered(verdict("thread/5", "answered")), comment(6))
    story.after(30).when(fetched(item("thread/5"), item("thread/6"), n=2), started(n=2)).so_far()
    story.when(comment(text="and?", reply=7), only_answered(verdict("thread/6", "answered"), n=2))
    story.then("cycle.finished 2 answered used").after(30).then("fix.requested 3/1")


def test_news_of_an_old_item_alone_is_no_work_for_a_running_collection() -> None:
    story = thread_fixing().when(prepared(verdict("thread/5")), pushed()).when(*believed(commented())).after(30)
    story.so_far().when(comment(text="and?", reply=7), fetched(item("thread/5"), n=2))
    story.then("cycle.finished 2 nothing_to_do").after(30).then("fix.requested 3/1")


def test_a_strangers_reply_during_a_fix_supersedes_nothing_when_he_is_known() -> None:
    story = given(comment(), policy=THREADS).after(30).when(fetched(item("thread/5"), strangers=(EVE.id,)), started())
    story.when(comment(text="me too", by=EVE, reply=6), prepared(verdict("thread/5")), pushed())
    assert story.judgement("thread/5") is Judgement.FIXED


def test_a_version_that_comes_back_after_it_was_superseded_gets_its_verdict() -> None:
    story = thread_fixing().when(comment(text="wait", reply=6), prepared(verdict("thread/5")), pushed()).after(30)
    story.when(fetched(item("thread/5"), n=2), started(n=2)).so_far()
    story.when(only_answered(verdict("thread/5", "answered"), n=2)).then("cycle.finished 2 answered used")


# --- what a verdict is ---------------------------------------------------------------------------------------------


def test_a_verdict_on_a_version_that_was_not_collected_means_nothing() -> None:
    story = fixing().when(prepared(verdict(text="something else")), pushed())
    assert story.last(CycleFinished).verdicts == ()
    assert story.judgement("review/1") is None


def test_only_items_that_were_pushed_are_fixed() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started())
    story.when(prepared(verdict(), verdict("thread/5")), pushed(items=("review/1",)))
    assert (story.judgement("review/1"), story.judgement("thread/5")) == (Judgement.FIXED, None)


def test_declined_and_deferred_items_are_at_rest() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started())
    story.when(only_answered(verdict(judgement="declined"), verdict("thread/5", "deferred"))).so_far()
    story.after(3_000).then()


def test_an_item_that_got_no_verdict_is_in_the_next_cycle() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started(), prepared(verdict()), pushed()).so_far()
    story.after(30).then("fix.requested 2/1")
    assert [closed.item for closed in story.last(FixRequested).closed] == ["review/1"]


def test_an_item_that_is_gone_is_at_rest() -> None:
    story = collecting().when(fetched(item(), item("thread/5")), started(), prepared(verdict()), pushed()).after(30)
    story.so_far().when(fetched(item(), n=2)).then("cycle.finished 2 nothing_to_do").after(300).then()


def test_a_withdrawn_rejection_leaves_nothing_to_do() -> None:
    story = collecting().when(fetched(item())).when(*believed(approved(2)))
    story.then("cycle.finished 1 nothing_to_do", "loop.finished approved")


def test_a_withdrawn_rejection_does_not_disturb_a_fixer_at_work() -> None:
    fixing().when(*believed(approved(2))).then()


# --- questions -----------------------------------------------------------------------------------------------------


def asking() -> Telling:
    """The fixer has a question about Maria's thread."""
    return thread_fixing().when(only_answered(verdict("thread/5", "needs_human")))


def test_a_question_is_escalated_once_for_each_version() -> None:
    story = asking().then("cycle.finished 1 answered used", "escalated question")
    assert (story.status, story.last(Escalated).stops, story.last(Escalated).items) == (
        *("needs_human", False),
        ("thread/5",),
    )
    story.when(observed(9, title="New words"), *believed(commented(body=""))).then()


def test_the_next_version_may_be_asked_about_again() -> None:
    story = asking().when(comment(text="the second", reply=6)).so_far().after(30)
    story.when(fetched(item("thread/5", "the second"), n=2), started(n=2))
    story.when(only_answered(verdict("thread/5", "needs_human", "the second"), n=2))
    story.then("fix.requested 2/1", "cycle.finished 2 answered used", "escalated question")


def test_a_strangers_word_is_no_answer_to_a_question() -> None:
    story = given(comment(), policy=THREADS).after(30).when(fetched(item("thread/5"), strangers=(EVE.id,)), started())
    story.when(only_answered(verdict("thread/5", "needs_human")), comment(text="the first", by=EVE, reply=6))
    assert story.status == "needs_human"
    story.so_far().when(*believed(approved(2, TOM))).then()


def test_a_question_whose_thread_somebody_resolved_is_no_question() -> None:
    story = asking().so_far().when(resolved(), *believed(approved(2, TOM)))
    story.then("loop.finished approved")


def test_a_question_about_a_check_is_none_when_the_head_has_moved_on() -> None:
    story = given(check(), policy=CHECKS).after(30).when(fetched(item("check/build")), started())
    story.when(only_answered(verdict("check/build", "needs_human"))).then(
        "fix.requested 1/1", "cycle.finished 1 answered used", "escalated question"
    )
    story.when(observed(60, head=NEXT), check(NEXT, conclusion="success"), command("retry"))
    story.then("command.refused retry nothing_to_retry")
    story.when(*believed(approved(2, TOM, head=NEXT))).then("loop.finished approved")


def test_if_the_check_fails_there_too_it_is_collected_anew() -> None:
    story = given(check(), policy=CHECKS).after(30).when(fetched(item("check/build")), started())
    story.when(only_answered(verdict("check/build", "needs_human")), observed(60, head=NEXT), check(NEXT)).so_far()
    story.after(30).then("fix.requested 2/1")


def two_questions(*meanwhile: AnyFact) -> Telling:
    """The fixer has a question about each of two threads; this happens before he asks."""
    story = given(comment(), comment(8), policy=THREADS).after(30)
    story.when(fetched(item("thread/5"), item("thread/8")), started(), *meanwhile)
    return story.when(only_answered(verdict("thread/5", "needs_human"), verdict("thread/8", "needs_human"))).so_far()


def test_a_question_whose_thread_is_opened_again_is_asked_beside_the_others_of_its_cycle() -> None:
    story = two_questions(resolved(8)).when(unresolved(8)).then("escalated question")
    assert story.last(Escalated).items == ("thread/8",)


def test_questions_whose_threads_are_opened_one_by_one_are_each_asked_once() -> None:
    story = two_questions(resolved(), resolved(8)).then()
    story.when(unresolved()).then("escalated question").when(unresolved(8)).then("escalated question")
    story.when(resolved(seconds=300), unresolved(seconds=400)).then()


def test_an_answer_in_a_thread_that_nobody_asked_about_settles_the_question_beside_it() -> None:
    story = given(comment(), comment(8), command("fix")).when(fetched(item("thread/5"), item("thread/8")), started())
    question = verdict("thread/5", "needs_human").model_copy(update={"beside": ("thread/8",)})
    story.when(only_answered(question, verdict("thread/8", "answered"))).so_far()
    story.when(comment(8, "the second", TOM, reply=9, seconds=50))
    assert story.status == "settling"
    story.after(30).then("fix.requested 2/1")


def test_other_items_go_on_while_a_question_is_open() -> None:
    story = asking().so_far().when(comment(8, by=MARIA)).after(30).then("fix.requested 2/1")
    story.when(fetched(item("thread/5"), item("thread/8"), n=2), started(n=2), prepared(verdict("thread/8"), n=2))
    story.when(pushed(2, NEXT)).then("push.requested 2/1", "resolve.requested", "cycle.finished 2 pushed used")
    assert story.status == "needs_human"


def beside_a_question(word: AnyFact, *, early: bool = False) -> Telling:
    """While the fixer works on what Tom wants, this is said about his question to Maria; or even before he begins."""
    story = fixing(MANY_CYCLES).when(only_answered(verdict(judgement="needs_human")), *believed(rejected(4, TOM)))
    collected = (fetched(item(), item("review/4", by=TOM), n=2), started(n=2))
    return story.after(30).when(*((word, *collected) if early else (*collected, word))).so_far()


WORDS = [aside(text="the second"), command("retry"), command("refine", text="the second"), command("reset")]
opens_it_again = pytest.mark.parametrize("word", WORDS, ids=["an answer", "retry", "refine", "reset"])


@opens_it_again
@pytest.mark.parametrize("early", [True, False])
def test_a_question_that_is_opened_again_during_a_cycle_is_the_next_ones(word: AnyFact, *, early: bool) -> None:
    story = beside_a_question(word, early=early).when(only_answered(verdict("review/4", "answered"), n=2))
    story.then("cycle.finished 2 answered used").after(30).then("fix.requested 3/1")


@opens_it_again
def test_nor_is_it_put_aside_with_what_that_cycle_failed_at(word: AnyFact) -> None:
    story = beside_a_question(word).when(failed("checks_failed", n=2))
    assert [verdict.item for verdict in story.last(CycleFinished).verdicts] == ["review/4"]


def test_an_answer_that_was_collected_without_its_question_is_the_next_cycles_too() -> None:
    question = verdict(judgement="needs_human").model_copy(update={"reason": "which?"})
    answer = aside(text="the second")
    story = fixing(MANY_CYCLES).when(only_answered(question), *believed(rejected(4, TOM))).after(30).when(answer)
    found = item(), item("review/4", by=TOM), item("comment/8", "the second")
    story.when(fetched(*found, n=2, seen=looked_at(answer)), started(n=2)).so_far()
    verdicts = verdict("review/4", "answered"), verdict("comment/8", "declined", "the second")
    story.when(only_answered(*verdicts, n=2)).then("cycle.finished 2 answered used").after(30)
    assert [asked.answers for asked in story.last(FixRequested).questions] == [("comment/8",)]


# --- review.requested ----------------------------------------------------------------------------------------------


def test_a_review_is_requested_only_after_a_push() -> None:
    fixing().when(only_answered(verdict(judgement="declined"))).then("cycle.finished 1 answered used")


def test_every_rejecting_reviewer_who_is_wholly_answered_is_asked() -> None:
    story = given(*believed(rejected()), *believed(rejected(4, TOM))).after(30).so_far()
    story.when(fetched(item(), item("review/4", by=TOM)), started(), prepared(verdict(), verdict("review/4")), pushed())
    assert story.decided[-1] == "review.requested of maria, tom"


def test_a_reviewer_whose_item_was_superseded_is_not_asked_yet() -> None:
    story = fixing().when(edited_review(), prepared(), pushed())
    assert story.decided[-1] == "cycle.finished 1 pushed used"


def edited_review() -> CommentEdited:
    """Maria rewrites the body of her review."""
    said = comment(1, "please mend it")
    return edited(said.model_copy(update={"kind": "review", "node": "R1"}), "mend it otherwise")


def test_who_approved_meanwhile_is_not_asked() -> None:
    story = fixing().when(*believed(approved(2)), prepared(), pushed())
    assert story.decided[-1] == "cycle.finished 1 pushed used"


def test_nobody_is_asked_when_only_comments_were_fixed() -> None:
    thread_fixing().when(prepared(verdict("thread/5")), pushed()).then(
        "push.requested 1/1", "resolve.requested", "cycle.finished 1 pushed used"
    )


# --- merge conflicts -----------------------------------------------------------------------------------------------


def test_a_merge_conflict_is_shown_with_its_paths_and_the_work_goes_on() -> None:
    story = collecting().when(fetched(item()).model_copy(update={"conflicts": ("a.py", "b.py")}))
    story.then("escalated conflict")
    assert (story.last(Escalated).stops, "a.py, b.py" in story.last(Escalated).detail) == (False, True)
    story.when(started(), prepared()).then("push.requested 1/1")


def test_the_same_conflict_is_shown_once_and_another_again() -> None:
    story = collecting(MANY_CYCLES).when(fetched(item()).model_copy(update={"conflicts": ("a.py",)})).so_far()
    story.when(started(), prepared(), pushed(), *believed(rejected(4))).after(30).so_far()
    story.when(fetched(item("review/4"), n=2).model_copy(update={"conflicts": ("a.py",)})).then()
    story.when(started(n=2), prepared(verdict("review/4"), n=2), pushed(2), *believed(rejected(5))).after(30).so_far()
    story.when(fetched(item("review/5"), n=3).model_copy(update={"conflicts": ("c.py",)})).then("escalated conflict")
