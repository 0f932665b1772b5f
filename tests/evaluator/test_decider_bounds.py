"""A request holds much, and its envelope has an end: the largest of everything still fits."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from amends.common.answers import Refused
from amends.common.envelope import MAX_ENVELOPE, decode, encode
from amends.common.events import (
    Author,
    CycleFinished,
    Escalated,
    Fact,
    FixRequested,
    Judgement,
    ReviewRejected,
    Usage,
    Verdict,
)
from amends.common.loop import Loop, Phase
from amends.common.policy import (
    EVERYTHING,
    LONG_LINES,
    LONG_PROMPT,
    MOST_PATHS,
    Overrides,
    Policy,
    effective,
    size,
    tightest,
)
from amends.evaluator.batch import ENVELOPE_ROOM, REPEATED, encoded
from amends.evaluator.decider import MAX_REQUEST, decide
from tests.support.facts import FULL_NAME, believed, command, fetched, item, prepared, rejected, started, word
from tests.support.given import collecting, given, settling

MOST = MAX_ENVELOPE - ENVELOPE_ROOM
QUOTES = '"' * 400  # each takes two bytes in an event
BELL = "\a" * 20_000  # six


def lines(mark: str) -> tuple[str, ...]:
    """As much as a list of lines may hold."""
    return tuple(f"{number:03}{mark}{QUOTES[:390]}" for number in range(LONG_LINES // 790))


PEOPLE = tuple(2**63 - 1 - number for number in range(500))
LARGEST = Overrides(
    repositories=(FULL_NAME,), triggers=("comments",) * 10, notify=("github",) * 10, reviewers=PEOPLE, bots=PEOPLE,
    custom_prompt="\a" * (LONG_PROMPT // 6 - 1), checks=lines("c"), protected_paths=lines("p"), opt_out_label=QUOTES,
)  # fmt: skip
THEIRS = LARGEST.model_copy(update={"protected_paths": lines("q"), "repositories": None})


def largest() -> Policy:
    """All layers at their largest, and as much again from a change in the middle of a cycle."""
    policy = effective(LARGEST, THEIRS, FULL_NAME, fixing_off="")
    before = effective(
        LARGEST.model_copy(update={"protected_paths": lines("r")}), Overrides(protected_paths=lines("s")), FULL_NAME
    )
    return tightest(before, policy)


def crowded(policy: Policy) -> Loop:
    """A loop with more of everything than any request can carry."""
    people = [Author(id=0, login=f"{number:03}{QUOTES[:397]}", kind="token") for number in range(300)]
    reviews = [rejected(number, by=who) for number, who in enumerate(people, 1)]
    loop = given(*reviews, *(command("refine", text=BELL, id_=f"w-{n}") for n in range(9))).loop
    judged = replace(next(iter(loop.items.values())), hints={}, version="f" * 64)
    closed = {
        f"check/{number:04}{QUOTES[:190]}": replace(judged, verdicts=dict.fromkeys(versions(), Judgement.FIXED))
        for number in range(1_500)
    }
    return replace(loop, items={**closed, **loop.items}, ask="command/fix-1", phase=Phase.RESTING)


def versions() -> list[str]:
    return ["f" * 64, "e" * 64]


def asked(loop: Loop, policy: Policy) -> FixRequested:
    [request] = decide(loop, policy)
    assert isinstance(request, FixRequested)
    return request


def bytes_of(fact: Fact) -> int:
    return len(encode(fact))


# --- the policy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("checks", ("x" * 399,) * 41),
        ("protected_paths", ('"' * 400,) * 21),
        ("custom_prompt", "\a" * (LONG_PROMPT // 6 + 1)),
        ("triggers", ("checks",) * 11),
        ("bots", range(501)),
    ],
)
def test_a_layer_that_says_too_much_is_refused_by_the_name_of_the_value(name: str, value: object) -> None:
    with pytest.raises(ValidationError) as refused:
        Overrides.model_validate({name: value})
    assert [error["loc"][0] for error in refused.value.errors()] == [name]


def test_the_largest_layer_is_allowed() -> None:
    assert Overrides.model_validate(LARGEST.model_dump()) == LARGEST
    assert size(LARGEST.checks) > LONG_LINES * 9 // 10


def test_layers_together_lose_no_protected_path() -> None:
    policy = effective(LARGEST, THEIRS, FULL_NAME)
    assert policy.protected_paths == (*lines("p"), *lines("q"))


def test_more_protected_paths_than_can_be_told_protect_everything() -> None:
    rules = largest()
    assert 0 < size(rules.protected_paths) <= MOST_PATHS
    more = tightest(rules, Policy(protected_paths=lines("t")))
    assert more.protected_paths == EVERYTHING
    assert tightest(more, rules).protected_paths[0] == "**"


# --- the request ---------------------------------------------------------------------------------------------------


def test_the_largest_policy_leaves_half_of_a_request_to_what_it_is_about() -> None:
    rules = largest().model_copy(update={"fixing_off": "x" * 200, "versions": "9" * 40})
    assert bytes_of(FixRequested(n=1, k=1, head="a" * 64, rules=rules)) < MAX_REQUEST * 6 // 10


def test_the_largest_request_fits_into_an_event() -> None:
    policy = largest().model_copy(update={"enabled": True, "opt_out_label": QUOTES})
    request = asked(crowded(policy), policy)
    assert MAX_REQUEST * 9 // 10 < bytes_of(request) <= MAX_REQUEST <= MOST
    assert all((request.rejecting, request.closed, request.texts))


def test_the_largest_request_can_be_read_again() -> None:
    policy = largest().model_copy(update={"enabled": True})
    request = asked(crowded(policy), policy)
    assert decode("fix.requested", 1, encode(request)) == request


def test_many_short_paths_in_each_layer_can_be_read_again() -> None:
    ours, theirs = (tuple(f"{mark}{number}" for number in range(500)) for mark in "ab")
    rules = effective(Overrides(protected_paths=ours), Overrides(protected_paths=theirs), FULL_NAME)
    request = FixRequested(n=1, k=1, head="", rules=rules)
    assert (len(rules.protected_paths), decode("fix.requested", 1, encode(request))) == (1_000, request)


def test_a_text_that_no_request_could_carry_is_cut_and_not_held_back_for_ever() -> None:
    policy = largest().model_copy(update={"enabled": True})
    [first, *_] = asked(crowded(policy), policy).texts
    assert 5_000 < len(first.text) < len(BELL)


def test_of_what_is_closed_the_latest_versions_go_first() -> None:
    policy = Policy(enabled=True)
    told = asked(crowded(policy), policy).closed
    assert {one.version for one in told} == {"f" * 64}
    assert len(told) > 100


def test_what_there_is_room_for_is_told_whole() -> None:
    story = collecting().when(*believed(rejected(5))).so_far()
    request = story.last(FixRequested)
    assert (request.rejecting, request.expects, request.closed) == (("12",), ("R1",), ())


def test_an_escalation_of_many_items_fits_too() -> None:
    findings = settling(Overrides(max_cycles=1)).loop
    names = {f"check/{number:03}{QUOTES[:190]}": findings.items["review/1"] for number in range(300)}
    loop = replace(findings, items=names, used=1, ask="command/fix-1")
    [escalated] = decide(loop, Policy(enabled=True, max_cycles=1))
    assert isinstance(escalated, Escalated)
    assert 50 < len(escalated.items) < 200
    assert bytes_of(escalated) < MOST


def test_the_end_of_a_cycle_has_room_for_all_that_its_fix_said() -> None:
    verdicts = tuple(Verdict(item=f"{n}", version="f" * 16, judgement=Judgement.FIXED) for n in range(1_264))
    fix = prepared(*verdicts).model_copy(update={"usage": Usage()})
    assert (isinstance(encoded(fix), bytes), bytes_of(fix) > 0.9 * (MOST - REPEATED)) == (True, True)
    story = collecting().when(fetched(item()), started(), fix).so_far()
    known = replace(story.loop.items["review/1"], version="f" * 16, hints=settling().loop.items["review/1"].hints)
    assert story.loop.cycle is not None
    cycle = replace(story.loop.cycle, pushed="b" * 40)
    [finished] = decide(
        replace(story.loop, items=dict.fromkeys(map(str, range(2_150)), known), cycle=cycle), story.policy
    )
    assert isinstance(finished, CycleFinished)
    assert {verdict.judgement for verdict in finished.verdicts} == {Judgement.SUPERSEDED}
    assert bytes_of(fix) < bytes_of(finished) < MOST


def test_a_fix_that_leaves_no_room_for_what_follows_from_it_is_refused() -> None:
    verdicts = tuple(Verdict(item=f"{n}", version="f" * 16, judgement=Judgement.FIXED) for n in range(2_100))
    fix = prepared(*verdicts)
    assert bytes_of(fix) < MOST
    assert isinstance(encoded(fix), Refused)


def test_a_reviewer_with_the_longest_name_can_be_asked_about() -> None:
    outside = Author(id=0, login="x" * 400, kind="token")
    review = ReviewRejected(review=2**62, node="R", author=outside, submitted_at=rejected().submitted_at)
    story = given(review).after(30)
    assert story.last(FixRequested).rejecting == (f"token/{'x' * 400}",)
    assert (item().version, story.status) == (word("please mend it"), "collecting")
