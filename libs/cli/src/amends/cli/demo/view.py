"""What is shown while it happens: a quiet line for each step, 80 columns at most; on a terminal who is at work now."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from amends.cli.output import shown, width
from amends.common.events import (
    Author,
    CommentsFetched,
    CycleFinished,
    Escalated,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixRequested,
    FixStarted,
    LoopFinished,
    Notified,
    PrObserved,
    PushRefused,
    ReviewApproved,
    ReviewRejected,
    ReviewRequested,
    Verdict,
)
from amends.common.explain.reasons import escalation

if TYPE_CHECKING:
    from amends.common.envelope import Event

_MOST, _LEAST = 80, 48
_WORDS = 31  # where what is said begins
SECOND = 1_000_000


class View:
    """Lines of what happens. `began` is when the demo did, on the log's clock."""

    def __init__(self, began: int, model: str) -> None:
        self._began = began
        self._model = model
        self._live = sys.stdout.isatty()
        self._told: dict[int, Event] = {}
        self._busy = ""

    def see(self, number: int, event: Event) -> None:
        """Show an event of a pull request, if it is a step that people care for."""
        self._told[event.pos] = event
        if not (words := self._words(event)):
            return
        author = getattr(event.fact, "author", None)
        who = author.login if isinstance(author, Author) and author.login else event.source
        seconds = max(0, event.time - self._began) / SECOND
        head = f"{seconds:6.1f} s  #{number}  {who:<15}  "
        self.still()
        for line in textwrap.wrap(shown(words), columns() - _WORDS):
            click.echo(f"{head:<{_WORDS}}{_toned(event, line)}")
            head = ""

    def wait(self, works: Iterable[str]) -> None:
        """On a terminal: who is at work, in a line that the next step overwrites."""
        if self._live:
            seconds = time.time() - self._began / SECOND
            self._busy = f"{seconds:6.1f} s  ... {', '.join(works) or 'amends waits for people'}"[: columns() - 1]
            click.echo(f"\r{self._busy}\x1b[K", nl=False)

    def still(self) -> None:
        """Take that line away."""
        if self._busy:
            click.echo("\r\x1b[K", nl=False)
            self._busy = ""

    def _words(self, event: Event) -> str:  # noqa: C901 - one line for each kind of step
        match event.fact:
            case PrObserved(title=title):
                first = sum(isinstance(one.fact, PrObserved) and one.loop == event.loop for one in self._told.values())
                return f"opens the pull request: {title}" if first == 1 else ""
            case ReviewRejected():
                return "asks for changes"
            case ReviewApproved():
                return "approves"
            case FixRequested(n=n, k=k):
                return f"cycle {n} begins" + (f", attempt {k}" if k > 1 else "")
            case CommentsFetched(items=items):
                closed = self._closed(event)
                return f"collected {_counted(one.kind for one in items if (one.id, one.version) not in closed)}"
            case FixStarted():
                return "begins to work"
            case FixPrepared() as prepared:
                return self._prepared(prepared)
            case FixFailed(reason=reason, detail=detail):
                return f"no fix: {reason}" + (f" ({detail})" if detail else "")
            case FixPushed(sha=sha):
                return f"pushed commit {sha[:7]}"
            case PushRefused(reason=reason):
                return f"not pushed: {reason}"
            case ReviewRequested(reviewers=people):
                return f"decided: {', '.join(one.login for one in people)} shall look again"
            case LoopFinished(outcome=outcome):
                return f"decided: done, {outcome}"
            case Escalated(reason=reason):
                return f"decided: a human is needed ({reason}): {escalation(reason).means}"
            case Notified(of=of):
                return self._notified(of)
            case _:
                return ""

    def _closed(self, event: Event) -> set[tuple[str, str]]:
        """What has its verdict already, and is collected only to be compared."""
        asked = self._told[event.cause].fact if event.cause in self._told else None
        return {(one.item, one.version) for one in asked.closed} if isinstance(asked, FixRequested) else set()

    def _prepared(self, fact: FixPrepared) -> str:
        files = ", ".join(sorted(change.path for change in fact.changes)) or "nothing"
        said = [f"changed {files}"]
        if fact.credits:
            said.append(f"taking over what {' and '.join(one.login for one in fact.credits)} suggested")
        if fact.usage.turns:
            said.append(f"{fact.usage.turns} turns of {self._model}")
        if passed := [check for check in fact.checks if check.after == "passed"]:
            said.append(f"{len(passed)} check passed")
        return "; ".join(said)

    def _notified(self, of: int) -> str:
        match told.fact if (told := self._told.get(of)) else None:
            case CycleFinished(verdicts=verdicts) if verdicts:
                return f"said what became of each: {_judged(verdicts)}"
            case ReviewRequested(reviewers=people):
                return f"asked {', '.join(one.login for one in people)} for a new review"
            case Escalated():
                return "called a human: comment, label and status card"
            case _:
                return ""


def _counted(words: Iterable[str]) -> str:
    """`3 threads, 1 review`."""
    return ", ".join(f"{count} {word}{'s' * (count > 1)}" for word, count in Counter(words).most_common()) or "nothing"


def _judged(verdicts: Iterable[Verdict]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(str(one.judgement) for one in verdicts).most_common())


def _toned(event: Event, line: str) -> str:
    """In a colour, where that is wanted; the words say it in any case."""
    tone = {
        "fix.pushed": "green", "loop.finished": "green", "escalated": "yellow", "fix.failed": "yellow",
        "review.rejected": "cyan", "review.approved": "cyan",
    }.get(event.type)  # fmt: skip
    return click.style(line, fg=tone) if tone and coloured() else line


def columns() -> int:
    """How wide a line may be: a narrow terminal is kept to, up to where nothing would fit."""
    return max(_LEAST, min(_MOST, shutil.get_terminal_size((_MOST, 24)).columns))


def coloured() -> bool:
    """Whether colours are wanted."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def heading(text: str) -> None:
    """The title of a part."""
    click.echo()
    click.echo(click.style(text, bold=True) if coloured() else text)
    click.echo("-" * min(width(text), columns()))


def wrapped(text: str, first: str = "", indent: str = "  ") -> None:
    """A text in as many lines as it takes."""
    for line in textwrap.wrap(shown(text), columns(), initial_indent=first, subsequent_indent=indent):
        click.echo(line)
