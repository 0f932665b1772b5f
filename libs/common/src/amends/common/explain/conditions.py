"""The checklist: what has to be so for the loop to go on, and which of it is so."""

from __future__ import annotations

from amends.common.explain.explanation import Condition
from amends.common.loop import Item, Loop, Review
from amends.common.policy import Policy
from amends.common.standing import (
    Status,
    approvals,
    counting,
    obstacles,
    questions,
    rejections,
    requests,
    trusted,
    unchecked,
)

MOST = 10


def conditions(loop: Loop, policy: Policy, status: Status) -> list[Condition]:
    """What matters for the next step from here."""
    if loop.kind != "change":
        return _settings(loop)
    found = _free(loop, policy)
    if not loop.closed:
        match status:
            case Status.AWAITING_REVIEW | Status.NEEDS_HUMAN:
                found += _accepted(loop, policy)
            case _:
                found += _steps(loop) if loop.cycle else _feedback(loop, policy)
        found += _unheard(loop, policy)
    return found + _given_up(loop, policy)


def _settings(loop: Loop) -> list[Condition]:
    if loop.kind == "policy":
        return [Condition("the policy file can be read", loop.rules_error, met=not loop.rules_error)]
    return [
        Condition("not paused", "say resume", met=not loop.paused),
        Condition("fixing is on", "mend the model access, then say resume", met=not loop.fixing_off),
    ]


def _free(loop: Loop, policy: Policy) -> list[Condition]:
    hindering = [
        Condition(f"nothing hinders: {obstacle.name}", obstacle.remedy) for obstacle in obstacles(loop, policy)
    ]
    return hindering or [Condition("nothing hinders", "", met=True)]


def _feedback(loop: Loop, policy: Policy) -> list[Condition]:
    counts = counting(loop, policy)
    left_out = {id_: item for id_, item in counting(loop, policy, "all").items() if id_ not in counts}
    start = Condition(
        f"something counts{listed(list(counts))}", "a rejection, feedback that a trigger covers, or a command",
        met=bool(counts),
    )  # fmt: skip
    return [start, *(_uncovered(id_, item) for id_, item in list(left_out.items())[:MOST])]


def _uncovered(id_: str, item: Item) -> Condition:
    trigger = "checks" if item.kind == "check" else "comments"
    return Condition(
        f"{titled(id_, item)} counts",
        f"its author rejects, the policy's triggers have {trigger!r}, or somebody says fix",
    )


def _accepted(loop: Loop, policy: Policy) -> list[Condition]:
    rejecting = [called(review) for review in rejections(loop, policy)]
    approving = [called(review) for review in approvals(loop, policy)]
    counts, asked = list(counting(loop, policy)), list(questions(loop, policy))
    head = loop.pull.head[:7] if loop.pull else "?"
    return [
        Condition(
            f"no standing rejection{listed(rejecting)}", "another review or a dismissal ends it, a comment does not",
            met=not rejecting,
        ),
        Condition(
            f"approved at {head}{listed(approving)}", "by somebody whose word counts and who is not the author",
            met=bool(approving),
        ),
        Condition(f"every item has its verdict{listed(counts)}", "a cycle takes up what counts", met=not counts),
        Condition(f"no question is open{listed(asked)}", "answer in the thread, or say accept", met=not asked),
    ]  # fmt: skip


def _steps(loop: Loop) -> list[Condition]:
    cycle = loop.cycle
    if cycle is None:
        return []
    holder, prepared = cycle.claim and cycle.claim.holder, cycle.prepared
    size = f" ({len(prepared.changes)} changed files)" if prepared else ""
    return [
        Condition("feedback collected", "the comment-fetcher reports comments.fetched", met=cycle.fetched is not None),
        Condition(
            f"taken up{listed([holder] if holder else [])}", "a fixer claims it with fix.started",
            met=bool(holder or prepared),
        ),
        Condition(f"fix prepared{size}", "the fixer reports fix.prepared", met=prepared is not None),
        Condition("fix pushed", "the publisher reports fix.pushed", met=bool(cycle.pushed)),
    ]  # fmt: skip


def _unheard(loop: Loop, policy: Policy) -> list[Condition]:
    """Whoever spoke and is not heard, yet or at all."""
    found = [
        _unknown(f"review {number}", called(review), " (late)" if review.overdue else "")
        for number, review in loop.reviews.items()
        if unchecked(review) and not review.dismissed and trusted(policy, review.author, None) is None
    ]
    found += [
        _unknown(
            f"the command {command.name!r}",
            command.author.login or command.author.account,
            " (late)" if command.overdue else "",
        )
        for command in loop.commands.values()
        if trusted(policy, command.author, command.permission) is None
    ]
    for review in rejections(loop, policy, believed=False):
        if trusted(policy, review.author, review.permission) is not False:
            continue
        what = (
            "its id among the policy's bots"
            if review.author.kind == "bot"
            else "write permission, and a place in reviewers"
        )
        found.append(Condition(f"the word of {called(review)} counts", what))
    return found


def _unknown(what: str, author: str, late: str = "") -> Condition:
    return Condition(f"the author of {what} is known ({author})", f"the comment-fetcher reports author.checked{late}")


def _given_up(loop: Loop, policy: Policy) -> list[Condition]:
    owed = {str(request.pos) for request in requests(loop, policy)}
    parked = [(*place.split("/"), error) for place, error in loop.parked.items()]
    return [
        Condition(f"the {service} takes event {pos}", f"it gave up ({error}): mend it; the evaluator asks again")
        for pos, service, error in parked
        if pos in owed
    ]


# --- how things are called -----------------------------------------------------------------------------------------


def called(review: Review) -> str:
    """A reviewer as people call him."""
    return review.author.login or review.author.account


def titled(id_: str, item: Item) -> str:
    """An item by its name, its place and its author."""
    place = f"{item.path}:{item.line}" if item.path and item.line else item.path
    author = item.author.login or item.author.account if item.author else ""
    return id_ + (f" at {place}" if place else "") + (f" by {author}" if author else "")


def listed(names: list[str]) -> str:
    """Names behind a colon, not too many of them."""
    if not names:
        return ""
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return f": {', '.join(names[:MOST])}{more}"
