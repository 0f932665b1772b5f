"""What the human who takes over is told: the reason, what was tried, what is left, and what he can say now."""

from __future__ import annotations

from amends.common.events import CommandName, Judgement, Past
from amends.common.explain.conditions import titled
from amends.common.explain.explanation import Handover, Order
from amends.common.explain.reasons import escalation
from amends.common.explain.why import human_reason
from amends.common.identity import INSTALLATION
from amends.common.loop import Item, Loop
from amends.common.policy import Policy
from amends.common.standing import Status, counting, questions, unwanted

MOST = 50
EFFECTS: dict[CommandName, str] = {
    "fix": "collects all feedback now, also what no trigger covers",
    "retry": "grants one more cycle and opens again what was put aside",
    "refine": "takes what you say as one more piece of feedback; also a retry",
    "skip": "puts aside what is open and ends the cycle",
    "accept": "puts aside what is open and ends the loop",
    "ready": "ends the loop as ready",
    "reset": "as retry, and the cycles are counted from nothing",
    "stop": "ends the loop; only fix or reset starts it again",
    "pause": "records what happens and decides nothing",
    "resume": "goes on where it was",
    "explain": "says why it stands where it stands",
    "help": "says what you can say",
}
_ORDERS: dict[Status, tuple[CommandName, ...]] = {
    Status.WATCHING: ("fix", "pause"),
    Status.SETTLING: ("fix", "pause"),
    Status.COLLECTING: ("pause", "stop"),
    Status.FIXING: ("pause", "stop"),
    Status.PUSHING: ("pause", "stop"),
    Status.AWAITING_REVIEW: ("refine", "ready", "accept"),
    Status.NEEDS_HUMAN: ("retry", "refine", "accept", "reset", "stop"),
    Status.PAUSED: ("resume",),
    Status.DONE: ("fix",),
}
# Where the forge shows an item.
_ANCHORS = {"thread": "#discussion_r", "review": "#pullrequestreview-", "comment": "#issuecomment-"}


def handover(loop: Loop, policy: Policy) -> Handover:
    """What the human who takes over has to know."""
    reason = human_reason(loop)
    meaning = escalation(reason)
    left = [_left(loop, id_, item, state) for id_, item, state in left_over(loop, policy)]
    tried = [cycle_line(past) for past in loop.history]
    return Handover(reason, meaning.means, meaning.remedy, (*tried, _spent(loop)), tuple(left[:MOST]))


def left_over(loop: Loop, policy: Policy) -> list[tuple[str, Item, str]]:
    """What has no end yet: each item with its name and why not."""
    asked = questions(loop, policy)
    waiting = {id_: item for id_, item in counting(loop, policy, "all").items() if id_ not in asked}
    aside = {id_: item for id_, item in loop.items.items() if _put_aside(item) and id_ not in waiting}
    return [
        *((id_, item, "waits for an answer") for id_, item in asked.items()),
        *((id_, item, "has no verdict yet") for id_, item in waiting.items()),
        *((id_, item, "was put aside") for id_, item in aside.items()),
    ]


def _put_aside(item: Item) -> bool:
    return item.verdicts.get(item.version) is Judgement.DEFERRED and not (item.resolved or item.absent)


def _left(loop: Loop, id_: str, item: Item, state: str) -> str:
    url = address(loop, id_)
    return f"{titled(id_, item)} {state}" + (f" {url}" if url else "")


def address(loop: Loop, id_: str) -> str:
    """Where the forge shows an item, if it does."""
    kind, _, number = id_.partition("/")
    url = loop.pull.url if loop.pull else ""
    return f"{url}{_ANCHORS[kind]}{number}" if url and kind in _ANCHORS and number.isdigit() else ""


def cycle_line(past: Past) -> str:
    """One cycle in one line."""
    verdicts = ", ".join(f"{count} {judgement}" for judgement, count in past.verdicts)
    reason = f" ({past.reason})" if past.reason else ""
    sha = f" {past.sha[:7]}" if past.sha else ""
    return f"cycle {past.n}: {past.outcome}{reason}{sha}{f': {verdicts}' if verdicts else ''}"


def _spent(loop: Loop) -> str:
    spent, dollars = loop.spent, loop.spent.usd_micro / 1_000_000
    return f"spent: {spent.turns} turns, {spent.tokens} tokens, {dollars:.2f} dollars, {spent.seconds} seconds"


def orders(loop: Loop, policy: Policy, status: Status, name: str) -> list[Order]:
    """What a person can say now, word by word."""
    if policy.killed or policy.fixing_off or loop.kind == "installation":
        on = loop.kind == "installation" and not (loop.paused or loop.fixing_off)
        return [Order(f"amends loops {'pause' if on else 'resume'} {INSTALLATION}", "", "for all loops")]
    if loop.kind == "policy" or loop.closed or unwanted(loop, policy):
        return []
    words = ("fix", "reset") if loop.finished == "stopped" else _ORDERS[status]
    return [_order(word, name) for word in words]


def _order(word: CommandName, name: str) -> Order:
    text = "what to do" if word == "refine" else ""
    command = f"amends loops {word} {name}" + (f" '{text}'" if text else "")
    return Order(command, f"/amends {word} {text}".rstrip(), EFFECTS[word])
