"""The vocabulary: closed, frozen, keyed by what the outside calls things, and each fact reported by those entitled."""

from __future__ import annotations

import re
from typing import Annotated, get_args

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from amends.common.envelope import FACTS, subject
from amends.common.events import (
    EVERYONE,
    REACTIONS,
    RESERVED,
    WORKERS,
    AnyFact,
    CommentAdded,
    CommentEdited,
    CycleFinished,
    Decided,
    Fact,
    FixRequested,
    FixStarted,
    LoopPaused,
    Moment,
    PrObserved,
    Reported,
    Request,
    ReviewRejected,
)
from amends.common.policy import Policy
from tests.support.examples import ANNA, BASE, BODY, DECIDED, EXAMPLES, HEAD, MARIA, NOON, OTHER_BODY, REPORTED

KEYS = {
    "pr.observed": "pr",
    "pr.closed": "pr",
    "review.rejected": "review/900/rejected",
    "review.approved": "review/901/approved",
    "review.commented": "review/902/commented",
    "review.dismissed": "review/900/dismissed",
    "comment.added": f"comment/PRRC_501/{BODY}",
    "comment.edited": f"comment/PRRC_501/{OTHER_BODY}",
    "comment.deleted": "comment/PRRC_501/deleted",
    "thread.resolved": "thread/501",
    "thread.unresolved": "thread/501",
    "checks.finished": f"checks/build/{BASE}",
    "access.changed": "access",
    "author.checked": "review/900/rejected/author",
    "command.given": "command/IC_77",
    "policy.changed": "policy/panel-1",
    "policy.observed": f"policy/{'c' * 40}",
    "comments.fetched": "cycle/1/1/fetched",
    "comments.failed": "cycle/1/1/failed",
    "fix.started": "cycle/1/1/started",
    "fix.prepared": "cycle/1/1/prepared",
    "fix.failed": "cycle/1/1/fix-failed",
    "fix.pushed": "cycle/1/pushed",
    "push.refused": "cycle/1/1/refused",
    "resolve.finished": "cycle/1/resolved",
    "checks.counted": "cycle/1/checks/counted",
    "notified": "notified/40/github",
    "notify.failed": "notified/40/slack/failed",
    "notify.started": "notified/40/email/started",
    "delivery.parked": "parked/40/notifier",
    "timer.fired": "timer/settle/1/4",
    "loop.opened": "opened",
    "command.accepted": "command/IC_77/accepted",
    "command.refused": "command/IC_78/refused",
    "fix.requested": "cycle/1/1/requested",
    "push.requested": "cycle/1/1/push",
    "cycle.finished": "cycle/1/finished",
    "resolve.requested": "cycle/1/resolve",
    "checks.requested": "cycle/1/checks",
    "review.requested": "cycle/1/review",
    "escalated": "cycle/1/escalated/question",
    "loop.paused": "command/IC_79/paused",
    "loop.resumed": "command/IC_80/resumed",
    "loop.stuck": "stuck/41",
    "loop.finished": "finished/1",
}
SNAPSHOTS = {
    "pr.observed": "pr",
    "pr.closed": "pr",
    "thread.resolved": "thread/501",
    "thread.unresolved": "thread/501",
    "checks.finished": f"checks/build/{BASE}",
    "access.changed": "access",
    "policy.observed": "policy",
}
# Section 4 of the design, row by row: who observes, who works, and the local operator's hand-made facts (`cli`).
HANDS = {"cli"}
WATCHERS = {"gateway", "comment-fetcher"}
ENTITLED = {
    "pr.observed": WATCHERS | {"publisher"} | HANDS,
    "pr.closed": WATCHERS | {"publisher"} | HANDS,
    "review.rejected": WATCHERS | {"reviewer"} | HANDS,
    "review.approved": WATCHERS | {"reviewer"} | HANDS,
    "review.commented": WATCHERS | {"reviewer"} | HANDS,
    "review.dismissed": WATCHERS | HANDS,
    "comment.added": WATCHERS | HANDS,
    "comment.edited": WATCHERS | HANDS,
    "comment.deleted": WATCHERS | HANDS,
    "thread.resolved": WATCHERS | HANDS,
    "thread.unresolved": WATCHERS | HANDS,
    "checks.finished": WATCHERS | HANDS,
    "access.changed": WATCHERS | {"publisher"} | HANDS,
    "author.checked": {"comment-fetcher"} | HANDS,
    "command.given": WATCHERS | HANDS,
    "policy.changed": {"gateway", "evaluator"} | HANDS,
    "policy.observed": {"comment-fetcher"} | HANDS,
    "comments.fetched": {"comment-fetcher"} | HANDS,
    "comments.failed": {"comment-fetcher"} | HANDS,
    "fix.started": {"fixer"} | HANDS,
    "fix.prepared": {"fixer"} | HANDS,
    "fix.failed": {"fixer"} | HANDS,
    "fix.pushed": {"publisher"} | HANDS,
    "push.refused": {"publisher"} | HANDS,
    "resolve.finished": {"publisher"} | HANDS,
    "checks.counted": {"publisher"} | HANDS,
    "notified": {"notifier"} | HANDS,
    "notify.failed": {"notifier"} | HANDS,
    "notify.started": {"notifier"} | HANDS,
    "delivery.parked": set(EVERYONE),
    "timer.fired": {"evaluator"},
}


def test_every_fact_has_an_example_and_every_example_is_a_fact() -> None:
    assert {type(fact) for fact in REPORTED} == set(get_args(Reported))
    assert {type(fact) for fact in DECIDED} == set(get_args(Decided))


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_has_this_key(fact: AnyFact) -> None:
    assert fact.key == KEYS[fact.type]


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_only_a_snapshot_names_the_slot_it_is_a_value_of(fact: AnyFact) -> None:
    assert fact.slot == SNAPSHOTS.get(fact.type, "")


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_may_be_reported_by_these_and_a_decision_by_nobody(fact: AnyFact) -> None:
    assert set(fact.by) == ENTITLED.get(fact.type, set())


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_is_frozen_and_holds_nothing_else(fact: AnyFact) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        fact.type = "other"  # type: ignore[assignment]
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(fact).model_validate({**fact.model_dump(), "more": 1})


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_and_its_class_have_the_same_words(fact: AnyFact) -> None:
    assert "".join(word.capitalize() for word in re.split(r"[._]", fact.type)) == type(fact).__name__


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_says_what_it_is_in_a_sentence(fact: AnyFact) -> None:
    assert (type(fact).__doc__ or "").rstrip().endswith(".")


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_s_subject_is_made_of_tokens_that_nats_can_carry(fact: AnyFact) -> None:
    assert re.fullmatch(r"events\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+){1,2}", subject("1-pr-7", fact.type))


def test_the_union_is_closed() -> None:
    with pytest.raises(ValidationError, match="does not match any of the expected tags"):
        TypeAdapter(Annotated[AnyFact, Field(discriminator="type")]).validate_python({"type": "fix.dreamed"})


def test_the_five_names_that_never_change() -> None:
    five = {"review.rejected", "comments.fetched", "fix.pushed", "review.requested", "escalated"}
    assert five <= FACTS.keys()


def test_the_next_round_s_names_are_reserved_and_not_taken() -> None:
    assert {"self_review.requested", "self_review.completed", "pr.requested", "pr.created"} == RESERVED
    assert RESERVED.isdisjoint(FACTS)


def test_the_webhook_and_the_poller_meet_in_one_key() -> None:
    """The webhook says `added`, the poller that came after an edit says `edited`: one text of one comment, one key."""
    edited = next(fact for fact in EXAMPLES if isinstance(fact, CommentEdited))
    late = {**edited.model_dump(), "type": "comment.added", "updated_at": NOON.replace(hour=13)}
    assert CommentAdded.model_validate(late).key == edited.key


def test_a_key_depends_on_no_clock_and_on_no_process() -> None:
    first = FixStarted(n=2, k=3, holder="fixer-1/0", run="run-1")
    assert first.key == FixStarted(n=2, k=3, holder="fixer-2/0", run="run-2").key == "cycle/2/3/started"


def test_another_opinion_of_the_same_reviewer_is_another_happening() -> None:
    keys = {ReviewRejected(review=number, node="PRR_1", author=MARIA, submitted_at=NOON).key for number in (900, 901)}
    assert len(keys) == 2


def test_a_request_that_is_asked_again_has_a_key_of_its_own() -> None:
    assert CycleFinished(n=1, outcome="answered", used=True, again=2).key == "cycle/1/finished/again/2"
    assert LoopPaused(of="command/1", again=1).key == "command/1/paused/again/1"
    assert FixRequested(n=1, k=2, head=HEAD, rules=Policy(), again=3).key == "cycle/1/2/requested/again/3"


def test_every_request_names_a_service_that_works_and_reacts_to_it() -> None:
    requests = {fact.type: type(fact).service for fact in EXAMPLES if isinstance(fact, Request)}
    assert set(requests.values()) <= set(WORKERS)
    assert {type_ for type_, service in requests.items() if type_ not in REACTIONS[service]} == set()


def test_nobody_reacts_to_what_cannot_happen() -> None:
    assert {type_ for reactions in REACTIONS.values() for type_ in reactions} <= FACTS.keys()
    assert set(REACTIONS) <= set(WORKERS)


def test_every_fact_starts_at_schema_one() -> None:
    assert {cls.schema_version for cls in FACTS.values()} == {1}
    assert all(issubclass(cls, Fact) for cls in FACTS.values())


@pytest.mark.parametrize("said", ["0001-01-01T00:00:00+12:00", "9999-12-31T23:59:59-12:00"])
def test_a_date_that_utc_cannot_hold_is_refused_and_no_accident(said: str) -> None:
    with pytest.raises(ValidationError, match="within the years 1 to 9999"):
        TypeAdapter(Moment).validate_json(f'"{said}"')


def test_one_moment_said_in_two_zones_is_the_same_snapshot() -> None:
    seen = PrObserved(
        full_name="o/r", author=ANNA, head=HEAD, head_ref="x", head_repo=1, base_ref="main", updated_at=NOON
    )
    there = seen.model_dump(mode="json") | {"updated_at": "2026-03-02T13:00:00+01:00"}
    assert PrObserved.model_validate(there) == seen
