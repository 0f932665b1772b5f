"""What has to be there in the end, on GitHub and in the log, and what of it is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from amends.cli.demo.scene import DISCOUNTS, RECEIPTS
from amends.common.events import Escalated, FixPushed, LoopFinished

if TYPE_CHECKING:
    from amends.cli.demo.scene import Scene
    from amends.common.envelope import Event
    from amends.doubles.github.control.pulls import PullHandle


class Wanted(NamedTuple):
    """How a pull request has to end: facts by number, pieces of code by file, how the loop ends.

    Suggestions are answered and resolved in any case, prose only where it says so.
    """

    facts: Mapping[str, int]
    code: Mapping[str, Sequence[str]]
    ending: str
    prose: bool = False


_TWO_CYCLES = dict.fromkeys(
    ("fix.requested", "comments.fetched", "fix.prepared", "fix.pushed", "cycle.finished", "review.requested"), 2
)
_CODE = {"basket.py": ("def average(prices):", "ValueError"), "test_basket.py": ("ValueError",)}
_RECEIPT = {"receipt.py": ('f"{name}: {price}"', "for one in lines)")}
WHOLE = {
    DISCOUNTS: Wanted(
        {**_TWO_CYCLES, "review.rejected": 2, "review.approved": 1, "loop.finished": 1}, _CODE, "approved", prose=True
    ),
    RECEIPTS: Wanted({**_TWO_CYCLES, "review.rejected": 3, "escalated": 1}, _RECEIPT, "max_cycles"),
}
_ONE_CYCLE = {"review.rejected": 1, "fix.prepared": 1, "fix.pushed": 1, "fix.failed": 1, "escalated": 1}
WITHOUT_A_SANDBOX = {
    **WHOLE,
    DISCOUNTS: Wanted(_ONE_CYCLE, {"basket.py": ("def average(prices):",)}, "sandbox_unavailable"),
}
_FAULTS = ("fix.failed", "push.refused", "comments.failed", "notify.failed", "delivery.parked", "loop.stuck")
NEEDS_HUMAN = "amends: needs human"


def missing(scene: Scene, events: Mapping[int, Sequence[Event]], wanted: Mapping[int, Wanted]) -> Iterator[str]:
    """What is not as it should be; nothing when everything is."""
    for number, one in wanted.items():
        told = events.get(number, ())
        pull = scene.pulls[number]
        for fault in (*_facts(told, one), *_commits(scene, pull, told, one), *_said(scene, pull, one)):
            yield f"#{number}: {fault}"


def _facts(told: Sequence[Event], wanted: Wanted) -> Iterator[str]:
    found = Counter(event.type for event in told)
    for type_, count in {**dict.fromkeys(_FAULTS, 0), **wanted.facts}.items():
        if found[type_] != count:
            yield f"the fact {type_}: {found[type_]} in the log, {count} expected"
    escalated = [event.fact.reason for event in told if isinstance(event.fact, Escalated)]
    ends = escalated + [event.fact.outcome for event in told if isinstance(event.fact, LoopFinished)]
    if ends != [wanted.ending]:
        yield f"the loop ends {', '.join(ends) or 'nowhere'}, {wanted.ending} expected"


def _commits(scene: Scene, pull: PullHandle, told: Sequence[Event], wanted: Wanted) -> Iterator[str]:
    pushed = [event.fact.sha for event in told if isinstance(event.fact, FixPushed)]
    ours = [commit for commit in scene.repo.log(pull.of.head_ref) if "Amends-Key:" in commit.message]
    if [commit.sha for commit in reversed(ours)] != pushed or len(ours) != wanted.facts["fix.pushed"]:
        yield f"commits of amends on the branch: {len(ours)}, {wanted.facts['fix.pushed']} expected"
    for path, pieces in wanted.code.items():
        yield from (f"in {path}: {piece}" for piece in pieces if piece not in scene.read(pull, path))


def _said(scene: Scene, pull: PullHandle, wanted: Wanted) -> Iterator[str]:
    us = scene.app.login
    for thread in pull.threads:
        if not wanted.prose and "```suggestion" not in thread.root.body:
            continue
        replies = sum(one.author == us for one in thread.comments)
        if replies != 1 or thread.resolved_by != us:
            about = " ".join(thread.root.body.split())[:40]
            yield f"the answer to {about!r}: {replies} replies, {'' if thread.resolved else 'not '}resolved"
    asked = sum(one.event == "review_requested" and one.actor.login == us for one in pull.of.issue.timeline)
    if asked != wanted.facts.get("review.requested", 0):
        yield f"requests for a new review: {asked}, {wanted.facts.get('review.requested', 0)} expected"
    if not any(one.author == us for one in pull.conversation):
        yield "the status card"
    if ("escalated" in wanted.facts) != (NEEDS_HUMAN in pull.labels):
        yield f"the label {NEEDS_HUMAN!r}"
