"""The paragraph: why the loop stands where it stands, and what comes next."""

from __future__ import annotations

from collections.abc import Callable

from amends.common.envelope import moment
from amends.common.explain.conditions import called, listed
from amends.common.explain.reasons import ENDINGS, FAILURES, escalation
from amends.common.loop import Cycle, Loop, Phase
from amends.common.policy import Policy
from amends.common.standing import Status, counting, obstacles, rejections


def why(loop: Loop, policy: Policy, status: Status) -> str:
    """Why it stands where it stands."""
    if loop.kind != "change":
        return _settings(loop)
    if loop.pull is None:
        return "The pull request itself has not been seen yet. What happens is recorded, nothing is decided."
    return _WHY[status](loop, policy)


def human_reason(loop: Loop) -> str:
    """Why a loop that needs a human needs him: what stopped it, or else what was asked."""
    return loop.human if loop.phase is Phase.STOPPED else "question"


def next_step(loop: Loop, policy: Policy, status: Status) -> str:
    """What comes next, and with what."""
    if loop.kind != "change":
        return "Settings change when somebody changes them."
    if loop.pull is None:
        return "With pr.observed it begins."
    if loop.closed:
        return "Nothing, unless the pull request is opened again."
    if loop.cycle and loop.cycle.failed and status is not Status.PAUSED:
        follows = FAILURES[loop.cycle.failed.reason].follows
        return f"{follows[0].upper()}{follows[1:]}."
    if status is Status.NEEDS_HUMAN and loop.phase is Phase.STOPPED:
        return "One of the commands below, or an approval of the current head."
    if status is Status.DONE and loop.finished == "stopped":
        return "Nothing, unless somebody says fix or reset."
    hindering = obstacles(loop, policy) if status in {Status.WATCHING, Status.AWAITING_REVIEW} else []
    return f"{_NEXT[status]} But first: {hindering[0].remedy}." if hindering else _NEXT[status]


def _settings(loop: Loop) -> str:
    if loop.kind == "policy":
        wrong = f" The file is wrong ({loop.rules_error}); the last good one is in force." if loop.rules_error else ""
        return f"It keeps the repository's policy.{wrong}"
    paused = f" Everything is paused, by {loop.paused}." if loop.paused else ""
    off = f" Fixing is off ({loop.fixing_off}): {escalation(loop.fixing_off).means}." if loop.fixing_off else ""
    return f"It keeps the installation's settings.{paused}{off}"


def _watching(loop: Loop, policy: Policy) -> str:
    hindering = ", ".join(obstacle.name for obstacle in obstacles(loop, policy))
    return f"Nothing that counts waits for a cycle.{f' Nothing could start anyway: {hindering}.' if hindering else ''}"


def _settling(loop: Loop, policy: Policy) -> str:
    counts = listed(list(counting(loop, policy)))
    return f"There is feedback that counts{counts}. More may follow.{_used(loop, policy)}"


def _working(loop: Loop, policy: Policy) -> str:
    cycle = loop.cycle
    if cycle is None:
        return ""
    attempt = f"Cycle {loop.n}, attempt {loop.k}"
    if cycle.failed is None:
        return f"{attempt}: {_step(cycle)}.{_used(loop, policy)}"
    reason = FAILURES[cycle.failed.reason]
    return f"{attempt} failed ({cycle.failed.reason}): {reason.means}.{_used(loop, policy)}"


def _step(cycle: Cycle) -> str:
    if cycle.push:
        again = f", asked {cycle.push.again} times again" if cycle.push.again else ""
        return f"the publisher is to push the fix on {cycle.head[:7]}{again}"
    if cycle.claim:
        return f"{cycle.claim.holder} works on it since {moment(cycle.claim.mark.time):%H:%M:%S} UTC"
    if cycle.fetched:
        return "the feedback is collected and waits for a free fixer"
    return "the comment-fetcher collects all feedback"


def _awaiting(loop: Loop, policy: Policy) -> str:
    rejecting = listed([called(review) for review in rejections(loop, policy)])
    done = f"The fix {loop.pushed[:7]} is pushed" if loop.pushed else "All feedback is answered"
    return f"{done}; the next word is the reviewers'{rejecting}.{_used(loop, policy)}"


def _needs_human(loop: Loop, policy: Policy) -> str:
    reason = human_reason(loop)
    return f"A human is needed ({reason}): {escalation(reason).means}.{_used(loop, policy)}"


def _paused(loop: Loop, policy: Policy) -> str:
    by = "The installation is paused" if policy.killed else f"It was paused by {loop.paused}"
    work = f" Cycle {loop.n} was cut off." if loop.cycle else ""
    return f"{by}: what happens is recorded, nothing is decided.{work}"


def _done(loop: Loop, _policy: Policy) -> str:
    return f"It is over: {ENDINGS.get(loop.finished, loop.finished)}."


def _used(loop: Loop, policy: Policy) -> str:
    return f" {loop.used} of {policy.max_cycles + loop.granted} cycles are used."


_WHY: dict[Status, Callable[[Loop, Policy], str]] = {
    Status.WATCHING: _watching,
    Status.SETTLING: _settling,
    Status.COLLECTING: _working,
    Status.FIXING: _working,
    Status.PUSHING: _working,
    Status.AWAITING_REVIEW: _awaiting,
    Status.NEEDS_HUMAN: _needs_human,
    Status.PAUSED: _paused,
    Status.DONE: _done,
}
_NEXT = {
    Status.WATCHING: "A rejection, feedback that a trigger covers, or a command starts a cycle.",
    Status.SETTLING: "When it has been quiet for long enough, the evaluator starts a cycle, or says why it may not.",
    Status.COLLECTING: "With comments.fetched a fixer takes it up.",
    Status.FIXING: "With fix.prepared the evaluator asks for the push.",
    Status.PUSHING: "With fix.pushed the cycle ends and the reviewers are asked to look again.",
    Status.AWAITING_REVIEW: "An approval of the current head ends the loop; more feedback starts the next cycle.",
    Status.NEEDS_HUMAN: "An answer where it was asked, or one of the commands below.",
    Status.PAUSED: "With resume it goes on where it was.",
    Status.DONE: "Nothing, unless something that counts begins it again.",
}
