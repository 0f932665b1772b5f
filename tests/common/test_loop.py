"""evolve is total and silent: every fact ever written, in any order, applied to anything, raises nothing."""

from collections.abc import Callable

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from amends.common.envelope import FACTS as TYPES
from amends.common.envelope import Event, decode, encode
from amends.common.events import (
    AccessChanged,
    AnyFact,
    Collected,
    CommandAccepted,
    CommentsFetched,
    Escalated,
    FixStarted,
    Notified,
    TimerFired,
    Usage,
)
from amends.common.loop import MEANING, Loop, added, evolve, micros, number, snapshot_updated, snapshot_value
from amends.common.policy import Policy
from amends.common.standing import blocked, obstacles, requests, status, timers, window
from amends.common.state import dump, load
from tests.support.examples import EXAMPLES
from tests.support.facts import (
    HEAD,
    MARIA,
    NEXT,
    NOON,
    believed,
    check,
    checked,
    closed,
    command,
    comment,
    deleted,
    edited,
    failed,
    fetched,
    item,
    observed,
    prepared,
    pushed,
    rejected,
    resolved,
    started,
    unresolved,
    word,
)
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing, settling

STAGES: list[Callable[[], Telling]] = [given, settling, collecting, fixing, pushing, awaiting_review]
ODD: tuple[AnyFact, ...] = (
    *(TimerFired(name=name, generation=1) for name in ("tell/x", "author/", "tell/99", "claim", "wake", "settle")),
    *(Escalated(of=of, reason="stalled", stops=False) for of in ("ask/x", "ask", "review/x", "review/7")),
    CommandAccepted(of="command/nobody", name="refine"),
    CommentsFetched(
        n=1, k=1, head=NEXT, items=(Collected(id="review/abc", kind="review", version=word("x"), author=MARIA),)
    ),
    Notified(of=1, channel="github"),
    FixStarted(n=1, k=1, holder="h", run="r"),
    *(rejected(body=""), checked(rejected()), deleted(comment()), resolved(), unresolved(), check(NEXT)),
)  # fmt: skip
FACTS = (*EXAMPLES, *ODD)
RULES = Policy(enabled=True, triggers=("comments", "checks"))


def applied(loop: Loop, *facts: AnyFact) -> Loop:
    for fact in facts:
        version = loop.version + 1
        loop = evolve(loop, Event(version, loop.id, version, f"k/{version}", 1_000 * version, "x", "", None, "", fact))
    return loop


def looked_at(loop: Loop) -> None:
    """Every question that can be asked of any loop."""
    assert status(loop, RULES)
    timers(loop, RULES)
    requests(loop, RULES)
    window(loop, RULES)
    obstacles(loop, RULES)
    blocked(loop, RULES)


# --- total ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.type)
def test_every_fact_can_be_the_first(fact: AnyFact) -> None:
    for name in ("1-pr-7", "1-policy", "installation", "1-br-0123456789abcdef-1"):
        looked_at(applied(Loop(name), fact))


@pytest.mark.parametrize("stage", STAGES)
def test_every_fact_can_come_in_every_state(stage: Callable[[], Telling]) -> None:
    for fact in FACTS:
        looked_at(applied(stage().loop, fact))


@settings(max_examples=150, deadline=None)
@drawn(st.sampled_from(range(len(STAGES))), st.lists(st.sampled_from(FACTS), max_size=25))
def test_every_order_of_facts_can_be_folded(stage: int, facts: list[AnyFact]) -> None:
    loop = applied(STAGES[stage]().loop, *facts)
    looked_at(loop)
    assert load(dump(loop)) == loop


@settings(max_examples=50, deadline=None)
@drawn(st.permutations(FACTS))
def test_all_facts_in_any_order_can_be_folded(facts: list[AnyFact]) -> None:
    looked_at(applied(Loop("1-pr-7"), *facts))


def test_every_fact_has_a_meaning() -> None:
    assert set(MEANING) == set(TYPES.values())


def test_a_loop_is_the_same_after_it_was_stored() -> None:
    for stage in STAGES:
        assert load(dump(stage().loop)) == stage().loop


def test_a_loop_is_the_fold_of_its_log() -> None:
    story = awaiting_review().when(*believed(rejected(4)), command("pause"), closed(90))
    assert story.folded() == story.loop
    assert story.folded("installation") == story.loops["installation"]


def test_what_is_folded_does_not_change_what_it_was_folded_from() -> None:
    loop = fixing().loop
    before = dump(loop)
    applied(loop, *FACTS)
    assert dump(loop) == before


def test_evolve_takes_facts_as_they_were_stored() -> None:
    for fact in FACTS:
        assert decode(fact.type, type(fact).schema_version, encode(fact)) == fact


# --- snapshots -----------------------------------------------------------------------------------------------------


def test_a_snapshots_value_says_nothing_about_when() -> None:
    assert snapshot_value(observed(1)) == snapshot_value(observed(2))
    assert snapshot_value(observed(head=HEAD)) != snapshot_value(observed(head=NEXT))


def test_two_facts_of_one_slot_are_never_the_same_value() -> None:
    assert resolved().slot == unresolved().slot
    assert snapshot_value(resolved(seconds=1)) != snapshot_value(unresolved(seconds=1))


def test_a_snapshot_knows_the_forges_date_when_there_is_one() -> None:
    assert snapshot_updated(observed(1)) == micros(NOON) + 1_000_000
    assert snapshot_updated(AccessChanged(access="lost")) is None


def test_snapshots_are_numbered_and_may_return_to_an_old_value() -> None:
    story = given().when(observed(1, head=NEXT), observed(2), observed(2), observed(1, head=NEXT))
    keys = [event.key for event in story.events if event.type == "pr.observed"]
    assert (keys, story.already) == (["pr/1", "pr/2", "pr/3"], 2)


def test_a_happening_is_recorded_once_whoever_brings_it() -> None:
    story = given(rejected(), rejected(), comment(), comment(), edited(comment(), "b"), edited(comment(), "b"))
    assert story.already == 3


# --- small parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "expected"), [("12", 12), ("", -1), ("x", -1), ("²", -1), ("-1", -1), ("9" * 20, -1)])
def test_a_name_ends_in_a_number_or_in_none(text: str, expected: int) -> None:
    assert number(text) == expected


def test_costs_add_up() -> None:
    one = Usage(turns=1, tokens=2, usd_micro=3, seconds=4)
    assert added(one, one) == Usage(turns=2, tokens=4, usd_micro=6, seconds=8)


def test_what_an_attempt_cost_stays_when_the_next_begins() -> None:
    story = fixing().when(failed("crashed", usage=Usage(turns=3, usd_micro=70_000)))
    assert story.loop.spent.usd_micro == 70_000
    story.when(fetched(item(), k=2), started(k=2), prepared(k=2), pushed())
    assert story.loop.spent.turns == 4


def test_what_was_told_is_remembered_for_an_hour() -> None:
    loop = applied(Loop("1-pr-7"), Notified(of=1, channel="github"))
    later = Event(9, loop.id, 9, "k/9", 1_000 + 3_600_000_000, "x", "", None, "", Notified(of=2, channel="github"))
    assert (len(loop.told), len(evolve(loop, later).told)) == (1, 1)


def test_the_type_checker_lets_nobody_change_a_value_of_the_loop() -> None:
    """`./taskw check` fails at a line whose complaint it was told to ignore and that it does not complain of."""
    mine = Loop("1-pr-7")
    mine.version = 3  # type: ignore[misc]  # Property "version" defined in "Loop" is read-only
    assert mine != Loop("1-pr-7")
