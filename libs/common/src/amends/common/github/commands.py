"""Commands that people give in comments: `/amends retry` at the start of a line, and nothing that is not listed."""

from __future__ import annotations

import re
from typing import NamedTuple, get_args

from amends.common.events import CommandName
from amends.common.github.text import clean, visible

NAMES: dict[str, CommandName] = {name: name for name in get_args(CommandName)}
LONGEST = 20_000
_COMMAND = re.compile(r"(?ims)^ {0,3}/amends(?:[ \t]+(?P<word>\S+))?(?=\s|\Z)(?P<line>[^\n]*)(?P<rest>.*)")
_COMMAND_LINE = re.compile(r"(?im)^ {0,3}/amends(?:[ \t]+(?P<word>\S+))?(?=\s|\Z)[^\n]*\n?")
_FENCED = re.compile(r"(?ms)^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)")
# Every comment that we write holds a mark. Whoever copies one only loses his own command.
_OUR_MARK = re.compile(r"(?i)<!--\s*amends\b")


class Order(NamedTuple):
    """What somebody wants done, and with which words."""

    name: CommandName
    text: str


def order_in(body: str) -> Order | None:
    """The first command in a comment. A word that is none is a call for help: silence would help nobody."""
    if "/amends" not in body.lower() or _OUR_MARK.search(body):
        return None
    found = _COMMAND.search(_FENCED.sub(_hidden, visible(body)))
    if found is None:
        return None
    word = (found["word"] or "help").lower()
    name = NAMES.get(word)
    if name is None:
        return Order("help", clean(word)[:LONGEST])
    text = clean((found["line"] + found["rest"] if name == "refine" else found["line"]).strip())[:LONGEST]
    return Order("help", name) if name == "refine" and not text else Order(name, text)


def beside_order(body: str) -> str:
    """What a comment says beside its commands: that is feedback, they are not. Without a command it is all of it."""
    order = order_in(body)
    if order is None:
        return body
    shown, kept, at = visible(body), [], 0
    for found in _COMMAND_LINE.finditer(_FENCED.sub(_hidden, shown)):
        kept.append(shown[at : found.start()])
        at = found.end()
        if order.name == "refine" and (found["word"] or "").lower() == "refine":
            return "".join(kept).strip()
    return "".join([*kept, shown[at:]]).strip()


def _hidden(fenced: re.Match[str]) -> str:
    """As long as what it stands for, with the same lines, and nothing in it."""
    return re.sub(r"[^\n]", " ", fenced[0])
