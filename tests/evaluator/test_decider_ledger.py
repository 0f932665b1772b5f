"""The ledger at its edges: what is known of an item, when it is open, and what takes no second turn."""

import pytest

from amends.common.events import (
    AnyFact,
    Author,
    Escalated,
    Finding,
    FixRequested,
    Judgement,
    LeftOut,
    LoopOpened,
    Verdict,
)
from amends.common.standing import questions, window
from tests.support.facts import (
    EVE,
    HEAD,
    MARIA,
    NEXT,
    OTHER,
    PANEL,
    TOM,
    aside,
    at,
    believed,
    check,
    checked,
    command,
    comment,
    fetched,
    item,
    observed,
    only_answered,
    prepared,
    pushed,
    refused,
    rejected,
    resolved,
    started,
    verdict,
)
from tests.support.given import Telling, collecting, fixing, given, pushing, settling
from tests.support.policies import CHECKS, MANY_CYCLES, ONE_CYCLE, SHORT_CLAIM, THREADS

BOTH = THREADS.model_copy(update={"max_cycles": 20})


def thread_judged(judgement: str = "fixed") -> Telling:
    """Maria's thread has its verdict."""
    story = given(comment(seconds=10), policy=BOTH).after(30)
    story.when(fetched(item("thread/5", "one")), started(), only_answered(verdict("thread/5", judgement, "one")))
    return story.so_far()


# --- opening -------------------------------------------------------------------------------------------------------


def test_a_loop_is_opened_by_its_first_fact_whatever_it_is_and_once() -> None:
    story = Telling().when(comment(), observed(), *believed(rejected()), command("pause"))
    opened = [(event.loop, event.version) for event in story.events if isinstance(event.fact, LoopOpened)]
    assert opened == [("1-pr-7", 2)]


def test_loops_of_settings_are_opened_as_what_they_are() -> None:
    story = given().installation(command("pause"))
    kinds = {event.loop: event.fact.kind for event in story.events if isinstance(event.fact, LoopOpened)}
    assert kinds == {"1-pr-7": "change", "installation": "installation"}


def test_a_repositorys_settings_cannot_be_paused() -> None:
    story = given().repository(command("pause"), command("resume"))
    story.then("command.refused pause not_here", "command.refused resume not_here")


# --- what was said when --------------------------------------------------------------------------------------------


def test_a_thread_that_was_collected_as_resolved_is_no_work() -> None:
    story = given(comment(), policy=THREADS).after(30).so_far()
    story.when(fetched(item("thread/5", resolved=True))).then("cycle.finished 1 nothing_to_do")


def test_a_last_word_and_then_a_resolution_leave_nothing_to_do() -> None:
    story = thread_judged().when(comment(text="thanks", reply=6, seconds=150), resolved(seconds=200)).after(300).then()
    story.when(command("fix"), fetched(item("thread/5", "two", resolved=True), n=2))
    story.then("command.accepted fix", "fix.requested 2/1", "cycle.finished 2 nothing_to_do")


def test_words_after_a_resolution_stay_open_through_every_attempt() -> None:
    story = thread_judged().when(resolved(seconds=100), comment(text="no", reply=6, seconds=200)).after(30).so_far()
    story.when(fetched(item("thread/5", "two", resolved=True), n=2), started(n=2)).after(2_000)
    story.so_far().when(fetched(item("thread/5", "two", resolved=True), n=2, k=2)).then()
    assert story.status == "fixing"


def test_resolving_it_once_more_closes_it_again() -> None:
    story = thread_judged().when(resolved(seconds=100), comment(text="no", reply=6, seconds=200)).after(30).so_far()
    story.when(fetched(item("thread/5", "two", resolved=True), n=2)).then()
    story.when(resolved(seconds=300)).then("cycle.finished 2 nothing_to_do").after(300).then()


def test_feedback_during_a_cycle_opens_no_window() -> None:
    story = fixing(THREADS).when(comment())
    assert window(story.loop, story.policy) is None


def test_a_trusted_word_answers_a_question_before_it_is_collected() -> None:
    story = thread_judged("needs_human")
    assert set(questions(story.loop, story.policy)) == {"thread/5"}
    story.when(comment(text="the first", reply=6))
    assert questions(story.loop, story.policy) == {}


def test_a_question_about_what_is_gone_is_none() -> None:
    story = thread_judged("needs_human").when(command("fix"), fetched(n=2)).so_far()
    assert story.status == "awaiting_review"


# --- checks --------------------------------------------------------------------------------------------------------


def test_a_check_that_passes_before_a_fixer_has_begun_leaves_nothing_to_do() -> None:
    story = given(check(), policy=CHECKS).after(30).when(fetched(item("check/build"))).so_far()
    story.when(check(conclusion="success", updated_at=at(60))).then("cycle.finished 1 nothing_to_do")


def test_a_check_that_was_put_aside_counts_again_at_the_next_head() -> None:
    story = given(check(), policy=CHECKS).when(command("skip")).after(300).so_far()
    story.when(observed(9, head=NEXT), check(NEXT)).after(30).then("fix.requested 1/1")


# --- put aside -----------------------------------------------------------------------------------------------------


def test_skipping_news_of_a_fixed_item_does_not_unfix_it() -> None:
    story = thread_judged().when(comment(text="and?", reply=6), command("skip"))
    assert story.judgement("thread/5") is Judgement.FIXED


def test_an_escalation_does_not_name_what_was_put_aside() -> None:
    story = fixing().when(command("skip"), *believed(rejected(4, TOM))).after(30)
    story.when(fetched(item(), item("review/4", by=TOM), n=2), started(n=2))
    story.when(only_answered(n=2)).so_far()
    assert story.last(Escalated).items == ("review/4",)


def test_an_escalation_names_neither_what_a_stranger_said_nor_a_check_of_an_older_commit() -> None:
    story = pushing(ONE_CYCLE).when(pushed(), check(NEXT), observed(50, head=OTHER))
    story.when(comment(9, by=EVE), *believed(rejected(7, EVE), "read"), *believed(rejected(4))).after(30)
    assert story.last(Escalated).items == ("review/4",)


# --- once ----------------------------------------------------------------------------------------------------------


def test_a_version_that_has_its_verdict_gets_no_second_one() -> None:
    story = thread_judged().when(comment(6)).after(30).when(fetched(item("thread/5", "one"), item("thread/6"), n=2))
    story.when(
        started(n=2), only_answered(verdict("thread/6", "answered"), verdict("thread/5", "declined", "one"), n=2)
    )
    assert story.judgement("thread/5") is Judgement.FIXED


def test_a_claim_is_settled_once() -> None:
    story = fixing(SHORT_CLAIM).after(120)
    spent = story.loop.spent
    story.when(fetched(k=2)).so_far()
    assert story.loop.spent == spent


def test_a_prepared_fix_survives_a_change_that_does_not_move_the_head() -> None:
    fixing().when(observed(9, labels=("feature",)), prepared()).then("push.requested 1/1")


def test_a_push_cut_off_by_a_pause_is_made_afresh_when_the_head_has_moved() -> None:
    story = pushing().when(command("pause"), refused("cancelled"), observed(9, head=NEXT)).so_far()
    story.when(command("resume")).then("command.accepted resume", "loop.resumed", "fix.requested 1/2")


# --- what a request carries ----------------------------------------------------------------------------------------


def test_a_request_names_who_rejects_and_which_comments_it_expects() -> None:
    request = given(*believed(rejected()), comment()).after(30).last(FixRequested)
    assert (request.rejecting, request.expects, request.texts) == (("12",), ("C5", "R1"), ())


def test_a_request_carries_as_many_texts_as_an_envelope_holds() -> None:
    wishes = [command("refine", text=f"{n}" * 20_000, id_=f"wish-{n}") for n in range(10)]
    request = given(*wishes).after(30).last(FixRequested)
    assert 0 < sum(len(text.text) for text in request.texts) <= 128 * 1024


def test_texts_that_did_not_fit_are_in_the_next_request() -> None:
    wishes = [command("refine", text="w" * 20_000, id_=f"wish-{n}") for n in range(8)]
    story = given(*wishes, policy=MANY_CYCLES).after(30)
    first = {text.item for text in story.last(FixRequested).texts}
    found = [item(id_, "w", Author(id=0, kind="token")) for id_ in first]
    story.when(fetched(*found), started(), prepared(*(verdict(id_, text="w") for id_ in first)), pushed()).after(30)
    rest = {text.item for text in story.last(FixRequested).texts}
    assert first | rest == {f"command/wish-{n}" for n in range(8)}
    assert not first & rest


FINDING = rejected(by=PANEL).model_copy(update={"findings": (Finding(text="too slow"),)})
OURS = [(command("refine", text="too slow"), "command/refine-1"), (FINDING, "finding/1/1"), (comment(), "thread/5")]


def beside_toms(fact: AnyFact, id_: str, judgement: str) -> Telling:
    """What came with a fact has its verdict; and then Tom's review was answered, and nothing else was collected."""
    story = given(fact, policy=BOTH).after(30).when(fetched(item(id_, "too slow", PANEL)), started())
    question = verdict(id_, judgement, "too slow").model_copy(update={"reason": "what for?"})
    story.when(only_answered(question), *believed(rejected(4, TOM))).after(30)
    crowded = fetched(item("review/4", by=TOM), n=2).model_copy(update={"left_out": LeftOut(overflow=1)})
    story.when(crowded if id_ == "thread/5" else fetched(item("review/4", by=TOM), n=2))
    return story.when(started(n=2), only_answered(verdict("review/4", "answered"), n=2)).so_far()


came_with_a_fact = pytest.mark.parametrize(("fact", "id_"), OURS, ids=["refine", "finding", "no room for it"])


@came_with_a_fact
def test_a_question_about_what_a_later_collection_does_not_repeat_stays_open_until_it_is_answered(
    fact: AnyFact, id_: str
) -> None:
    story = beside_toms(fact, id_, "needs_human")
    assert story.status == "needs_human"
    story.when(aside(text="for speed") if id_ != "thread/5" else comment(text="for speed", reply=6)).after(30)
    story.then("fix.requested 3/1")
    assert [question.item for question in story.last(FixRequested).questions] == [id_]


@came_with_a_fact
def test_what_was_deferred_and_a_later_collection_does_not_repeat_is_opened_again_by_a_reset(
    fact: AnyFact, id_: str
) -> None:
    story = beside_toms(fact, id_, "deferred").when(command("reset")).after(30)
    story.then("command.accepted reset", "fix.requested 3/1")


def test_a_fix_that_keeps_coming_back_may_be_asked_for_by_hand() -> None:
    story = collecting(MANY_CYCLES).when(fetched(item(), item("thread/5")), started(), prepared(*both(1)), pushed())
    story.when(comment(text="2", reply=6)).after(30)
    story.when(fetched(item(), item("thread/5", "2"), n=2), started(n=2), prepared(*both(2), n=2, base=NEXT), pushed(2))
    story.when(comment(text="3", reply=7)).so_far()
    story.when(command("fix")).then("command.accepted fix", "fix.requested 3/1")


def both(n: int) -> tuple[Verdict, Verdict]:
    return (verdict(), verdict("thread/5", text="please mend it" if n == 1 else str(n)))


def test_the_head_of_a_request_is_the_one_that_was_seen_last() -> None:
    story = settling().when(observed(9, head=NEXT), checked(rejected(1, MARIA))).after(30)
    assert story.last(FixRequested).head == NEXT != HEAD
