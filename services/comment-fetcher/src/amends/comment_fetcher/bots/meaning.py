"""What a bot's text comes to, in the form that all adapters share, and the lines they all can read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from amends.common.policy import Severity

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_QUOTE = re.compile(r"^(?:> ?)+")
PATH = r"(?P<path>[\w@.+-][\w@.+/ ()\[\]-]*?\.\w+|[\w@.+-]+(?:/[\w@.+-]+)+)"


class Word(StrEnum):
    """What a bot gave to understand about the change."""

    FINDINGS = "findings"
    CLEAN = "clean"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Buried:
    """A finding that stands in a text and not in a thread of its own."""

    text: str
    path: str = ""
    start_line: int | None = None
    line: int | None = None
    severity: Severity | None = None


@dataclass(frozen=True)
class Meaning:
    """What a text says: its findings, and what is left of it when they are taken out and boilerplate is."""

    word: Word
    buried: tuple[Buried, ...] = ()
    rest: str = ""


@dataclass(frozen=True)
class Line:
    """A line of a text, out of its quotation; `code` when it stands in a block of code."""

    text: str
    code: bool


def lines(shown: str) -> Iterator[Line]:
    """The lines of a text."""
    fence = ""
    for raw in shown.split("\n"):
        text = _QUOTE.sub("", raw)
        mark = _FENCE.match(text)
        if not fence and mark:
            fence = mark[1]
            yield Line(text, code=True)
        elif fence:
            yield Line(text, code=True)
            closing = text.strip()
            if closing and set(closing) == {fence[0]} and len(closing) >= len(fence):
                fence = ""
        else:
            yield Line(text, code=False)


_SEVERITIES = (
    (re.compile(r"🔴|\bcritical\b|\bblocker\b", re.IGNORECASE), Severity.CRITICAL),
    (re.compile(r"🟠|\bmajor\b|\bhigh(?: severity| priority)?\b", re.IGNORECASE), Severity.HIGH),
    (re.compile(r"🟡|\bmedium\b|\bmoderate\b", re.IGNORECASE), Severity.MEDIUM),
    (re.compile(r"🔵|\bminor\b|\blow(?: severity| priority)?\b", re.IGNORECASE), Severity.LOW),
    (re.compile(r"⚪|🧹|\btrivial\b|\bnit(?:pick)?\b", re.IGNORECASE), Severity.SUGGESTION),
)


def severity_in(label: str) -> Severity | None:
    """The severity that a label names, if it names one."""
    return next((severity for pattern, severity in _SEVERITIES if pattern.search(label)), None)


def span(first: str, last: str | None) -> tuple[int | None, int]:
    """Start (of several lines) and end of `12` or `12-15`."""
    start, end = int(first), int(last or first)
    return (min(start, end), max(start, end)) if start != end else (None, end)
