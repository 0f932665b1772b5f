"""What was done and what was not: why, by whom, and under which value of the policy. Read from the log."""

from __future__ import annotations

from collections.abc import Sequence

from amends.common.envelope import Event
from amends.common.explain.citing import Citing, Known
from amends.common.explain.done import Done
from amends.common.explain.explanation import Account
from amends.common.explain.undone import Undone
from amends.common.loop import Loop
from amends.common.policy import Policy

MOST = 50


def account(loop: Loop, policy: Policy, events: Sequence[Event], known: Known) -> Account:
    """The account of a change's loop. `events` are its own, the newest last."""
    if loop.kind != "change" or loop.pull is None:
        return Account((), ())
    citing = Citing(loop.pull.full_name, policy, known, {event.pos: event for event in (*known.events, *events)})
    done, undone = Done(citing).all(events), Undone(loop, policy, citing).all(events)
    return Account(tuple(done)[-MOST:], tuple(undone)[:MOST])
