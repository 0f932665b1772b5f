"""Why a loop stands where it stands: a paragraph, a checklist, the next step and whose it is.

Never a second decider: everything here is asked of `standing`, the decider's own questions.
"""

from __future__ import annotations

from collections.abc import Sequence

from amends.common.envelope import Event
from amends.common.events import LoopStuck
from amends.common.explain.account import account
from amends.common.explain.citing import Known
from amends.common.explain.conditions import conditions
from amends.common.explain.explanation import Account, Condition, Deed, Explanation, Handover, Happened, Order, Turn
from amends.common.explain.handover import handover, orders
from amends.common.explain.plain import plain
from amends.common.explain.text import lines
from amends.common.explain.turns import turns
from amends.common.explain.why import next_step, why
from amends.common.loop import Loop
from amends.common.policy import Policy
from amends.common.standing import Status, status

__all__ = [
    "Account",
    "Condition",
    "Deed",
    "Explanation",
    "Handover",
    "Happened",
    "Known",
    "Order",
    "Turn",
    "account",
    "explain",
    "lines",
    "plain",
]


def explain(loop: Loop, policy: Policy, recent: Sequence[Event], known: Known | None = None) -> Explanation:
    """Why the loop stands where it stands. `recent` are its last events, as many as are wanted, the newest last.

    With what else is `known` it also gives an account of what was done and what was not.
    """
    stands, name = status(loop, policy), _name(loop)
    return Explanation(
        loop=loop.id,
        name=name,
        title=loop.pull.title if loop.pull else "",
        url=loop.pull.url if loop.pull else "",
        status=stands,
        version=loop.version,
        pos=loop.pos,
        time=loop.time,
        stuck=_stuck(loop, recent),
        why=why(loop, policy, stands),
        conditions=tuple(conditions(loop, policy, stands)),
        next=next_step(loop, policy, stands),
        turns=tuple(turns(loop, policy, stands)),
        last=tuple(map(_happened, recent)),
        handover=handover(loop, policy) if stands is Status.NEEDS_HUMAN else None,
        orders=tuple(orders(loop, policy, stands, name)),
        account=None if known is None else account(loop, policy, recent, known),
    )


def _name(loop: Loop) -> str:
    number = loop.id.partition("-pr-")[2]
    return f"{loop.pull.full_name}#{number}" if loop.pull and number else loop.id


def _stuck(loop: Loop, recent: Sequence[Event]) -> str:
    """A loop whose log is ahead of its state could not be folded or decided on by this code."""
    if not recent or recent[-1].version <= loop.version:
        return ""
    said = [event.fact for event in recent if isinstance(event.fact, LoopStuck)]
    error = f"{said[-1].error} in amends {said[-1].code} at event {said[-1].at}" if said else "it could not be folded"
    return f"{error}. The facts are safe; a newer version of amends folds and decides again."


def _happened(event: Event) -> Happened:
    words = [str(getattr(event.fact, name, "")) for name in ("name", "outcome", "reason", "conclusion", "permission")]
    said = ", ".join(word for word in words if word and word not in event.key)
    return Happened(event.pos, event.time, event.type, f"{event.key}: {said}" if said else event.key)
