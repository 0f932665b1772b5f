"""What texts and documents tell people to type is there to be typed: each command, and each of its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from amends.cli.main import cli

ROOT = Path(__file__).parents[2]
TOLD = re.compile(r"(?:`|\./taskw amends -- |^ *|\$ )amends ([a-z][^`#\n]*)", re.MULTILINE)
PLACES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "libs/*/src/**/*.py", "services/*/src/**/*.py")
_PROSE = ("closes the loop",)  # a line of text that happens to begin with our name


def told() -> Iterator[tuple[str, str]]:
    """Each such line, and where it stands."""
    for path in sorted(one for place in PLACES for one in ROOT.glob(place)):
        for line in TOLD.findall(path.read_text(encoding="utf-8")):
            if not line.startswith(_PROSE):
                yield str(path.relative_to(ROOT)), line.replace('"', " ")


def command(words: list[str]) -> tuple[click.Command, str]:
    """The command that they begin with, and what is wrong with them."""
    found: click.Command = cli
    for word in words:
        if not isinstance(found, click.Group) or word.startswith("-"):
            break
        if word not in found.commands:
            return found, f"there is no {word!r} in `{found.name}`" if re.fullmatch("[a-z-]+", word) else ""
        found = found.commands[word]
    return found, ""


def wrong(line: str) -> str:
    words = line.split()
    found, amiss = command(words)
    known = {name for one in found.params for name in (*one.opts, *one.secondary_opts)} | {"--help"}
    strange = [word for word in re.findall(r"(?<= )--?[a-z][a-z-]*", line) if word not in known]
    return amiss or (f"`{found.name}` has no {strange[0]}" if strange else "")


def test_there_is_much_that_people_are_told() -> None:
    assert len(list(told())) > 100


@pytest.mark.parametrize(("line", "amiss"), [("up --data-dir x", ""), ("evens tail", "evens"), ("up --dat x", "--dat")])
def test_what_is_not_there_is_seen(line: str, amiss: str) -> None:
    assert amiss in wrong(line)
    assert bool(wrong(line)) == bool(amiss)


def test_all_of_it_can_be_typed() -> None:
    found = {f"{where}: amends {line}: {amiss}" for where, line in told() if (amiss := wrong(line))}
    assert sorted(found) == []
