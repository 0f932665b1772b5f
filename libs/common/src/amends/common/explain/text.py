"""An explanation as lines of plain text, for a terminal or a comment. Words from outside lose what is not printable."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from amends.common.envelope import moment
from amends.common.explain.explanation import Condition, Deed, Explanation, Handover, Turn

WIDTH = 100


def lines(explanation: Explanation) -> list[str]:
    """The explanation, line by line."""
    return ["".join(letter if letter.isprintable() else "?" for letter in line) for line in _lines(explanation)]


def _lines(explanation: Explanation) -> Iterator[str]:
    status = f"stuck, was {explanation.status}" if explanation.stuck else explanation.status.value
    yield f"{explanation.name}  {explanation.title}".rstrip()
    yield f"{status} at version {explanation.version}, event {explanation.pos}, {_date(explanation.time)}"
    if explanation.url:
        yield explanation.url
    yield ""
    if explanation.stuck:
        yield from wrap(f"Stuck: {explanation.stuck}", WIDTH)
    yield from wrap(explanation.why, WIDTH)
    yield from _section("Conditions", _conditions(explanation))
    if explanation.handover:
        yield from _handover(explanation.handover)
    yield from _section("Next", [explanation.next])
    yield from _section("Waiting for", [_turn(turn) for turn in explanation.turns])
    yield from _section("You can say", [_said(*order) for order in explanation.orders])
    if explanation.account is not None:
        yield from _section("Done", [written(deed) for deed in explanation.account.done])
        yield from _section("Not done", [written(deed) for deed in explanation.account.undone])
    yield from _section(
        _last(explanation),
        [f"{event.pos}  {_date(event.time)}  {event.type}  {event.said}" for event in explanation.last],
    )


def _last(explanation: Explanation) -> str:
    shown, all_ = len(explanation.last), max(explanation.version, len(explanation.last))
    return "Events" if shown == all_ else f"Last events ({shown} of {all_})"


def _conditions(explanation: Explanation) -> list[str]:
    return [f"[{'x' if one.met else ' '}] {_condition(one)}" for one in explanation.conditions]


def _condition(one: Condition) -> str:
    return one.what + (f" -> {one.remedy}" if one.remedy and not one.met else "")


def unmet(explanation: Explanation) -> list[str]:
    """What is missing for the loop to go on, and how it comes to be so."""
    return [_condition(one) for one in explanation.conditions if not one.met]


def _handover(handover: Handover) -> Iterator[str]:
    yield from _section("Reason", [f"{handover.reason}: {handover.means}", handover.remedy])
    yield from _section("Tried", handover.tried)
    yield from _section("Left", handover.left)


def written(deed: Deed) -> str:
    """A deed in one line."""
    place = f"{deed.pos}  " if deed.pos else ""
    by, under = f" [by {deed.by}]" if deed.by else "", f" [under {deed.under}]" if deed.under else ""
    return f"{place}{deed.what}: {deed.why}{by}{under}"


def _said(command: str, comment: str, effect: str) -> str:
    either = f"{command}  or  {comment}" if comment else command
    return f"{either}  ({effect})"


def _turn(turn: Turn) -> str:
    return f"{turn.who}: {turn.what}" + (f", until {_date(turn.due)}" if turn.due is not None else "")


def _section(title: str, entries: list[str] | tuple[str, ...]) -> Iterator[str]:
    if entries:
        yield ""
        yield f"{title}:"
        yield from (f"  {entry}" for entry in entries)


def _date(time: int) -> str:
    return f"{moment(time):%Y-%m-%d %H:%M:%S} UTC"
