"""Whose turn it is: a service that owes an answer, a person, or time."""

from __future__ import annotations

from amends.common.explain.conditions import called
from amends.common.explain.explanation import Turn
from amends.common.loop import Loop
from amends.common.policy import Policy
from amends.common.standing import Status, rejections, requests, timers

# What is waited for, by the first word of its timer's name; deadlines belong to the request that they bound.
_WAITS = {"settle": "nobody adds feedback for a while", "retry": "the next attempt begins"}


def turns(loop: Loop, policy: Policy, status: Status) -> list[Turn]:
    """Everybody the loop waits for, the one that matters most first."""
    waits = [
        Turn("time", why, timer.due)
        for timer in timers(loop, policy)
        if (why := _WAITS.get(timer.name.partition("/")[0]))
    ]
    owed = [Turn(request.service, _owed(loop, request.pos), request.due) for request in requests(loop, policy)]
    people = _people(loop, policy, status)
    return [*owed, *waits, *people] if status is Status.WATCHING else [*people, *waits, *owed]


def _owed(loop: Loop, pos: int) -> str:
    cycle = loop.cycle
    if ask := loop.asks.get(pos):
        done = "tells people about" if ask.fact.service == "notifier" else "answers"
        return f"{done} {ask.fact.type} ({pos})"
    if cycle and cycle.push and cycle.push.mark.pos == pos:
        return f"answers push.requested ({pos})"
    if cycle and cycle.fetched and cycle.fetched.pos == pos:
        return f"answers comments.fetched ({pos})"
    if cycle and cycle.requested.pos == pos:
        return f"answers fix.requested ({pos})"
    return f"looks up an author ({pos})"


def _people(loop: Loop, policy: Policy, status: Status) -> list[Turn]:
    if loop.kind != "change":
        return [Turn("human", "says resume")] if loop.paused or loop.fixing_off else []
    if loop.pull is None:
        return [Turn("gateway", "reports pr.observed, or the comment-fetcher does")]
    if loop.cycle and loop.cycle.failed and policy.fixing_off:
        return [Turn("human", "mends the model access and resumes the installation")]
    match status:
        case Status.PAUSED:
            return [Turn("human", "resumes the installation" if policy.killed else "says resume")]
        case Status.NEEDS_HUMAN:
            return [Turn("human", "decides how it goes on")]
        case Status.AWAITING_REVIEW:
            rejecting = [Turn(f"reviewer {called(review)}", "looks again") for review in rejections(loop, policy)]
            return rejecting or [Turn("reviewer", "approves, or asks for more")]
        case Status.WATCHING:
            return [Turn("reviewer", "reviews")]
        case _:
            return []
