"""The same facts under another policy: where the decisions would have been others, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from amends.cli.output import as_json, date, iso, say, say_json, shown, talk
from amends.cli.place import Wrong

if TYPE_CHECKING:
    from amends.common.envelope import Row
    from amends.common.policy import Overrides
    from amends.evaluator.divergence import Divergence


def overrides(file: Path) -> Overrides:
    """The layer that a file of the user's sets."""
    import tomllib

    from pydantic import ValidationError

    from amends.common.complaints import complaint
    from amends.common.policy import NAMES, Overrides

    try:
        text = file.read_text(encoding="utf-8")
        said = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
        return Overrides.model_validate(said.get("policy", said))  # amends.toml has it in a section
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, each['loc']))}: {complaint(each, NAMES, 'value')}" for each in error.errors())
        raise Wrong(f"{file} is no policy: {'; '.join(wrong)}") from error
    except (ValueError, AttributeError, RecursionError) as error:
        raise Wrong(f"{file} cannot be read: {error}") from error


def redecide(rows: Iterable[Row], other: Overrides) -> None:
    """Show each loop's first decision that would have been another one."""
    from amends.evaluator.redecide import redecide as decide_again

    result = decide_again(rows, other)
    for divergence in result.divergences:
        if as_json():
            say_json({**vars(divergence), "time": iso(divergence.time)})
        else:
            _diverges(divergence)
    talk(
        f"{result.decisions} decisions in {result.loops} loops looked at: "
        f"{len(result.divergences)} loops would have gone another way"
    )
    if result.divergences:
        raise click.exceptions.Exit(1)


def _diverges(divergence: Divergence) -> None:
    say(f"{divergence.loop}, event {divergence.pos}, {date(divergence.time)}: {shown(divergence.after)}")
    for sign, words in (("-", divergence.recorded), ("+", divergence.other)):
        for word in words or ("nothing, yet",):
            say(f"  {sign} {shown(word)}")
