"""The words for reason codes are held to what the decider really does with them."""

from __future__ import annotations

import ast
from dataclasses import replace
from inspect import getsource
from pathlib import Path

import pytest

from amends.common.events import CycleFinished, Decided, Escalated, Failure, FixRequested
from amends.common.explain.reasons import ESCALATIONS, FAILURES, Follows, escalation
from amends.common.loop import Cycle, Failed, Loop, Mark
from amends.common.policy import Policy
from amends.evaluator import decider
from amends.evaluator.decider import alarm, decide
from tests.support.stories import fixing


def failing(reason: Failure, *, retry: bool = False, tries: int = 1) -> tuple[Loop, Policy]:
    story = fixing()
    cycle = story.loop.cycle
    assert isinstance(cycle, Cycle)
    mark = Mark(story.loop.pos, story.loop.version, story.loop.time)
    cycle = replace(cycle, claim=None, failed=Failed(reason, mark, retry=retry), tries=tries, outage=mark.time)
    return replace(story.loop, cycle=cycle), story.policy


def said(decisions: list[Decided]) -> list[str]:
    return [
        f"{fact.type} {fact.outcome}" + (" used" if fact.used else "") if isinstance(fact, CycleFinished) else fact.type
        for fact in decisions
    ]


DECIDED = {
    Follows.LATER: [],
    Follows.WHEN_ON: [],
    Follows.AT_ONCE: ["fix.requested"],
    Follows.AT_RESUME: ["fix.requested"],
    Follows.CANCELLED: ["cycle.finished cancelled"],
    Follows.ESCALATED: ["cycle.finished failed used", "escalated"],
    Follows.ESCALATED_UNUSED: ["cycle.finished failed", "escalated"],
}


@pytest.mark.parametrize("reason", Failure)
def test_what_is_said_to_follow_is_what_is_decided(reason: Failure) -> None:
    assert said(decide(*failing(reason))) == DECIDED[FAILURES[reason].follows]


@pytest.mark.parametrize("reason", [code for code in Failure if FAILURES[code].follows is Follows.LATER])
def test_what_comes_later_comes_when_its_wait_is_over(reason: Failure) -> None:
    (decision,) = decide(*failing(reason, retry=True))
    assert isinstance(decision, FixRequested)


@pytest.mark.parametrize("reason", [code for code in Failure if FAILURES[code].follows is Follows.WHEN_ON])
def test_what_turns_fixing_off_tells_the_installation(reason: Failure) -> None:
    raised = alarm(*failing(reason))
    assert isinstance(raised, Escalated)
    assert raised.reason == reason


@pytest.mark.parametrize("reason", [code for code in Failure if FAILURES[code].follows is Follows.AT_ONCE])
def test_the_third_restart_escalates(reason: Failure) -> None:
    assert said(decide(*failing(reason, tries=3))) == ["cycle.finished failed", "escalated"]


def test_every_reason_to_escalate_has_its_words() -> None:
    """Whatever the decider's source names as a reason: no run of it need have reached that place."""
    calls = [node for node in ast.walk(ast.parse(getsource(decider))) if isinstance(node, ast.Call)]
    named = {
        argument.value
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id in {"_given_up", "_escalation", "Escalated"}
        for argument in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "reason"))
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and argument.value
    }
    assert {"max_cycles", "question", "stalled"} <= named
    assert {reason for reason in (*named, *decider.GAVE_UP.values()) if escalation(reason).means == reason} == set()


def test_no_words_are_left_for_a_reason_that_nobody_gives() -> None:
    source = Path(decider.__file__).read_text(encoding="utf-8")
    assert [reason for reason in ESCALATIONS if f'"{reason}"' not in source] == []
