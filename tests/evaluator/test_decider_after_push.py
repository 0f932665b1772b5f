"""What is asked of the publisher beside a push: threads to resolve, and whether checks have begun."""

from __future__ import annotations

import pytest

from amends.common.events import (
    AnyFact,
    ChecksCounted,
    ChecksRequested,
    Escalated,
    FixPushed,
    Notified,
    ResolveFinished,
    ResolveRequested,
)
from amends.common.policy import Overrides, WaitsOverrides
from amends.common.standing import requests
from tests.support.facts import (
    NEXT,
    closed,
    command,
    comment,
    fetched,
    item,
    observed,
    prepared,
    pushed,
    resolved,
    started,
    unresolved,
    verdict,
)
from tests.support.given import Telling, given

THREADS = Overrides(triggers=("comments",))
HOUR = 3_600
PUSHED = "cycle.finished 1 pushed used"
LOOKED_FOR = Overrides(triggers=("comments",), waits=WaitsOverrides(ci_seconds=600))


def fixed(*judgements: str, policy: Overrides = THREADS) -> Telling:
    """Threads 5, 6 ... were collected, judged like this, and the fix is pushed."""
    threads = range(5, 5 + len(judgements))
    story = given(*(comment(root) for root in threads), policy=policy).after(30)
    story.when(fetched(*(item(f"thread/{root}") for root in threads)), started())
    judged = (verdict(f"thread/{root}", judgement) for root, judgement in zip(threads, judgements, strict=True))
    return story.when(prepared(*judged)).so_far().when(pushed(), observed(40, head=NEXT))


def owed(story: Telling) -> list[str]:
    """Of what the publisher owes an answer."""
    asked = (story.loop.asks[one.pos].fact for one in requests(story.loop, story.policy) if one.service == "publisher")
    return [fact.type for fact in asked]


# --- threads -------------------------------------------------------------------------------------------------------


def test_the_threads_of_what_is_fixed_are_asked_for_and_no_others() -> None:
    story = fixed("fixed", "answered").then("resolve.requested", PUSHED)
    request = story.last(ResolveRequested)
    assert (request.sha, [one.item for one in request.verdicts]) == (NEXT, ["thread/5"])
    assert owed(story) == ["resolve.requested"]


def test_not_under_a_policy_that_leaves_them_to_people() -> None:
    fixed("fixed", policy=THREADS.model_copy(update={"resolve_threads": False})).then(PUSHED)


def test_it_is_owed_until_the_publisher_answers_and_nobody_else() -> None:
    story = fixed("fixed")
    [(pos, _)] = [one for one in story.loop.asks.items() if isinstance(one[1].fact, ResolveRequested)]
    story.when(Notified(of=pos, channel="github"))
    assert owed(story) == ["resolve.requested"]
    story.when(ResolveFinished(n=1, roots=(5,)))
    assert owed(story) == []
    assert story.loop.items["thread/5"].resolved


WORD = comment(text="no, not so", reply=6, seconds=45)
OURS: list[tuple[AnyFact, ...]] = [
    (WORD, ResolveFinished(n=1, roots=(5,))),
    (ResolveFinished(n=1, roots=(5,)), WORD),
    (WORD, resolved(seconds=60), ResolveFinished(n=1, roots=(5,))),
    (resolved(seconds=60), WORD, ResolveFinished(n=1, roots=(5,))),
    (ResolveFinished(n=1, roots=(5,)), resolved(seconds=60), WORD),
    (resolved(seconds=40), unresolved(seconds=42), ResolveFinished(n=1, roots=(5,)), resolved(seconds=60), WORD),
]


@pytest.mark.parametrize(
    "facts", OURS, ids=["before", "late", "before, and seen", "meanwhile", "late, and seen", "twice"]
)
def test_what_somebody_said_before_we_resolved_his_thread_is_not_lost(facts: tuple[AnyFact, ...]) -> None:
    story = fixed("fixed").so_far().after(60).when(*facts).after(30).then("fix.requested 2/1")
    story.when(fetched(item("thread/5", "no, not so", resolved=True), n=2, head=NEXT)).then()
    assert story.status == "fixing"


def test_what_somebody_said_before_he_resolved_his_thread_himself_needs_no_answer() -> None:
    story = fixed("fixed").when(ResolveFinished(n=1)).so_far()
    story.when(WORD, resolved(seconds=60)).after(300).then()


def test_nor_what_he_said_before_he_opened_and_resolved_ours_if_only_the_end_of_it_is_heard() -> None:
    story = fixed("fixed").when(ResolveFinished(n=1, roots=(5,)), resolved(seconds=40)).so_far()
    story.when(WORD, resolved(seconds=60)).after(300).then()


def test_the_answer_resolves_nothing_that_was_not_asked_for() -> None:
    story = fixed("fixed", "answered").when(ResolveFinished(n=1, roots=(6, 77)))
    assert [item.resolved for item in story.loop.items.values()] == [False, False]


def test_it_is_asked_again_and_one_answer_settles_all_of_it() -> None:
    story = fixed("fixed").so_far().after(2 * HOUR)
    assert [one for one in story.decided if one.startswith("resolve")] == [
        "resolve.requested again 1", "resolve.requested again 2"
    ]  # fmt: skip
    assert owed(story) == ["resolve.requested"]
    assert owed(story.when(ResolveFinished(n=1))) == []


def test_whoever_never_answers_is_a_humans_to_look_into() -> None:
    story = fixed("fixed").so_far().after(7 * HOUR)
    details = [one.fact.detail for one in story.events if isinstance(one.fact, Escalated)]
    assert any("the publisher did not answer resolve.requested" in detail for detail in details)
    assert (owed(story), story.loop.phase) == ([], "resting")


# --- checks --------------------------------------------------------------------------------------------------------


def test_when_checks_have_had_their_time_somebody_has_to_look() -> None:
    story = fixed("answered", "fixed", policy=LOOKED_FOR).when(ResolveFinished(n=1)).so_far()
    story.after(599).then().after(1).then("checks.requested")
    assert (story.last(ChecksRequested).sha, owed(story)) == (NEXT, ["checks.requested"])
    story.when(ChecksCounted(n=1)).then()
    assert owed(story) == []


def test_checks_that_are_missing_are_a_humans_to_know_once() -> None:
    story = fixed("fixed", policy=LOOKED_FOR).after(600).so_far()
    story.when(ChecksCounted(n=1, missing=("build", "lint"))).then("escalated ci_not_started")
    assert story.last(Escalated).detail == f"build, lint did not begin for {NEXT}"
    story.when(ChecksCounted(n=1, missing=("build",))).then()


def test_of_a_commit_that_is_not_the_head_any_more_nobody_hears() -> None:
    story = fixed("fixed", policy=LOOKED_FOR).after(600).when(observed(700, head="d" * 40)).so_far()
    story.when(ChecksCounted(n=1, missing=("build",))).then()


@pytest.mark.parametrize("stops", [closed(50), command("pause")], ids=["closed", "paused"])
def test_nobody_looks_where_nothing_may_be_done(stops: object) -> None:
    story = fixed("fixed", policy=LOOKED_FOR).when(stops).so_far().after(600)  # type: ignore[arg-type]  # facts
    assert "checks.requested" not in story.decided


def test_a_pause_only_puts_it_off() -> None:
    story = fixed("fixed", policy=LOOKED_FOR).when(command("pause")).after(600).when(command("resume"))
    assert "checks.requested" in story.decided


def test_an_old_log_sets_nothing_off() -> None:
    story = fixed("fixed").so_far()
    story.when(FixPushed(n=1, sha=NEXT, ci_seconds=600)).after(HOUR - 1)
    assert "checks.requested" not in story.decided
