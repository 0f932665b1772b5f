"""One batch of reports: claims, late results, addresses, blobs, hostile facts, snapshots, and what becomes stuck."""

from __future__ import annotations

import pytest

from amends.common.answers import Already, Answer, Recorded, Refused, Report
from amends.common.events import (
    AnyFact,
    Change,
    Decided,
    DeliveryParked,
    Escalated,
    FixStarted,
    LoopResumed,
    LoopStuck,
    Notified,
    PrObserved,
    TimerFired,
    Usage,
)
from amends.common.identity import About
from amends.common.loop import Loop
from amends.common.policy import BudgetOverrides, Policy
from amends.evaluator.batch import MAX_DECISIONS, Said
from amends.evaluator.code import CODE
from tests.support.book import Book, broken, fired, rebuilt, reported
from tests.support.facts import (
    HEAD,
    MARIA,
    NEXT,
    OTHER,
    at,
    believed,
    closed,
    command,
    comment,
    failed,
    fetched,
    item,
    not_fetched,
    observed,
    only_answered,
    policy_changed,
    policy_observed,
    prepared,
    pushed,
    refused,
    rejected,
    resolved,
    started,
    unresolved,
    verdict,
)
from tests.support.promises import check_chain

LOOP = "1-pr-7"


def installed(book: Book, **values: object) -> None:
    book.says(policy_changed("start", repositories=("octo/shop",), **values))


def collecting(book: Book, number: int = 7) -> None:
    """Maria has asked for changes, and her review is being collected."""
    book.says(observed(), *believed(rejected()), number=number)
    book.waits(30)


def fixing(book: Book, number: int = 7) -> None:
    """Her review is collected; nobody works on it yet."""
    collecting(book, number)
    book.says(fetched(item()), number=number)


def types(book: Book, loop: str = LOOP) -> list[str]:
    return [row.type for row in book.log.history(loop)]


def reason(answer: Answer) -> str:
    return answer.reason if isinstance(answer, Refused) else repr(answer)


# --- facts and what follows from them ------------------------------------------------------------------------------


def test_a_fact_and_what_follows_from_it_are_recorded_together(book: Book) -> None:
    installed(book)
    [answer] = book.says(observed())
    assert answer == Recorded(3)
    assert [(row.key, row.cause) for row in book.log.history(LOOP)] == [("pr/1", None), ("opened", 3)]


def test_a_decision_names_the_versions_of_the_policy_it_was_made_under(book: Book) -> None:
    installed(book)
    book.says(policy_observed(), observed(), command("help"))
    assert [row.policy for row in book.log.history(LOOP)] == ["", "2.2", "", "2.2"]


def test_a_known_key_is_already_there_with_what_is_recorded_under_it(book: Book) -> None:
    fact = comment(text="why so?")
    first, second = book.says(fact, fact.model_copy(update={"author": MARIA, "updated_at": at(9)}))
    assert (first, second) == (Recorded(1), Already(1, fact))


def test_copies_within_one_batch_meet_in_one_key(book: Book) -> None:
    assert book.record(*[reported(comment())] * 3) == [Recorded(1), Already(1, comment()), Already(1, comment())]


def test_one_refused_report_does_not_hurt_the_batch(book: Book) -> None:
    answers = book.record(reported(comment(5)), reported(started()), reported(comment(6)))
    assert [type(answer) for answer in answers] == [Recorded, Refused, Recorded]
    check_chain(book.rows())


# --- claims --------------------------------------------------------------------------------------------------------


def test_a_claim_is_recorded_and_reserves_its_money(book: Book) -> None:
    installed(book, budget=BudgetOverrides(run_usd=1.5))
    fixing(book)
    assert isinstance(book.says(started())[0], Recorded)
    [claim] = book.log.claims(live=True)
    assert (claim.holder, claim.run, claim.usd_micro) == ("fixer/0", "run-1", 1_500_000)


def test_the_same_claim_again_is_shown_as_the_asker_s_own(book: Book) -> None:
    installed(book)
    fixing(book)
    _, again = book.says(started(), started())
    assert isinstance(again, Already)
    assert again.fact == started()


def test_a_holder_that_comes_back_as_another_process_is_shown_its_predecessor(book: Book) -> None:
    installed(book)
    fixing(book)
    _, again = book.says(started(run="run-1"), started(run="run-2"))
    assert isinstance(again, Already)
    assert isinstance(again.fact, FixStarted)
    assert again.fact.run == "run-1"


def test_the_successor_reports_the_crash_and_may_then_claim_the_next_attempt(book: Book) -> None:
    installed(book)
    fixing(book)
    book.says(started(run="run-1"), failed("crashed"), fetched(item(), k=2))
    assert isinstance(book.says(started(k=2, run="run-2"))[0], Recorded)


def test_a_claim_of_somebody_else_is_busy_for_a_while(book: Book) -> None:
    installed(book)
    fixing(book)
    _, other = book.says(started(), started(holder="fixer/1"))
    assert isinstance(other, Refused)
    assert (other.reason, other.until) == ("busy", 5)


def test_a_claim_for_an_attempt_that_is_over_is_superseded(book: Book) -> None:
    installed(book)
    fixing(book)
    book.says(started(), failed("crashed"), fetched(item(), k=2), started(k=2))
    late, early = book.says(started(k=1, holder="fixer/1"), started(k=3))
    assert (reason(late), reason(early)) == ("superseded", "superseded")


@pytest.mark.parametrize("together", [False, True])
def test_no_more_fixers_work_at_once_than_allowed_over_all_loops(book: Book, *, together: bool) -> None:
    installed(book, max_fixers=1)
    fixing(book, 7)
    fixing(book, 8)
    claims = [reported(started(), 7), reported(started(holder="fixer/1"), 8)]
    answers = book.record(*claims) if together else [book.record(claim)[0] for claim in claims]
    assert (type(answers[0]), reason(answers[1])) == (Recorded, "busy")


@pytest.mark.parametrize("together", [False, True])
def test_a_fixer_that_is_done_leaves_its_place_to_the_next(book: Book, *, together: bool) -> None:
    installed(book, max_fixers=1)
    fixing(book, 7)
    fixing(book, 8)
    book.says(started())
    reports = [reported(failed("no_change")), reported(started(), 8)]
    answers = book.record(*reports) if together else [book.record(report)[0] for report in reports]
    assert [type(answer) for answer in answers] == [Recorded, Recorded]


@pytest.mark.parametrize("together", [False, True])
def test_the_day_s_money_is_reserved_at_the_claim(book: Book, *, together: bool) -> None:
    installed(book, budget=BudgetOverrides(run_usd=2.0, day_usd=3.0))
    fixing(book, 7)
    fixing(book, 8)
    claims = [reported(started(), 7), reported(started(holder="fixer/1"), 8)]
    answers = book.record(*claims) if together else [book.record(claim)[0] for claim in claims]
    assert (type(answers[0]), reason(answers[1])) == (Recorded, "busy")


def test_the_day_s_money_is_settled_from_usage(book: Book) -> None:
    installed(book, budget=BudgetOverrides(run_usd=2.0, day_usd=3.0))
    fixing(book, 7)
    fixing(book, 8)
    book.says(started(), failed("no_change", usage=Usage(usd_micro=1_000_000)))
    assert isinstance(book.says(started(), number=8)[0], Recorded)
    assert [claim.usd_micro for claim in book.log.claims()] == [1_000_000, 2_000_000]


def test_what_nobody_accounted_for_stays_as_it_was_reserved(book: Book) -> None:
    installed(book, budget=BudgetOverrides(run_usd=2.0, day_usd=3.0))
    fixing(book, 7)
    fixing(book, 8)
    book.says(started(), closed())
    assert reason(book.says(started(), number=8)[0]) == "busy"


def test_the_next_day_has_money_of_its_own(book: Book) -> None:
    installed(book, budget=BudgetOverrides(run_usd=2.0, day_usd=3.0))
    fixing(book, 7)
    fixing(book, 8)
    book.says(started(), failed("no_change", usage=Usage(usd_micro=2_000_000)))
    [today] = book.says(started(), number=8)
    assert isinstance(today, Refused)
    book.now += round((today.until or 0) * 1_000_000)
    assert isinstance(book.says(started(), number=8)[0], Recorded)


# --- results that come too late ------------------------------------------------------------------------------------

LATE = [fetched(item()), not_fetched(), only_answered(), failed("no_change"), refused()]


@pytest.mark.parametrize("fact", LATE, ids=lambda fact: fact.type)
def test_a_result_of_an_attempt_that_is_over_is_superseded(book: Book, fact: AnyFact) -> None:
    installed(book)
    collecting(book)
    timer = next(timer for timer in book.log.timers_of(LOOP) if timer.name == "collect/1/1")
    book.record(fired(timer, "operator"))
    assert reason(book.says(fact)[0]) == "superseded"


def test_a_result_of_another_run_than_the_live_claim_s_is_superseded(book: Book) -> None:
    installed(book)
    fixing(book)
    book.says(started(run="run-2"))
    answers = book.says(only_answered(verdict(judgement="answered")), failed("no_change"))
    assert [reason(answer) for answer in answers] == ["superseded", "superseded"]


def test_a_result_that_nobody_claimed_is_superseded(book: Book) -> None:
    installed(book)
    fixing(book)
    assert reason(book.says(only_answered(verdict(judgement="answered")))[0]) == "superseded"


def test_a_timer_of_another_generation_is_superseded(book: Book) -> None:
    installed(book)
    book.says(observed(), *believed(rejected()))
    [old] = [timer for timer in book.log.timers_of(LOOP) if timer.name == "settle/1"]
    book.says(*believed(rejected(9)))
    book.now = old.due + 40_000_000
    assert reason(book.record(fired(old))[0]) == "superseded"


def test_a_timer_that_is_not_due_is_busy_until_it_is_unless_an_operator_cuts_it_short(book: Book) -> None:
    installed(book)
    book.says(observed(), *believed(rejected()))
    [timer] = [timer for timer in book.log.timers_of(LOOP) if timer.name == "settle/1"]
    [early] = book.record(fired(timer))
    assert isinstance(early, Refused)
    assert early.until == pytest.approx((timer.due - book.now) / 1_000_000 + 1)
    assert isinstance(book.record(fired(timer, "operator"))[0], Recorded)


WORLD = [
    observed(900, head=OTHER), closed(901), *believed(rejected(9)), comment(9), resolved(), pushed(),
    Notified(of=1, channel="github"), DeliveryParked(of=1, service="fixer", error="KeyError"), command("help"),
]  # fmt: skip


@pytest.mark.parametrize("fact", WORLD, ids=lambda fact: fact.type)
def test_a_fact_about_the_world_is_never_refused_for_the_loop_s_state(book: Book, fact: AnyFact) -> None:
    installed(book)
    fixing(book)
    book.says(command("stop"), closed(800))
    assert isinstance(book.says(fact)[0], Recorded)


# --- addresses and blobs -------------------------------------------------------------------------------------------

PULL, SETTINGS, EVERYTHING = About(repo=1, number=7), About(repo=1), About()
ASTRAY = [
    *((fact, about) for fact in (observed(), rejected(), comment(), resolved(), started(), pushed())
      for about in (SETTINGS, EVERYTHING)),
    (policy_changed(), PULL), (policy_changed(), SETTINGS), (policy_observed(), PULL), (policy_observed(), EVERYTHING),
]  # fmt: skip


@pytest.mark.parametrize(("fact", "about"), ASTRAY, ids=str)
def test_a_fact_that_has_no_place_there_is_not_addressed(book: Book, fact: AnyFact, about: About) -> None:
    assert reason(book.record(Said("cli", Report(fact=fact, about=about)))[0]) == "not_addressed"
    assert book.rows() == []


def test_a_fact_that_names_an_unknown_blob_is_recorded_once_that_is_there(book: Book) -> None:
    installed(book)
    fixing(book)
    book.says(started())
    fact = prepared(changes=(Change(path="new.py", blob="c" * 64), Change(path="old.py", blob=None)))
    [missing] = book.says(fact)
    assert missing == Refused("blob_missing", f"no blob {'c' * 64}: put it first, then report again")
    there = fact.model_copy(update={"changes": (Change(path="new.py", blob=book.writer.put_blob(b"new")),)})
    assert isinstance(book.says(there)[0], Recorded)


def test_a_blob_of_which_a_part_is_missing_is_missing(book: Book) -> None:
    installed(book)
    collecting(book)
    book.writer.put_chunk("d" * 64, 0, b"part")
    assert reason(book.says(fetched(item()).model_copy(update={"texts": "d" * 64}))[0]) == "blob_missing"


# --- hostile facts -------------------------------------------------------------------------------------------------


def test_text_that_is_no_unicode_is_refused(book: Book) -> None:
    hostile = command("refine").model_copy(update={"text": "\ud800"})
    answers = book.says(hostile, comment())
    assert (reason(answers[0]), answers[1]) == ("hostile_text", Recorded(1))


def test_a_nul_is_refused(book: Book) -> None:
    assert reason(book.says(command("refine", text="a\0b"))[0]) == "hostile_text"


def test_a_nul_in_the_actor_s_name_is_refused(book: Book) -> None:
    report = Report(fact=comment(), about=PULL, actor="a\0b")
    assert reason(book.record(Said("gateway", report))[0]) == "hostile_text"


def test_a_cause_that_is_yet_to_come_is_refused(book: Book) -> None:
    cause = book.log.head().pos + 1
    report = Report(fact=comment(), about=PULL, cause=cause)
    assert reason(book.record(Said("gateway", report))[0]) == "malformed"
    assert book.rows() == []


def test_a_backslash_before_u0000_is_text_like_any_other(book: Book) -> None:
    assert isinstance(book.says(command("refine", text="a\\u0000b"))[0], Recorded)


def test_a_fact_that_could_not_be_mirrored_is_refused(book: Book) -> None:
    installed(book)
    fixing(book)
    book.says(started())
    verdicts = tuple(verdict(f"review/{n}").model_copy(update={"reason": "x" * 20_000}) for n in range(13))
    assert reason(book.says(only_answered(*verdicts))[0]) == "oversized"


# --- snapshots -----------------------------------------------------------------------------------------------------


def test_a_snapshot_that_returns_to_an_old_value_is_numbered_on(book: Book) -> None:
    installed(book)
    answers = book.says(observed(1, head=HEAD), observed(2, head=NEXT), observed(3, head=HEAD), closed(4))
    assert all(isinstance(answer, Recorded) for answer in answers)
    assert [row.key for row in book.log.history(LOOP)] == ["pr/1", "opened", "pr/2", "pr/3", "pr/4", "finished/1"]


@pytest.mark.parametrize("seconds", [1, 2])
def test_an_older_snapshot_is_already_known(book: Book, seconds: int) -> None:
    installed(book)
    book.says(observed(2, head=NEXT))
    assert book.says(observed(seconds, head=NEXT if seconds == 2 else HEAD)) == [Already(3)]


def test_an_equal_snapshot_of_a_later_date_is_recorded_so_that_its_date_is_known(book: Book) -> None:
    book.says(resolved(seconds=1), resolved(seconds=3))
    assert book.says(unresolved(seconds=2)) == [Already(3)]
    assert [row.key for row in book.log.history(LOOP)] == ["thread/5/1", "opened", "thread/5/2"]


def test_snapshots_are_numbered_within_a_batch_too(book: Book) -> None:
    facts: list[AnyFact] = [resolved(seconds=1), unresolved(seconds=2), unresolved(seconds=2), resolved(seconds=3)]
    answers = book.record(*map(reported, facts))
    assert answers == [Recorded(1), Recorded(3), Already(3), Recorded(4)]


def test_that_a_thread_is_still_open_is_no_news_and_that_it_is_open_again_is(book: Book) -> None:
    still = unresolved().model_copy(update={"updated_at": None})
    assert book.says(comment(), still) == [Recorded(1), Already(1)]
    assert book.says(resolved(seconds=100), still, still) == [Recorded(3), Recorded(4), Already(4)]


def test_a_policy_file_that_comes_back_is_recorded_again(book: Book) -> None:
    book.says(
        policy_observed("1" * 40), policy_observed("2" * 40), policy_observed("2" * 40), policy_observed("1" * 40)
    )
    keys = [row.key for row in book.log.history("1-policy")]
    assert keys == [f"policy/{'1' * 40}/1", "opened", f"policy/{'2' * 40}/2", f"policy/{'1' * 40}/3"]


# --- stuck loops ---------------------------------------------------------------------------------------------------


def endless(loop: Loop, _policy: Policy) -> list[Decided]:
    return [LoopResumed(of=f"command/{loop.version}")]


def too_large(_loop: Loop, _policy: Policy) -> list[Decided]:
    return [Escalated(of="cycle/1", reason="question", items=("x" * 400,) * 700)]


def stuck(book: Book) -> LoopStuck:
    [fact] = [event.fact for event in book.events() if isinstance(event.fact, LoopStuck)]
    return fact


def test_when_deciding_fails_the_fact_is_kept_and_the_loop_is_stuck(book: Book) -> None:
    assert book.record(reported(observed()), decider=broken) == [Recorded(1)]
    assert types(book) == ["pr.observed", "loop.stuck"]
    assert stuck(book) == LoopStuck(error="KeyError", code=CODE, at=1)


def test_a_stuck_loop_is_shown_and_waits_for_no_time(book: Book) -> None:
    book.record(reported(observed()), decider=broken)
    row = book.log.loop(LOOP)
    assert row is not None
    assert (row.status, row.stuck, row.human, row.version) == ("stuck", CODE, True, 2)
    assert book.log.timers_of(LOOP) == []


def test_a_decider_without_an_end_is_stopped_and_none_of_it_is_recorded(book: Book) -> None:
    assert MAX_DECISIONS == 16
    book.record(reported(observed()), decider=endless)
    assert types(book) == ["pr.observed", "loop.stuck"]
    assert stuck(book).error == "RunawayError"


def test_a_decision_that_could_not_be_mirrored_is_not_recorded(book: Book) -> None:
    book.record(reported(rejected()), decider=too_large)
    assert types(book) == ["review.rejected", "loop.stuck"]
    assert stuck(book).error == "RunawayError"


def test_the_rest_of_the_batch_goes_on(book: Book) -> None:
    answers = book.record(reported(observed()), reported(policy_changed()), reported(comment(), 8), decider=broken)
    assert [type(answer) for answer in answers] == [Recorded, Recorded, Recorded]
    assert types(book, "installation") == ["policy.changed"]
    check_chain(book.rows())


def test_while_it_is_stuck_facts_are_kept_and_nothing_is_decided(book: Book) -> None:
    book.record(reported(observed()), decider=broken)
    facts = (observed(1, head=NEXT), observed(2), *believed(rejected()), closed())
    assert all(isinstance(answer, Recorded) for answer in book.says(*facts))
    assert types(book)[2:] == [fact.type for fact in facts]
    check_chain(book.rows())


def test_while_it_is_stuck_nobody_may_begin_to_work(book: Book) -> None:
    installed(book)
    fixing(book)
    book.record(reported(comment()), decider=broken)
    assert reason(book.says(started())[0]) == "busy"


def test_while_it_is_stuck_a_known_happening_is_still_known(book: Book) -> None:
    book.record(reported(comment()), decider=broken)
    assert book.says(comment()) == [Already(1, comment())]


def test_the_same_code_does_not_try_again(book: Book) -> None:
    book.record(reported(observed()), decider=broken)
    book.says(TimerFired(name="unstick", generation=1))
    assert types(book) == ["pr.observed", "loop.stuck", "timer.fired"]


def test_newer_code_folds_and_decides_again(book: Book) -> None:
    installed(book)
    book.record(reported(observed()), decider=broken, code="0.0.1")
    book.says(*believed(rejected()))
    assert types(book)[:4] == ["pr.observed", "loop.stuck", "review.rejected", "loop.opened"]
    row = book.log.loop(LOOP)
    assert row is not None
    assert (row.status, row.stuck) == ("settling", "")


def test_a_timer_of_the_clock_is_enough_for_newer_code(book: Book) -> None:
    book.record(reported(observed()), decider=broken, code="0.0.1")
    book.says(TimerFired(name="unstick", generation=1))
    assert types(book) == ["pr.observed", "loop.stuck", "timer.fired", "loop.opened"]


def test_snapshots_go_on_being_numbered_after_a_loop_was_stuck(book: Book) -> None:
    book.record(reported(observed(1)), reported(observed(1)), reported(observed(2)), decider=broken, code="0.0.1")
    assert isinstance(book.says(observed(3, head=NEXT))[0], Recorded)
    assert [row.key for row in book.log.history(LOOP) if row.type == "pr.observed"] == ["pr/1", "pr/2", "pr/3", "pr/4"]


def test_after_it_was_stuck_the_views_are_those_of_the_whole_log(book: Book) -> None:
    installed(book)
    book.record(reported(observed()), *map(reported, believed(rejected())), decider=broken, code="0.0.1")
    book.says(TimerFired(name="unstick", generation=1))
    book.waits(30)
    assert types(book)[-1] == "fix.requested"
    assert book.views() == rebuilt(book.rows())


def test_newer_code_that_fails_too_says_so_again(book: Book) -> None:
    book.record(reported(observed()), decider=broken, code="0.0.1")
    book.record(reported(comment()), decider=broken, code="0.0.2")
    errors = [event.fact for event in book.events() if isinstance(event.fact, LoopStuck)]
    assert [error.code for error in errors] == ["0.0.1", "0.0.2"]


# --- the installation ----------------------------------------------------------------------------------------------


def test_a_failure_of_the_model_s_account_turns_fixing_off_everywhere_at_once(book: Book) -> None:
    installed(book)
    fixing(book, 7)
    fixing(book, 8)
    book.says(started())
    answers = book.record(reported(failed("model_auth")), reported(started(), 8))
    assert [reason(answer) for answer in answers[1:]] == ["busy"]
    assert types(book, "installation")[-1] == "escalated"
    assert book.views() == rebuilt(book.rows())


def test_a_change_of_the_policy_is_in_force_for_what_follows_it_in_the_same_batch(book: Book) -> None:
    installed(book)
    less, more = policy_changed("less", max_cycles=1), policy_changed("more", triggers=("comments",))
    book.record(reported(observed()), reported(less), reported(more), reported(comment()))
    assert book.views() == rebuilt(book.rows())
    assert [timer.name for timer in book.log.timers_of(LOOP)] == ["settle/1"]


def test_an_observed_pull_request_is_the_latest_one(book: Book) -> None:
    book.says(observed(1), observed(3, head=NEXT), observed(2, head=OTHER))
    pull = book.loop(LOOP).pull
    assert isinstance(pull, PrObserved)
    assert pull.head == NEXT
