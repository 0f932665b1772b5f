"""The model of the demo where there is no key for Claude: no intelligence, but a script that knows what bob will say.

It goes the way that a model goes: it sorts the items, edits through the tools in the sandbox, looks at the hunks, and
reports. What it does not know it hands over to a human.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from amends.cli.demo.scene import EMPTY, NEARLY, TOO_MUCH, UNTESTED
from amends.doubles.model import Asked, Says, Uses, calls, text

_ITEM = re.compile(r"^## (item-\d+) .*?(?=^## item-|\Z)", re.MULTILINE | re.DOTALL)
_HUNK = re.compile(r"^@@ -(\d+)")
_NAME = re.compile(r"([^\s,]+):(\d+)-(\d+)")


class Edit(NamedTuple):
    """A piece of a file, and what comes in its place."""

    path: str
    old: str
    new: str


class Known(NamedTuple):
    """What is known of an item: an edit, or an answer."""

    about: str
    edit: Edit | None = None
    answer: str = ""


_SUM = "    return sum(prices) * (100 - discount) / 100\n"
_MEAN = "    return total(prices) / len(prices)\n"
_REFUSED = '    if not 0 <= discount <= 100:\n        raise ValueError("a discount is between 0 and 100 percent")\n'
_ADDED = "        self.assertEqual(total([1, 2]), 3)\n"
_REFUSAL = (
    "\n    def test_an_impossible_discount_is_refused(self):\n"
    "        with self.assertRaises(ValueError):\n            total([1, 2], discount=101)\n"
)
SCRIPT = (
    Known(TOO_MUCH, Edit("basket.py", _SUM, _REFUSED + _SUM)),
    Known(EMPTY, Edit("basket.py", _MEAN, _MEAN.replace("\n", " if prices else 0\n"))),
    Known(UNTESTED, Edit("test_basket.py", _ADDED, _ADDED + _REFUSAL)),
    Known(NEARLY, answer="Each of them has its answer in its thread."),
)


def scripted(asked: Asked) -> Says:
    """The next turn of the conversation."""
    items = dict(_items(asked))
    match sum(message["role"] == "assistant" for message in asked.messages):
        case 0:
            return calls(Uses("triage", {"overall": "ready", "items": [_sorted(*item) for item in items.items()]}))
        case 1:
            edits = [known.edit for known in items.values() if known is not None and known.edit]
            return calls(*(Uses("edit", edit._asdict()) for edit in edits), Uses("changes"))
        case 2:
            shown = str(asked.results()[-1]["content"])
            report = [_reported(name, known, shown) for name, known in items.items()]
            return calls(Uses("report", {"items": report, "concerns": ""}))
        case _:
            return text("The script is over.")


def _items(asked: Asked) -> Iterator[tuple[str, Known | None]]:
    """Each item of the brief by its name, and what the script knows about it."""
    brief = asked.messages[0]["content"][0]["text"]
    for found in _ITEM.finditer(brief):
        yield found[1], next((known for known in SCRIPT if known.about in found[0]), None)


def _sorted(name: str, known: Known | None) -> dict[str, str]:
    kind = "needs_human" if known is None else "actionable" if known.edit else "question"
    return {"item": name, "kind": kind, "severity": "medium", "category": "logic", "reason": "as the script has it"}


def _reported(name: str, known: Known | None, shown: str) -> dict[str, object]:
    if known is None:
        answer = "This model follows a script, and this is not in it. What should be done?"
        return {"item": name, "verdict": "needs_human", "reason": answer, "hunks": []}
    if known.edit is None:
        return {"item": name, "verdict": "answered", "reason": known.answer, "hunks": []}
    return {"item": name, "verdict": "fixed", "reason": "", "hunks": _hunks(shown, known.edit)}


def _hunks(shown: str, edit: Edit) -> list[str]:
    """The hunks that hold a line which the edit has added, by what `changes` shows."""
    added = {f"+{line}" for line in edit.new.splitlines() if line and line not in edit.old.splitlines()}
    places, at, path = set(), 0, ""
    for line in shown.splitlines():
        if line.startswith("--- a/"):
            path = line.removeprefix("--- a/")
        elif begun := _HUNK.match(line):
            at = int(begun[1])
        elif line.startswith("+") and path == edit.path and line in added:
            places.add(at)
        elif line.startswith((" ", "-")):
            at += 1
    names = [found for found in _NAME.finditer(shown) if found[1] == edit.path]
    return [name[0] for name in names if any(int(name[2]) <= place <= int(name[3]) + 1 for place in places)]
