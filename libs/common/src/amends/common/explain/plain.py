"""Loops, explanations and what became of a command as plain values: the same for the command line and the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Literal, NamedTuple

from amends.common.envelope import Row, event_of, moment
from amends.common.events import CommandRefused
from amends.common.explain.explanation import Explanation
from amends.common.explain.reasons import UNHEARD_COMMANDS
from amends.common.rows import LoopRow


class Heard(NamedTuple):
    """What became of a command: `waiting` while its loop is paused or its author was not looked up."""

    outcome: Literal["accepted", "refused", "waiting"]
    reason: str = ""
    why: str = ""


def heard(find: Callable[[str], Row | None], key: str) -> Heard:
    """What the loop answered to the command of this key; `find` finds its events by their keys."""
    if find(f"{key}/accepted"):
        return Heard("accepted")
    refused = find(f"{key}/refused")
    fact = event_of(refused).fact if refused else None
    if not isinstance(fact, CommandRefused):
        return Heard("waiting")
    return Heard("refused", fact.reason, UNHEARD_COMMANDS[fact.reason])


def named(row: LoopRow) -> str:
    """How people call the loop."""
    return f"{row.full_name}#{row.number}" if row.full_name and row.number else row.loop


def summary(row: LoopRow) -> dict[str, object]:
    """A loop without its state."""
    said = {"name": named(row), **row._asdict(), "updated": iso(row.updated)}
    return {name: value for name, value in said.items() if name not in {"folded", "state"}}


def plain(explanation: Explanation) -> dict[str, object]:
    """An explanation with all its parts."""
    fields = asdict(explanation)
    fields["time"] = iso(explanation.time)
    fields["conditions"] = [condition._asdict() for condition in explanation.conditions]
    fields["turns"] = [
        {**turn._asdict(), "due": None if turn.due is None else iso(turn.due)} for turn in explanation.turns
    ]
    fields["last"] = [{**event._asdict(), "time": iso(event.time)} for event in explanation.last]
    if explanation.account is not None:
        parts = explanation.account._asdict().items()
        fields["account"] = {name: [deed._asdict() for deed in deeds] for name, deeds in parts}
    fields["orders"] = [order._asdict() for order in explanation.orders]
    return fields


def iso(micros: int) -> str:
    """The log's microseconds for programs."""
    return moment(micros).isoformat(timespec="microseconds").replace("+00:00", "Z")
