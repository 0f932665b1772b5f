"""Which facts may be recorded now: who is entitled to report what, who holds a claim, and whose results are too late.

Facts about the world are never refused for the loop's state: they happened. Only work is: a claim that somebody else
holds or that would cost too much, and the results of an attempt that is over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from amends.common.answers import Go, Refused, Stop
from amends.common.envelope import Event
from amends.common.events import (
    CommandAccepted,
    CommandGiven,
    CommandRefused,
    CommentsFailed,
    CommentsFetched,
    CycleFinished,
    DeliveryParked,
    Escalated,
    Fact,
    FixFailed,
    FixPrepared,
    FixRequested,
    FixStarted,
    LoopFinished,
    LoopPaused,
    Notified,
    NotifyFailed,
    NotifyStarted,
    PolicyChanged,
    PolicyObserved,
    PushRefused,
    PushRequested,
    ReviewRequested,
    Step,
    TimerFired,
)
from amends.common.loop import DAY, HOUR, Loop, Phase
from amends.common.policy import Policy
from amends.common.standing import SECOND, obstacles, timers

BUSY_SECONDS = 30.0
HELD_SECONDS = 5.0  # another is asked only if the holder died: it may be back soon, and goes on once it is asked itself


@dataclass(frozen=True)
class Fleet:
    """All fixers of the installation: how many claims are live, and the day's money, spent or reserved."""

    live: int
    usd_micro: int


def entitled(service: str, fact: Fact) -> Refused | None:
    """A refusal when this service may not report this fact."""
    if service in fact.by:
        return None
    who = f"only {', '.join(fact.by)} may" if fact.by else "the evaluator decides it"
    return Refused("not_entitled", f"{service} may not report {name_of(fact)}: {who}")


def name_of(fact: Fact) -> str:
    """The fact's name, `noun.verbed`."""
    return str(type(fact).model_fields["type"].default)


def admitted(  # noqa: C901 - one arm per kind of fact
    loop: Loop, fact: Fact, policy: Policy, now: int, fleet: Callable[[], Fleet]
) -> Refused | None:
    """A refusal when the fact has no place in this loop now; `fleet` is only asked for a claim."""
    match fact:
        case PolicyChanged():
            return _in("installation", loop, fact)
        case PolicyObserved():
            return _in("policy", loop, fact)
        case CommandGiven() | DeliveryParked() | NotifyStarted() | Notified() | NotifyFailed():
            return None
        case TimerFired():
            return _timed(loop, fact, policy, now)
        case FixStarted():
            return _in("change", loop, fact) or _claimable(loop, fact, policy, now, fleet)
        case CommentsFetched() | CommentsFailed():
            waiting = loop.phase is Phase.COLLECTING and loop.cycle is not None and loop.cycle.failed is None
            return None if waiting and _current(loop, fact) else _superseded(loop, fact)
        case FixPrepared() | FixFailed():
            claim = loop.cycle.claim if loop.cycle else None
            return None if claim and claim.run == fact.run and _current(loop, fact) else _superseded(loop, fact)
        case PushRefused():
            asked = loop.cycle is not None and loop.cycle.push is not None and not loop.cycle.pushed
            return None if asked and _current(loop, fact) else _superseded(loop, fact)
        case _:
            return _in("change", loop, fact)


def admitted_while_stuck(fact: Fact) -> Refused | None:
    """A refusal for a claim: nobody can tell whether it may be granted, and its work could lead nowhere."""
    if isinstance(fact, FixStarted):
        return Refused("busy", "the loop is stuck: `amends explain` says why", until=BUSY_SECONDS)
    return None


def _in(kind: str, loop: Loop, fact: Fact) -> Refused | None:
    if loop.kind == kind:
        return None
    return Refused("not_addressed", f"{name_of(fact)} belongs to a {kind}, and {loop.id} is none: mend `about`")


def _current(loop: Loop, fact: Step) -> bool:
    return (fact.n, fact.k) == (loop.n, loop.k)


def _superseded(loop: Loop, fact: Step) -> Refused:
    detail = f"attempt {fact.k} of cycle {fact.n} is over or is somebody else's: the loop is at {loop.n}/{loop.k}"
    return Refused("superseded", detail)


def _timed(loop: Loop, fact: TimerFired, policy: Policy, now: int) -> Refused | None:
    if fact.name in WAKING:
        return None
    for timer in timers(loop, policy):
        if (timer.name, timer.generation) == (fact.name, fact.generation):
            early = (timer.due - now) / SECOND
            return None if early <= 0 else Refused("busy", f"{fact.name} is not due for {early:.1f} s", until=early)
    return Refused("superseded", f"{fact.name} of generation {fact.generation} is not set any more")


# Timers that are set for no loop in particular: the installation is on again, a newer program tries a stuck loop again.
WAKING = frozenset({"wake", "unstick"})


def _claimable(loop: Loop, fact: FixStarted, policy: Policy, now: int, fleet: Callable[[], Fleet]) -> Refused | None:
    cycle = loop.cycle
    if cycle is None or loop.phase is not Phase.FIXING or cycle.failed or cycle.prepared or not _current(loop, fact):
        return _superseded(loop, fact)
    if cycle.claim:
        return held_by_another(loop, fact, now)
    if loop.paused or policy.killed or policy.fixing_off:
        return Refused("busy", "the loop is paused, or fixing is off", until=BUSY_SECONDS)
    rules, taken = cycle.rules, fleet()
    if taken.live >= policy.max_fixers:
        return Refused("busy", f"{taken.live} of {policy.max_fixers} fixers are at work", until=BUSY_SECONDS)
    if taken.usd_micro + rules.budget.run_usd * SECOND > policy.budget.day_usd * SECOND:
        tomorrow = (DAY - now % DAY) / SECOND
        return Refused("busy", f"the day's {policy.budget.day_usd:g} dollars are spent or reserved", until=tomorrow)
    return None


def held_by_another(loop: Loop, fact: FixStarted, now: int) -> Refused:
    """The refusal for a claim that somebody else holds, with the time when it ends at the latest."""
    claim = loop.cycle.claim if loop.cycle else None
    if claim is None or loop.cycle is None or not _current(loop, fact):
        return _superseded(loop, fact)
    allowed = loop.cycle.rules.budget.agent_seconds * 2 + loop.cycle.rules.waits.claim_grace_seconds
    until = max(1.0, (claim.mark.time - now) / SECOND + allowed)
    return Refused("busy", f"{claim.holder} works on it", until=min(until, HELD_SECONDS))


def may(loop: Loop, policy: Policy, event: Event, run: str) -> Go | Stop:
    """Whether the work that `event` asked for may have its effect now: asked right before every effect."""
    fact = event.fact
    if (loop.paused or policy.killed) and not _heard_in_pause(fact):
        return Stop("paused")
    match fact:
        case (
            CycleFinished() | ReviewRequested() | Escalated() | LoopFinished() | LoopPaused()
            | CommandAccepted() | CommandRefused()
        ):  # fmt: skip
            if isinstance(fact, ReviewRequested) and loop.closed:
                return Stop("closed")
            recent = sum(time > loop.time - HOUR for time in loop.told)
            return Go() if recent < policy.budget.comments_per_hour else Stop("comments_per_hour")
        case FixRequested() | CommentsFetched() | PushRequested():
            return _working(loop, fact, policy, run)
        case _:
            return Stop("closed") if loop.closed else Go()


def _heard_in_pause(fact: Fact) -> bool:
    """Whether it is the pause itself that people are told about (after the resume that is no news), or an answer."""
    return isinstance(fact, LoopPaused) or (isinstance(fact, CommandAccepted) and fact.name in _ANSWERED)


_ANSWERED = frozenset({"pause", "explain", "help"})


def _working(loop: Loop, fact: FixRequested | CommentsFetched | PushRequested, policy: Policy, run: str) -> Go | Stop:
    cycle = loop.cycle
    if loop.closed:
        return Stop("closed")
    if cycle is None or cycle.failed or not _current(loop, fact):
        return Stop("superseded")
    if isinstance(fact, PushRequested):
        policy = policy.model_copy(update={"fixing_off": ""})  # a push needs no model
    if hindering := obstacles(loop, policy):
        return Stop(hindering[0].name)
    turn = {FixRequested: Phase.COLLECTING, CommentsFetched: Phase.FIXING, PushRequested: Phase.PUSHING}[type(fact)]
    if loop.phase is not turn or (cycle.claim is not None and run and cycle.claim.run != run):
        return Stop("superseded")
    return Go()
