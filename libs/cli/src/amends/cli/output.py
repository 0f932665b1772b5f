"""What is printed: text for a terminal, JSON lines for a pipe. Words from the log are never printed as they are.

Data go to stdout, line by line; talk goes to stderr. A control character in a pull request's title must not reach
anybody's terminal: text is shown with its escapes, and JSON is escaped further when it goes to a terminal.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
FORMAT = "amends.output"
SECOND = 1_000_000
_LARGEST = 2**63 - 1
COLOURS = {
    "done": "green", "awaiting_review": "cyan", "settling": "blue", "collecting": "blue", "fixing": "blue",
    "pushing": "blue", "needs_human": "yellow", "paused": "magenta", "stuck": "red", "ok": "green", "warn": "yellow",
    "fail": "red",
}  # fmt: skip


def formatted(command: Decorated) -> Decorated:
    """The option that chooses between text and JSON lines."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["text", "json"]),
        expose_value=False,
        callback=_remember,
        help="text, or one JSON object per line. [default: text on a terminal, json in a pipe]",
    )(command)


def _remember(context: click.Context, _option: click.Parameter, value: str | None) -> None:
    context.meta[FORMAT] = value


def examples(*lines: str) -> str:
    """What stands below a command's help: lines to copy."""
    return "\n".join(("\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)))


def as_json() -> bool:
    """Whether JSON lines are wanted."""
    chosen = click.get_current_context().meta.get(FORMAT)
    return chosen == "json" if chosen else not sys.stdout.isatty()


def shown(text: object) -> str:
    """Words from outside, with what a terminal might obey written out."""
    plain = str(text)
    return plain if plain.isprintable() else "".join(map(_escaped, plain))


def _escaped(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape", "backslashreplace").decode()


def indented(value: object) -> list[str]:
    """A value as JSON for eyes: only JSON's own breaks begin a line, none of the letters that a title may have."""
    return [shown(line) for line in json.dumps(value, ensure_ascii=False, indent=2).split("\n")]


def say(line: str = "") -> None:
    """A line of data; what came from outside in it has been through `shown`."""
    click.echo(line)


def talk(line: str) -> None:
    """A line for the human, beside the data."""
    click.echo(line, err=True)


def say_json(value: Mapping[str, object] | bytes) -> None:
    """An object as a line of JSON; bytes are JSON already."""
    if isinstance(value, bytes):
        text = value.decode(errors="backslashreplace")
    else:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if sys.stdout.isatty() and not text.isprintable():
        text = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    click.echo(text.encode(errors="backslashreplace"))


def coloured(word: str, padded: str = "") -> str:
    """A status with its colour, where colours are wanted; it is a word in any case."""
    text = padded or word
    wanted = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return click.style(text, fg=COLOURS[word]) if wanted and word in COLOURS else text


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Aligned columns; the last one is cut at the terminal's width."""
    cells = [head, *([shown(cell) for cell in row] for row in rows)]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    room = shutil.get_terminal_size((120, 24)).columns - sum(widths[:-1]) - 2 * (len(widths) - 1)
    for number, row in enumerate(cells):
        *columns, last = row
        padded = [cell + " " * (most - width(cell)) for cell, most in zip(columns, widths, strict=False)]
        if number == 0:
            say("  ".join([*padded, last]).rstrip())
        else:
            styled = [coloured(cell, pad) for cell, pad in zip(columns, padded, strict=True)]
            say("  ".join([*styled, _cut(last, room)]).rstrip())


def width(text: str) -> int:
    """How many columns of a terminal it takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str, room: int) -> str:
    if not sys.stdout.isatty() or width(text) <= max(room, 20):
        return text
    while width(text) > max(room, 20) - 3:
        text = text[:-1]
    return f"{text}..."


# --- what is said in an option ---------------------------------------------------------------------------------------


class Number(click.IntRange):
    """A whole number that a database can hold."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - as click has it
        number: int = super().convert(value, param, ctx)
        if number > _LARGEST:
            self.fail(f"{number} is too large", param, ctx)
        return number


# --- times -----------------------------------------------------------------------------------------------------------


def date(micros: int) -> str:
    """The log's microseconds for people."""
    return f"{datetime.fromtimestamp(micros / SECOND, UTC):%Y-%m-%d %H:%M:%S}"


def iso(micros: int) -> str:
    """The log's microseconds for programs."""
    return datetime.fromtimestamp(micros / SECOND, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def ago(micros: int) -> str:
    """How long ago it was, or how soon it will be, in one number."""
    seconds = time.time() - micros / SECOND
    words = _span(abs(seconds))
    return f"{words} ago" if seconds >= 0 else f"in {words}"


def _span(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


class Moment(click.ParamType[int]):
    """A date (2026-03-01T12:00, UTC unless it says otherwise) or how long ago (90s, 10m, 2h, 3d); in microseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - as click has it
        """The log's microseconds."""
        text = str(value)
        sizes = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
        try:
            if text[:-1].isdecimal() and text[-1] in sizes:
                return int((time.time() - int(text[:-1]) * sizes[text[-1]]) * SECOND)
            when = datetime.fromisoformat(text)
            return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * SECOND)
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is no time: say 10m, 2h, 3d, or a date such as 2026-03-01T12:00", param, ctx)
