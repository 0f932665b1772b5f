"""What stands in a loop under a policy: whose word counts, what waits, what hinders, and what each wait is for.

Pure questions to a loop. The decider acts on the answers, `explain` and the views show them, so all say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from amends.common.events import Author, Failure, Reporter
from amends.common.frozen import remembered
from amends.common.loop import (
    MODEL_OFF,
    OUTAGES,
    TRUSTED,
    UNJUDGED,
    Command,
    Hint,
    Item,
    Loop,
    Mark,
    Phase,
    Review,
    is_past,
    is_question,
    is_stranger,
    number,
)
from amends.common.policy import Overrides, Policy, effective, merged

SECOND = 1_000_000
MAX_AGAIN = 5


class Status(StrEnum):
    """How the loop looks to people."""

    WATCHING = "watching"
    SETTLING = "settling"
    COLLECTING = "collecting"
    FIXING = "fixing"
    PUSHING = "pushing"
    AWAITING_REVIEW = "awaiting_review"
    NEEDS_HUMAN = "needs_human"
    PAUSED = "paused"
    DONE = "done"


class Timer(NamedTuple):
    """A wait: `generation` is the version that armed it; `deadline` when it is about somebody who does not answer."""

    name: str
    generation: int
    due: int
    deadline: bool


class Request(NamedTuple):
    """Something at `pos` that a service has not answered yet."""

    pos: int
    service: Reporter
    due: int


def policy_for(loop: Loop, installation: Loop, repository: Loop) -> Policy:
    """The policy in force for this loop, and the versions of the two loops that it was folded from."""
    full_name = loop.pull.full_name if loop.pull else ""
    own = installation.rules_for.get(full_name.lower())
    return effective(
        merged(installation.rules, own) if own else installation.rules,
        Overrides() if loop.kind == "installation" else repository.rules,
        full_name,
        versions=f"{installation.version}.{repository.version}",
        killed=bool(installation.paused),
        fixing_off=installation.fixing_off,
        fixing_on_pos=installation.fixing_on,
    )


# --- trust and opinions --------------------------------------------------------------------------------------------


def trusted(policy: Policy, author: Author, permission: str | None) -> bool | None:
    """Whether this account's word counts; None when nobody has looked yet."""
    match author.kind:
        case "user":
            if policy.reviewers == "anyone":
                return True
            if isinstance(policy.reviewers, tuple) and author.id not in policy.reviewers:
                return False
            return None if permission is None else permission in TRUSTED
        case "bot":
            return author.id in policy.bots
        case "token":
            return True
        case "self" | "ghost":
            return False


def opinions(loop: Loop, policy: Policy, *, believed: bool | None = True) -> list[Review]:
    """Each reviewer's last approval or rejection by the forge's own number, unless it was dismissed.

    Only of people whose word counts: another's review steers nothing, so it does not replace an earlier one either.
    With None: also of people whom nobody has checked yet.
    """
    last: dict[str, Review] = {}
    for _, review in sorted(loop.reviews.items()):
        counts = trusted(policy, review.author, review.permission) in {True, believed}
        if review.dismissed or (counts and review.verb in {"approved", "rejected"}):
            last[review.author.account] = review
    return [review for review in last.values() if not review.dismissed]


def rejections(loop: Loop, policy: Policy, *, believed: bool | None = True) -> list[Review]:
    """The standing rejections by people whose word counts (with None, also by people nobody has checked yet)."""
    return [review for review in opinions(loop, policy, believed=believed) if review.verb == "rejected"]


def wavers(loop: Loop, policy: Policy) -> bool:
    """Whether somebody who rejects has said something else since, which counts as soon as he is looked up."""
    unsure = {one.author.account for one in loop.reviews.values() if unchecked(one) and not one.overdue}
    if not unsure:
        return False
    later = {review.author.account for review in rejections(loop, policy, believed=None)}
    return any(review.author.account in unsure - later for review in rejections(loop, policy))


def approvals(loop: Loop, policy: Policy) -> list[Review]:
    """The standing approvals of the current head by trusted people other than the author."""
    pull = loop.pull
    return [
        review
        for review in opinions(loop, policy)
        if pull is not None
        and review.verb == "approved"
        and review.head == pull.head
        and review.author.account != pull.author.account
    ]


def heard(loop: Loop, policy: Policy) -> dict[str, Command]:
    """The commands that can be accepted or refused now: what their authors may do is known, or does not matter."""
    if loop.pull is None or policy.killed:
        return {}
    known = {key: trusted(policy, one.author, one.permission) for key, one in loop.commands.items()}
    return {
        key: command
        for key, command in loop.commands.items()
        if (known[key] and command.name in HEARD_IN_PAUSE if loop.paused else known[key] is not None)
    }


HEARD_IN_PAUSE = frozenset({"resume", "explain", "help"})


# --- what counts ---------------------------------------------------------------------------------------------------


def news(loop: Loop, policy: Policy, item: Item) -> list[Hint]:
    """The hints that make the item newer than what was collected, but for those of people known not to count."""
    said = (*item.asked.values(), *item.hints.values())
    if not said:
        return []
    if item.kind == "check":
        head = loop.pull.head if loop.pull else ""
        return [hint for hint in said if hint.body == head]
    return [
        hint
        for hint in said
        if hint.body
        and not is_stranger(loop, hint.author)
        and trusted(policy, hint.author, loop.permissions.get(hint.author.account)) is not False
    ]


def waits(loop: Loop, policy: Policy, item: Item) -> bool:
    """Whether its latest version has no verdict yet; what was said before it was resolved needs none."""
    if item.absent or item.waived:
        return False
    if item.resolved:
        return any(hint.updated > item.closed_at for hint in news(loop, policy, item))
    return unjudged(loop, policy, item) or bool(news(loop, policy, item))


def unjudged(loop: Loop, policy: Policy, item: Item) -> bool:
    """Whether the version that was collected last has no verdict, or its question was answered elsewhere."""
    if is_past(loop, item):
        return False
    return bool(item.version) and (item.verdicts.get(item.version) in UNJUDGED or bool(answers(loop, policy, item)))


def answers(loop: Loop, policy: Policy, item: Item) -> list[str]:
    """The other items that hold a human's answer to what was asked about this one.

    Those that the same answer settles; and of what has no thread to answer in, what was said in the conversation since.
    """
    if not is_question(loop, item):
        return []
    group = {id_: loop.items[id_] for id_ in item.beside if id_ in loop.items}
    found = [id_ for id_, other in group.items() if other is not item and _said_since(loop, policy, other, item)]
    if all(one.kind == "thread" for one in (item, *group.values())):
        return found
    talk = ((id_, other) for id_, other in loop.items.items() if other.kind == "comment" and other is not item)
    return [*found, *(id_ for id_, other in talk if id_ not in group and _said_since(loop, policy, other, item))]


Word = tuple[Mark, str]  # when something was said, and by which account


def _said_since(loop: Loop, policy: Policy, other: Item, asked: Item) -> list[Word]:
    """What people whose word counts said there after the question, and what has no verdict yet."""
    if other.absent or other.waived:
        return []
    said = [
        (hint.mark, hint.author.account)
        for hint in news(loop, policy, other)
        if hint.mark.version > asked.asked_at and hint.author.kind != "bot"
    ]
    came = other.mark.version if other.kind == "comment" else asked.asked_at + 1
    unjudged = bool(other.version) and other.verdicts.get(other.version) in UNJUDGED and came > asked.asked_at
    if said or not unjudged or (other.author is not None and other.author.kind == "bot"):
        return said
    return [(other.mark, other.author.account if other.author else "")]


def _is_answer(loop: Loop, policy: Policy, id_: str) -> bool:
    return any(id_ in answers(loop, policy, item) for item in loop.items.values() if is_question(loop, item))


def work(loop: Loop, policy: Policy, scope: str) -> dict[str, Item]:
    """What a cycle has collected and has to give a verdict on. What came since then is the next cycle's."""
    later = postponed(loop, policy)
    return {
        id_: item
        for id_, item in counting(loop, policy, scope).items()
        if unjudged(loop, policy, item) and id_ not in later
    }


def postponed(loop: Loop, policy: Policy) -> set[str]:
    """What was collected and is the next cycle's all the same.

    What was closed when this one was asked for and has been opened again since: its words went to no fixer. And a
    human's answer to it, which means nothing without the question.
    """
    closed = {(one.item, one.version) for one in loop.cycle.closed} if loop.cycle else set()
    opened = {
        id_: item for id_, item in loop.items.items() if (id_, item.version) in closed and unjudged(loop, policy, item)
    }
    return set(opened).union(*(answers(loop, policy, item) for item in opened.values()))


def covered(loop: Loop, policy: Policy, id_: str, rejecting: frozenset[str]) -> bool:
    """Whether a trigger or a command asks for this item."""
    item = loop.items[id_]
    if item.named or item.kind == "command" or item.question or is_question(loop, item):
        return True  # what was asked waits again, so it was answered
    if (item.author and item.author.account in rejecting) or not rejecting.isdisjoint(item.voices):
        return True
    match item.kind:
        case "check":
            return "checks" in policy.triggers
        case "thread":
            return "comments" in policy.triggers
        case "review" | "finding":  # of one that only comments; approvals and withdrawn rejections ask for nothing
            review = loop.reviews.get(number(id_.split("/")[1]))
            return "comments" in policy.triggers and review is not None and review.verb == "commented"
        case "comment":
            return _is_answer(loop, policy, id_)
        case _:
            return False


def counting(loop: Loop, policy: Policy, scope: str = "triggers") -> dict[str, Item]:
    """Everything that counts: only this starts anything."""
    waiting = {id_: item for id_, item in loop.items.items() if waits(loop, policy, item)}
    if scope == "all" or not waiting:
        return waiting
    rejecting = frozenset(review.author.account for review in rejections(loop, policy))
    return {id_: item for id_, item in waiting.items() if covered(loop, policy, id_, rejecting)}


@remembered
def questions(loop: Loop, policy: Policy) -> dict[str, Item]:
    """The items that wait for a human's answer: nobody whose word counts has said more since."""
    return {
        id_: item
        for id_, item in loop.items.items()
        if is_question(loop, item) and not news(loop, policy, item) and not answers(loop, policy, item)
    }


# --- where it stands -----------------------------------------------------------------------------------------------


class Obstacle(NamedTuple):
    """Something that keeps the loop from starting, and what would remove it."""

    name: str
    remedy: str


_OF_OTHERS = "amends pushes to branches of the repository itself only: take the branch into it, and open a pull request"


@remembered
def obstacles(loop: Loop, policy: Policy) -> list[Obstacle]:
    """All that keeps a new cycle from starting, whatever counts."""
    pull = loop.pull
    if pull is None:
        return [Obstacle("not observed", "the pull request itself has not been seen yet: wait, or reconcile")]
    lost = loop.barred and loop.hold == Failure.ACCESS_LOST
    found = [
        (policy.killed, "killed", "the installation is paused: resume it"),
        (
            bool(policy.fixing_off),
            f"fixing is off ({policy.fixing_off})",
            "mend the model access, then resume the installation",
        ),
        (bool(loop.paused), "paused", "say resume"),
        (bool(loop.closed), loop.closed, "reopen the pull request"),
        (not policy.enabled, "not enabled", f"list {pull.full_name} in the installation's policy"),
        (policy.opt_out_label in pull.labels, "opted out", f"remove the label {policy.opt_out_label!r}"),
        (pull.draft and not policy.drafts, "draft", "mark the pull request as ready for review"),
        (foreign(loop), "fork", _OF_OTHERS),
        (
            bool(loop.hold) and not lost,
            f"on hold ({loop.hold})",
            "the pull request must be seen in another state first",
        ),
        (bool(loop.barred), f"on hold ({Failure.ACCESS_LOST})", "give amends its access to the repository back"),
        (loop.finished == "stopped", "stopped", "say fix or reset"),
        (loop.finished == "continued_in", "continued elsewhere", "look at the loop that continues it"),
    ]
    return [Obstacle(name, remedy) for holds, name, remedy in found if holds]


def foreign(loop: Loop) -> bool:
    """Whether the pull request comes from another repository (or from one that is gone)."""
    return loop.pull is not None and str(loop.pull.head_repo) != loop.id.partition("-")[0]


def unwanted(loop: Loop, policy: Policy) -> bool:
    """Whether nobody asked amends to look after this pull request."""
    return loop.pull is None or not policy.enabled or policy.opt_out_label in loop.pull.labels


@dataclass(frozen=True)
class Window:
    """The settle window: armed by the newest of what counts, due when it has been quiet."""

    name: str
    generation: int
    due: int

    def over(self, settled: str) -> bool:
        """Whether its timer fired, or a later one of it, of something that is gone again: it was quiet after both."""
        name, _, generation = settled.rpartition("/")
        return name == self.name and number(generation) >= self.generation


@remembered
def window(loop: Loop, policy: Policy) -> Window | None:
    """The open settle window, if the loop rests, nothing hinders and something counts."""
    if loop.phase is not Phase.RESTING or obstacles(loop, policy):
        return None
    standing = rejections(loop, policy)
    since = {review.author.account: review.mark.time for review in standing}
    marks = [mark for item in counting(loop, policy).values() for mark in _marks(loop, policy, item)]
    said = [*(mark for mark, _ in marks), *(review.mark for review in standing)]
    newest = max((mark.version for mark in said), default=0)
    if not marks or (loop.finished and newest <= loop.finished_at):
        return None  # a loop that is done is not begun again by what was there when it ended
    first = min(max(mark.time, since.get(account, 0)) for mark, account in marks)
    last = max(mark.time for mark in said)
    quiet = policy.settle_seconds * SECOND
    due = min(last + quiet, max(first, loop.woken.time) + 10 * quiet)
    return Window(f"settle/{loop.n + 1}", max(loop.woken.version, newest), due)


def _marks(loop: Loop, policy: Policy, item: Item) -> list[Word]:
    """When its news came, or its answers elsewhere, and whose they were; that it was opened again is news too."""
    said = [(hint.mark, hint.author.account) for hint in news(loop, policy, item)]
    if not said and (held := answers(loop, policy, item)):
        return [word for id_ in held for word in _said_since(loop, policy, loop.items[id_], item)]
    if item.mark.version <= max((mark.version for mark, _ in said), default=-1):
        return said
    return [*said, (item.mark, item.author.account if item.author else "")]


def status(loop: Loop, policy: Policy) -> Status:
    """How the loop looks to people: the one place that says so."""
    if loop.paused or (policy.killed and not loop.finished):
        return Status.PAUSED
    if loop.phase is not Phase.RESTING:
        return _AT_WORK[loop.phase]
    if window(loop, policy):
        return Status.SETTLING
    if loop.finished:
        return Status.DONE
    if questions(loop, policy):
        return Status.NEEDS_HUMAN
    return Status.AWAITING_REVIEW if loop.awaiting else Status.WATCHING


_AT_WORK = {
    Phase.COLLECTING: Status.COLLECTING,
    Phase.FIXING: Status.FIXING,
    Phase.PUSHING: Status.PUSHING,
    Phase.STOPPED: Status.NEEDS_HUMAN,
}


# --- waits ---------------------------------------------------------------------------------------------------------


@remembered
def timers(loop: Loop, policy: Policy) -> list[Timer]:
    """Every wait of the loop. A timer that is moved gets a new generation, so an old one firing late means nothing."""
    found: list[Timer] = []
    if loop.commands and heard(loop, policy):  # more than can be decided at once
        found.append(Timer("commands", loop.turn, loop.time, deadline=False))
    if (opening := window(loop, policy)) and not opening.over(loop.settled):
        found.append(Timer(opening.name, opening.generation, opening.due, deadline=False))
    if loop.cycle and not loop.closed:
        found += _cycle_timers(loop, policy)
    told = policy.waits.tell_seconds * SECOND
    for pos, ask in loop.asks.items():
        if not (ask.overdue or loop.paused or policy.killed):  # else all would be asked again at once, at the resume
            found.append(Timer(f"tell/{pos}", ask.mark.version, ask.mark.time + told, deadline=True))
    if not loop.closed:
        found += _author_timers(loop, policy)
        if (watch := loop.watch) and not watch.over:
            due = watch.mark.time + watch.seconds * SECOND
            found.append(Timer(f"ci/{watch.n}", watch.mark.version, due, deadline=False))
    return found


def _author_timers(loop: Loop, policy: Policy) -> list[Timer]:
    """Reviews go by their number, commands by their key."""
    said: list[tuple[int | str, Review | Command]] = [*loop.reviews.items(), *loop.commands.items()]
    wait = policy.waits.author_seconds * SECOND
    return [
        Timer(f"author/{id_}", one.mark.version, one.mark.time + wait, deadline=True)
        for id_, one in said
        if unchecked(one) and not one.overdue
    ]


def unchecked(said: Review | Command) -> bool:
    """Whether the author of a review or a command still has to be looked up."""
    somebody = said.permission is None and said.author.kind == "user"
    return somebody and (isinstance(said, Command) or bool(said.verb))


def backoff(policy: Policy, failures: int) -> int:
    """How many seconds to wait after so many failures in a row: 1, 2, 4 ... 30 minutes."""
    doublings = min(max(failures - 1, 0), 20)
    return min(policy.waits.retry_seconds << doublings, policy.waits.retry_max_seconds)


def _cycle_timers(loop: Loop, policy: Policy) -> list[Timer]:
    cycle = loop.cycle
    step = f"{loop.n}/{loop.k}"
    if cycle is None:
        return []
    if failed := cycle.failed:
        if failed.retry or failed.reason not in OUTAGES:
            return []
        pause = max(backoff(policy, cycle.outages), failed.retry_after)
        return [Timer(f"retry/{step}", failed.mark.version, failed.mark.time + pause * SECOND, deadline=False)]
    if push := cycle.push:
        due = push.mark.time + policy.waits.push_seconds * SECOND
        return [] if push.overdue or cycle.pushed else [Timer(f"push/{step}", push.mark.version, due, deadline=True)]
    if cycle.prepared:
        return []
    if claim := cycle.claim:
        budget = cycle.rules.budget
        allowed = budget.agent_seconds * 2 + policy.waits.claim_grace_seconds
        return [Timer(f"claim/{step}", claim.mark.version, claim.mark.time + allowed * SECOND, deadline=True)]
    name, mark, wait = (
        ("start", cycle.fetched, policy.waits.start_seconds)
        if cycle.fetched
        else ("collect", cycle.requested, policy.waits.collect_seconds)
    )
    return [Timer(f"{name}/{step}", mark.version, mark.time + wait * SECOND, deadline=True)]


def requests(loop: Loop, policy: Policy) -> list[Request]:
    """What services owe the loop an answer to: the oldest of these is where a lost mirror begins again."""
    due = {timer.name: timer.due for timer in timers(loop, policy)}
    step = f"{loop.n}/{loop.k}"
    found: list[Request] = []
    cycle = loop.cycle
    if cycle and not cycle.failed and not cycle.pushed:
        if cycle.push:
            found.append(Request(cycle.push.mark.pos, "publisher", due.get(f"push/{step}", loop.time)))
        elif cycle.fetched and not cycle.prepared:
            wait = due.get(f"claim/{step}", due.get(f"start/{step}", loop.time))
            found.append(Request(cycle.fetched.pos, "fixer", wait))
        elif not cycle.fetched:
            found.append(Request(cycle.requested.pos, "comment-fetcher", due.get(f"collect/{step}", loop.time)))
    told = policy.waits.tell_seconds * SECOND
    found += [Request(pos, ask.fact.service, ask.mark.time + told) for pos, ask in loop.asks.items()]
    for id_, review in loop.reviews.items():
        if unchecked(review):
            found.append(Request(review.mark.pos, "comment-fetcher", due.get(f"author/{id_}", loop.time)))
    found += [
        Request(command.mark.pos, "comment-fetcher", due.get(f"author/{key}", loop.time))
        for key, command in loop.commands.items()
        if unchecked(command)
    ]
    return found


def blocked(loop: Loop, policy: Policy) -> bool:
    """Whether it waits for the installation: when that is on again, somebody has to wake this loop."""
    failed = loop.cycle.failed if loop.cycle else None
    held_up = policy.killed or policy.fixing_off or (failed and failed.reason in MODEL_OFF)
    if not held_up or loop.kind != "change" or loop.pull is None:
        return False
    if policy.killed:  # whatever happened meanwhile, nothing was decided about it
        return True
    return not loop.closed and bool(loop.cycle or loop.commands or loop.ask or counting(loop, policy))
