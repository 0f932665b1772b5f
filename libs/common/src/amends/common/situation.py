"""How a loop stands, for those who tell people and have no log: values that say everything a message may need."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from amends.common.events import Author, CommandGiven, Judgement, Name, Part, Usage
from amends.common.explain import Explanation
from amends.common.explain.conditions import titled
from amends.common.explain.handover import address, cycle_line, left_over, orders
from amends.common.explain.reasons import escalation
from amends.common.explain.text import unmet, written
from amends.common.explain.why import next_step, why
from amends.common.loop import Loop
from amends.common.policy import Channel, Count, Id, Policy
from amends.common.standing import Status, status

MOST = 500  # items; more than that nobody reads, and an answer has an end
MOST_DEEDS, LONGEST_DEED = 20, 500


class Spot(Part):
    """One item: what it is called, where it is shown, how it was judged, and why it has no end yet."""

    name: str
    url: str = ""
    judgement: Judgement | None = None
    left: str = ""


class Say(Part):
    """A command that helps now, and what it does."""

    comment: str
    effect: str


class Human(Part):
    """Why a human is needed."""

    reason: str
    means: str
    remedy: str


class Situation(Part):
    """A loop at one version. `seen` is which head each reviewer last spoke about."""

    loop: Name
    version: Count = 0
    kind: Literal["change", "installation", "policy"] = "change"
    repo: Id = 0
    number: Id = 0
    full_name: Name = ""
    title: Name = ""
    url: Name = ""
    author: Author | None = None
    head: str = ""
    status: Status = Status.WATCHING
    finished: str = ""
    closed: str = ""
    why: str = ""
    next: str = ""
    running: bool = False
    used: Count = 0
    allowed: Count = 0
    spent: Usage = Usage()
    budget_usd: float = 0.0
    human: Human | None = None
    history: tuple[str, ...] = ()
    items: dict[str, Spot] = Field(default_factory=dict)
    more_items: Count = 0
    orders: tuple[Say, ...] = ()
    seen: dict[str, str] = Field(default_factory=dict)
    reviewers: tuple[Id, ...] = ()
    channels: tuple[Channel, ...] = ()
    drafts: bool = False
    opt_out_label: str = ""
    enabled: bool = True
    policy_error: str = ""
    fixing_off: str = ""


class Accounted(Part):
    """What whoever says `explain` wants to know: what is missing, what was done, and what was not, a line each."""

    missing: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    undone: tuple[str, ...] = ()


class Asked(Part):
    """What the event at a position asks of the notifier: whether anybody still waits, and who has been told.

    `failed` channels were given up for this very event; when it is asked again they are tried again.
    `begun` says which run began to tell a channel last. Of an answer to a command there is the command too, and of an
    answer to `explain` the account.
    """

    owed: bool
    told: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    begun: dict[str, str] = Field(default_factory=dict)
    situation: Situation
    command: CommandGiven | None = None
    account: Accounted | None = None


def accounted(explanation: Explanation) -> Accounted:
    """The part of an explanation that a comment has room for."""
    deeds = explanation.account
    return Accounted(
        missing=_last(unmet(explanation)),
        done=_last([written(deed) for deed in deeds.done] if deeds else []),
        undone=_last([written(deed) for deed in deeds.undone] if deeds else []),
    )


def _last(lines: list[str]) -> tuple[str, ...]:
    return tuple(line[:LONGEST_DEED] for line in lines[-MOST_DEEDS:])


def situation(loop: Loop, policy: Policy, policy_error: str = "") -> Situation:
    """How the loop stands under this policy; `policy_error` is what is wrong in the repository's own file."""
    stands, pull = status(loop, policy), loop.pull
    repo, _, number = loop.id.partition("-pr-")
    meaning = escalation(loop.human) if loop.human else None
    return Situation(
        loop=loop.id,
        version=loop.version,
        kind=loop.kind,
        repo=int(repo) if number else 0,
        number=int(number) if number else 0,
        full_name=pull.full_name if pull else "",
        title=pull.title if pull else "",
        url=pull.url if pull else "",
        author=pull.author if pull else None,
        head=pull.head if pull else "",
        status=stands,
        finished=loop.finished,
        closed=loop.closed,
        why=why(loop, policy, stands),
        next=next_step(loop, policy, stands),
        running=loop.cycle is not None,
        used=loop.used,
        allowed=policy.max_cycles + loop.granted,
        spent=loop.spent,
        budget_usd=policy.budget.usd,
        human=Human(reason=loop.human, means=meaning.means, remedy=meaning.remedy) if meaning else None,
        history=tuple(map(cycle_line, loop.history)),
        items=_items(loop, policy),
        more_items=max(0, len(loop.items) - MOST),
        orders=tuple(Say(comment=one.comment, effect=one.effect) for one in orders(loop, policy, stands, loop.id)),
        seen={one.author.account: one.head for _, one in sorted(loop.reviews.items()) if one.verb},
        reviewers=policy.reviewers if isinstance(policy.reviewers, tuple) else (),
        channels=policy.notify,
        drafts=policy.drafts,
        opt_out_label=policy.opt_out_label,
        enabled=policy.enabled,
        policy_error=policy_error,
        fixing_off=policy.fixing_off,
    )


def _items(loop: Loop, policy: Policy) -> dict[str, Spot]:
    left = {id_: state for id_, _, state in left_over(loop, policy)}
    first = sorted(loop.items.items(), key=lambda entry: entry[0] not in left)[:MOST]
    return {
        id_: Spot(
            name=titled(id_, item),
            url=address(loop, id_),
            judgement=item.verdicts.get(item.version),
            left=left.get(id_, ""),
        )
        for id_, item in first
        if not item.absent
    }
