"""Whoever asks why something was done or not done is told: the reason, by whom, and under which value of the policy."""

from __future__ import annotations

import pytest

from amends.common.events import FixRequested, Judgement
from amends.common.explain import Account, Known, explain, lines
from amends.common.policy import BudgetOverrides, Overrides, Severity
from amends.common.provenance import Layers
from tests.support.facts import (
    EVE,
    FULL_NAME,
    MARIA,
    ROBOT,
    believed,
    checked,
    closed,
    command,
    comment,
    commented,
    failed,
    fetched,
    item,
    observed,
    only_answered,
    policy_changed,
    policy_observed,
    rejected,
    verdict,
)
from tests.support.given import CHANGE_LOOP, Telling, again, awaiting_review, collecting, fixing, given, settling
from tests.support.policies import ONE_CYCLE, ONLY_TOM


def accounted(story: Telling) -> Account:
    own = [event for event in story.events if event.loop == CHANGE_LOOP]
    beside = [event for event in story.events if event.loop != CHANGE_LOOP]
    layers = Layers(FULL_NAME).tell(beside)
    explanation = explain(story.loop, story.policy, own, Known(layers.settings(), layers.error, beside))
    assert explanation.account is not None
    assert all(deed.what and deed.why for part in explanation.account for deed in part)
    assert "Not done:" in lines(explanation) or not explanation.account.undone
    return explanation.account


def said(deeds: tuple[object, ...]) -> str:
    return "\n".join(map(str, deeds))


def minor() -> Telling:
    """A finding less bad than the policy asks for was put aside."""
    low = verdict(judgement="deferred").model_copy(update={"severity": Severity.LOW, "reason": "below the threshold"})
    return fixing().when(only_answered(low))


def paused_everywhere() -> Telling:
    return settling().installation(command("pause"))


def wrong_file() -> Telling:
    bad = policy_observed("c" * 40).model_copy(update={"values": None, "error": "max_cycles: no number", "line": 3})
    return given(policy_observed(max_cycles=1), bad)


SITUATIONS: dict[str, tuple[Telling, tuple[str, ...]]] = {
    "a stranger's review": (
        given(*believed(rejected(by=EVE), "read")),
        ("review 1 by eve does not count", "eve may read here", "reviewers = write (default)"),
    ),
    "a reviewer who is not listed": (
        given(*believed(rejected(by=MARIA)), policy=ONLY_TOM),
        ("review 1 by maria does not count", "maria (12) is not among the reviewers", "reviewers = [14] (installation"),
    ),
    "a bot that is not listed": (
        given(rejected(by=ROBOT)),
        ("review 1 by robot[bot] does not count", "a bot that is not listed", "bots = [] (default)"),
    ),
    "a stranger's comment": (
        collecting().when(comment(7, by=EVE), fetched(item(), strangers=(EVE.id,))),
        ("thread/7: what eve said does not count", "reviewers = write"),
    ),
    "below the severity threshold": (
        minor(),
        ("was deferred (low)", "below the threshold", "severity_threshold = medium (default)"),
    ),
    "not a trigger": (
        given(comment()),
        ("thread/5 by maria starts nothing", "triggers do not have 'comments'", "triggers = [] (default)"),
    ),
    "a comment-only review": (given(*believed(commented())), ("starts nothing", "triggers = []")),
    "the settle window": (settling(), ("has not begun yet", "settle_seconds = 30 (default)")),
    "paused": (
        settling().when(command("pause")),
        ("no cycle begins", "paused by panel, with command.given", "say resume"),
    ),
    "paused everywhere": (paused_everywhere(), ("no cycle begins", "killed by panel, with command.given")),
    "a fork": (
        given(*believed(rejected()), pull=observed(head_repo=2)),
        ("no cycle begins", "fork: amends pushes to branches of the repository itself only"),
    ),
    "a draft": (
        given(*believed(rejected()), pull=observed(draft=True)),
        ("no cycle begins", "draft: mark", "drafts = false (default)"),
    ),
    "opted out": (
        given(*believed(rejected()), pull=observed(labels=("amends: off",))),
        ("no cycle begins", "opted out", "opt_out_label = amends: off (default)"),
    ),
    "not enabled": (
        settling().when(policy_changed("off", enabled=False)),
        ("not enabled", "enabled = false (installation, event "),
    ),
    "all cycles used": (
        again(awaiting_review(ONE_CYCLE), 4),
        ("a human is needed (max_cycles)", "max_cycles = 1 (installation, event "),
    ),
    "the money is spent": (
        again(awaiting_review(Overrides(budget=BudgetOverrides(turns=1))), 4),
        ("a human is needed (limits)", "budget.turns = 1 (installation, event "),
    ),
    "needs a human": (
        fixing().when(only_answered(verdict(judgement="needs_human"))),
        ("review/1 by maria waits", "only a human can answer it"),
    ),
    "failed checks": (fixing().when(failed("checks_failed")), ("a human is needed (checks_failed)", "checks = []")),
    "an author who was not looked up": (
        given(rejected()),
        ("review 1 by maria does not count yet", "nobody has looked up yet"),
    ),
    "a command whose author was not looked up": (
        given(command("fix", by=MARIA)),
        ("the command 'fix'", "nobody has looked up yet"),
    ),
    "a wrong policy file": (
        wrong_file(),
        ("policy file is not in force", "line 3: max_cycles: no number", "the last good one is"),
    ),
    "closed": (settling().when(closed()), ("no cycle begins", "closed: reopen the pull request")),
}


@pytest.mark.parametrize(("story", "words"), SITUATIONS.values(), ids=SITUATIONS)
def test_inv_47_what_is_not_done_is_explained(story: Telling, words: tuple[str, ...]) -> None:
    undone = said(accounted(story).undone)
    assert [word for word in words if word not in undone] == [], undone


def test_inv_47_what_was_done_says_why_by_whom_and_under_which_policy() -> None:
    done = {deed.what: deed for deed in accounted(awaiting_review()).done}
    begun = done["cycle 1, attempt 1 was begun"]
    assert begun.by.startswith("the evaluator, when settle was over (event ")
    assert "max_cycles = 2 (default), triggers = [] (default), policy 2.0" in begun.under
    assert "it is the fix of cycle 1" in done["bbbbbbb was pushed"].why
    assert "review/1 fixed" in done["cycle 1 ended pushed"].why
    assert done["asked to look again: maria"].by.startswith("test, with fix.pushed (event ")


def test_a_refused_command_says_whose_it_was_and_why() -> None:
    given_ = command("stop", by=EVE)
    [refused] = accounted(given(given_, checked(given_, "read"))).done
    assert (refused.what, refused.why) == ("the command 'stop' was refused", "who gave it has no say here")
    assert (refused.by[:9], "reviewers = write (default)" in refused.under) == ("eve (66),", True)


def test_a_deed_is_told_with_the_values_of_its_time() -> None:
    story = again(awaiting_review(ONE_CYCLE), 4).when(policy_changed("more", max_cycles=9))
    [asked] = [deed for deed in accounted(story).done if deed.what == "a human was asked for (max_cycles)"]
    assert asked.under.startswith("max_cycles = 1 (installation, event ")


def test_a_fix_that_a_person_asked_for_names_him() -> None:
    story = given(comment(), command("fix"))
    assert story.last(FixRequested).scope == "all"
    [obeyed, begun] = accounted(story).done
    assert (obeyed.by, begun.why) == (
        f"panel, with command.given (event {obeyed.pos - 1})",
        "all that is open was asked for",
    )
    assert begun.by.startswith("panel, with command.given")


def test_where_nothing_is_left_undone_nothing_is_said() -> None:
    story = awaiting_review()
    assert story.judgement("review/1") is Judgement.FIXED
    assert accounted(story).undone == ()
