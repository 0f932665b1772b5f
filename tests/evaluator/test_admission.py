"""Who is entitled to report what, which work has its place in a loop now, and which effects may still be made."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from amends.common.answers import Go, Refused, Stop
from amends.common.envelope import Event
from amends.common.events import (
    EVERYONE,
    AnyFact,
    CommandAccepted,
    CommandGiven,
    CommandRefused,
    CommentsFetched,
    CycleFinished,
    Escalated,
    Fact,
    FixRequested,
    LoopFinished,
    LoopPaused,
    Notified,
    PrObserved,
    PushRequested,
    ReviewRejected,
    ReviewRequested,
    TimerFired,
)
from amends.common.loop import DAY, Loop
from amends.common.policy import BudgetOverrides, Overrides, Policy
from amends.evaluator.admission import WAKING, Fleet, admitted, entitled, may
from tests.support.examples import EXAMPLES, REPORTED
from tests.support.facts import (
    ANNA,
    closed,
    command,
    failed,
    fetched,
    item,
    observed,
    policy_changed,
    started,
)
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing, settling

WATCHED = {
    *("pr.observed", "pr.closed", "review.rejected", "review.approved", "review.commented", "review.dismissed"),
    *("comment.added", "comment.edited", "comment.deleted", "thread.resolved", "thread.unresolved"),
    *("checks.finished", "access.changed", "command.given"),
}
# Section 4 of the design, service by service.
MAY_REPORT: dict[str, set[str]] = {
    "gateway": WATCHED | {"policy.changed"},
    "comment-fetcher": WATCHED | {"author.checked", "policy.observed", "comments.fetched", "comments.failed"},
    "fixer": {"fix.started", "fix.prepared", "fix.failed"},
    "publisher": {
        *("fix.pushed", "push.refused", "resolve.finished", "checks.counted"),
        *("pr.observed", "pr.closed", "access.changed"),
    },
    "reviewer": {"review.rejected", "review.approved", "review.commented"},
    "notifier": {"notified", "notify.failed", "notify.started"},
    "evaluator": {"timer.fired", "policy.changed"},
    "cli": {str(fact.type) for fact in REPORTED} - {"timer.fired"},
}

# --- who may report what -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", EVERYONE)
def test_a_service_may_report_exactly_this(service: str) -> None:
    may_report = {fact.type for fact in EXAMPLES if entitled(service, fact) is None}
    assert may_report == MAY_REPORT[service] | {"delivery.parked"}


@pytest.mark.parametrize("service", ["", "Gateway", "gateway ", "report.gateway", "reviewer\n"])
def test_nobody_else_may_report_anything(service: str) -> None:
    assert [fact.type for fact in EXAMPLES if entitled(service, fact) is None] == []


def test_a_refusal_says_who_may() -> None:
    assert entitled("fixer", REPORTED[3]) == Refused(
        "not_entitled",
        "fixer may not report review.approved: only gateway, comment-fetcher, cli, reviewer may",
    )
    refused = entitled("cli", LoopPaused(of="command/1"))
    assert refused == Refused("not_entitled", "cli may not report loop.paused: the evaluator decides it")


# --- which work has its place now ----------------------------------------------------------------------------------


def nobody() -> Fleet:
    return Fleet(0, 0)


def unasked() -> Fleet:
    raise AssertionError("only a claim costs the question who else works")


def admission(telling: Telling, fact: Fact, fleet: Callable[[], Fleet] = nobody) -> Refused | None:
    return admitted(telling.loop, fact, telling.policy, telling.time, fleet)


def waiting_for_a_fixer(policy: Overrides | None = None) -> Telling:
    return collecting(policy).when(fetched(item()))


def test_a_claim_is_granted_while_a_fix_waits_for_one() -> None:
    assert admission(waiting_for_a_fixer(), started()) is None


@pytest.mark.parametrize("telling", [given, settling, collecting, pushing, awaiting_review], ids=lambda f: f.__name__)
def test_at_any_other_time_a_claim_is_superseded(telling: Callable[[], Telling]) -> None:
    refused = admission(telling(), started(), unasked)
    assert refused is not None
    assert refused.reason == "superseded"


@pytest.mark.parametrize("taken", [Fleet(2, 0), Fleet(7, 0)])
def test_a_claim_waits_for_a_fixer_to_be_free(taken: Fleet) -> None:
    refused = admission(waiting_for_a_fixer(), started(), lambda: taken)
    assert refused == Refused("busy", f"{taken.live} of 2 fixers are at work", until=30)


def test_the_last_dollars_of_the_day_may_be_reserved_and_no_more() -> None:
    telling = waiting_for_a_fixer(Overrides(budget=BudgetOverrides(run_usd=2.0, day_usd=10.0)))
    assert admission(telling, started(), lambda: Fleet(0, 8_000_000)) is None
    refused = admission(telling, started(), lambda: Fleet(0, 8_000_001))
    assert refused is not None
    assert (refused.reason, refused.until) == ("busy", (DAY - telling.time % DAY) / 1_000_000)


@pytest.mark.parametrize(
    "hindered",
    [
        lambda: waiting_for_a_fixer().when(command("pause")),
        lambda: waiting_for_a_fixer().installation(command("pause")),
    ],
    ids=["paused", "killed"],
)
def test_nobody_begins_while_it_is_paused(hindered: Callable[[], Telling]) -> None:
    refused = admission(hindered(), started(), unasked)
    assert refused is not None
    assert refused.reason == "busy"


@pytest.mark.parametrize("name", sorted(WAKING))
def test_a_loop_may_be_woken_at_any_time(name: str) -> None:
    assert admission(given(), TimerFired(name=name, generation=0), unasked) is None


# --- which effects may still be made -------------------------------------------------------------------------------


def leave(telling: Telling, cls: type[Fact], run: str = "") -> Go | Stop:
    """What the worker is told who works on the latest event of a kind."""
    event = next(event for event in reversed(telling.events) if isinstance(event.fact, cls))
    return may(telling.loop, telling.policy, event, run)


def at_work() -> list[tuple[Telling, type[Fact]]]:
    """Everybody who is asked to work on the change itself, while it is his turn."""
    return [(collecting(), FixRequested), (fixing(), CommentsFetched), (pushing(), PushRequested)]


def test_a_worker_may_go_on_while_it_is_his_turn() -> None:
    assert [leave(telling, cls) for telling, cls in at_work()] == [Go(), Go(), Go()]


def test_a_worker_stops_when_his_turn_is_over() -> None:
    over: list[tuple[Telling, type[Fact]]] = [
        (fixing(), FixRequested),
        (pushing(), CommentsFetched),
        (awaiting_review(), PushRequested),
    ]
    assert [leave(telling, cls) for telling, cls in over] == [Stop("superseded")] * 3


def test_only_the_run_that_has_the_claim_goes_on() -> None:
    leaves = [leave(fixing(), CommentsFetched, run) for run in ("run-1", "run-2")]
    assert leaves == [Go(), Stop("superseded")]


def test_a_worker_stops_when_his_attempt_has_failed() -> None:
    telling = fixing().when(failed("model_overloaded"))
    assert leave(telling, CommentsFetched, "run-1") == Stop("superseded")


HINDRANCES: dict[str, Callable[[Telling], Telling]] = {
    "paused": lambda telling: telling.when(command("pause")),
    "closed": lambda telling: telling.when(closed()),
    "draft": lambda telling: telling.when(observed(90, draft=True)),
    "opted out": lambda telling: telling.when(observed(90, labels=("amends: off",))),
    "not enabled": lambda telling: telling.when(policy_changed(repositories=())),
    "fork": lambda telling: telling.when(observed(90, head_repo=2)),
}


@pytest.mark.parametrize("why", HINDRANCES)
def test_a_worker_stops_when_something_has_come_to_hinder_it(why: str) -> None:
    hinder = HINDRANCES[why]
    assert [leave(hinder(telling), cls) for telling, cls in at_work()] == [Stop(why)] * 3


def test_under_the_kill_switch_everybody_stops() -> None:
    leaves = [leave(telling.installation(command("pause")), cls) for telling, cls in at_work()]
    assert leaves == [Stop("paused")] * 3


def test_while_fixing_is_off_nobody_fixes_but_what_is_fixed_may_be_pushed() -> None:
    working, done = fixing(), pushing()
    off = working.policy.model_copy(update={"fixing_off": "model_auth"})
    collected = next(event for event in working.events if isinstance(event.fact, CommentsFetched))
    assert may(working.loop, off, collected, "run-1") == Stop("fixing is off (model_auth)")
    assert may(done.loop, off, done.events[-1], "") == Go()


def test_people_are_told_of_a_pause_while_it_lasts() -> None:
    telling = given(command("pause"))
    assert [leave(telling, cls) for cls in (CommandAccepted, LoopPaused)] == [Go(), Go()]
    assert leave(awaiting_review().when(command("pause")), CycleFinished) == Stop("paused")
    assert leave(given(command("pause"), command("explain")), CommandAccepted) == Go()


NOTICES: dict[type[Fact], Callable[[], Telling]] = {
    CycleFinished: awaiting_review,
    ReviewRequested: awaiting_review,
    Escalated: lambda: fixing().when(failed("no_change")),
    LoopFinished: lambda: given(command("ready")),
    CommandAccepted: lambda: given(command("fix")),
    CommandRefused: lambda: given(command("retry")),
}


@pytest.mark.parametrize("cls", NOTICES, ids=lambda cls: cls.__name__)
def test_people_may_be_told(cls: type[Fact]) -> None:
    assert leave(NOTICES[cls](), cls) == Go()


@pytest.mark.parametrize("cls", NOTICES, ids=lambda cls: cls.__name__)
def test_people_may_be_told_after_closing_but_nobody_is_asked_to_review_then(cls: type[Fact]) -> None:
    expected = Stop("closed") if cls is ReviewRequested else Go()
    assert leave(NOTICES[cls]().when(closed()), cls) == expected


@pytest.mark.parametrize("cls", NOTICES, ids=lambda cls: cls.__name__)
def test_people_are_left_in_peace_when_they_were_told_enough_in_an_hour(cls: type[Fact]) -> None:
    telling = NOTICES[cls]().when(policy_changed(budget=BudgetOverrides(comments_per_hour=2)))
    telling.when(*(Notified(of=9_000 + n, channel="github") for n in range(2)))
    assert leave(telling, cls) == Stop("comments_per_hour")
    telling.time += 3_600_000_000
    assert leave(telling.when(observed(9_000)), cls) == Go()


def test_authors_are_looked_up_until_the_change_is_closed() -> None:
    telling = settling().when(command("help", by=ANNA))
    kinds: list[type[Fact]] = [ReviewRejected, CommandGiven, PrObserved]
    assert [leave(telling, cls) for cls in kinds] == [Go()] * 3
    assert [leave(telling.when(closed()), cls) for cls in kinds] == [Stop("closed")] * 3


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_every_kind_of_event_has_an_answer(fact: AnyFact) -> None:
    event = Event(1, "1-pr-7", 1, fact.key, 0, "evaluator", "", None, "", fact)
    assert isinstance(may(Loop("1-pr-7"), Policy(), event, "run-1"), Go | Stop)
