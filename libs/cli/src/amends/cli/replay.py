"""`amends replay`: the log folded again, read-only: rebuilt, verified, or decided again under another policy."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

import click

from amends.cli.output import (
    Moment,
    Number,
    as_json,
    coloured,
    date,
    examples,
    formatted,
    indented,
    iso,
    say,
    say_json,
    shown,
)
from amends.cli.place import Negative, Wrong, found, placed, the_log
from amends.cli.redecide import overrides, redecide

if TYPE_CHECKING:
    from amends.common.envelope import Gist, Row
    from amends.common.log import Log
    from amends.evaluator.replay import Rebuilt

One = TypeVar("One", "Row", "Gist")
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Wanted(TypedDict):
    """What was asked for."""

    verify: bool
    to_pos: int | None
    to_time: int | None
    loop: str | None
    policy: Path | None
    file: Path | None


@click.command(
    epilog=examples(
        "amends replay --verify",
        "amends replay --to-time 2026-03-01T12:00 --loop octo/shop#42",
        "amends replay --policy stricter.toml     what would `max_cycles = 1` have changed?",
        "amends replay --file log.jsonl",
    )
)
@click.option("--verify", is_flag=True, help="Compare with what is kept beside the log; exit 1 if anything differs.")
@click.option("--to-pos", type=Number(min=1), metavar="POS", help="Only up to a position.")
@click.option("--to-time", type=Moment(), metavar="TIME", help="Only up to a time: 2h ago, or a date.")
@click.option("--loop", metavar="LOOP", help="Show this loop as it was then.")
@click.option("--policy", type=FILE, help="Decide again under this policy (TOML or JSON); exit 1 if anything differs.")
@click.option("--file", type=FILE, help="Replay a file of JSON lines, as `events tail -o json` writes it.")
@placed("data_dir", "database")
@formatted
def replay(**wanted: Unpack[Wanted]) -> None:
    """Fold the whole log again from nothing. Nothing is written.

    The digest says where every loop stands: the same events give the same digest, on every machine.
    """
    part = wanted["to_pos"] or wanted["to_time"] or wanted["loop"]
    if wanted["verify"] and (part or wanted["policy"] or wanted["file"]):
        raise Wrong("--verify compares the whole log with what is kept beside it: it goes with none of the others")
    if wanted["policy"] and wanted["loop"]:
        raise Wrong("--policy looks at every loop: it does not go with --loop")
    with ExitStack() as stack:
        log = None if wanted["file"] else stack.enter_context(the_log())
        if wanted["policy"]:
            redecide(_cut(_rows(log, wanted["file"]), wanted), overrides(wanted["policy"]))
        elif log is not None:
            _rebuild(_cut(_gists(log), wanted), log, wanted)
        else:
            _rebuild(_cut(_rows(log, wanted["file"]), wanted), log, wanted)


def _gists(log: Log) -> Iterator[Gist]:
    from amends.evaluator.audit import gists

    yield from gists(log)


def _rows(log: Log | None, file: Path | None) -> Iterator[Row]:
    if log is not None:
        from amends.evaluator.audit import events

        yield from events(log)
    elif file is not None:
        from amends.common.envelope import row_from

        versions: dict[str, int] = {}
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = row_from(line.rstrip(b"\r\n"))
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                    raise Wrong(f"line {number} of {file} is no event of ours ({error!r})") from error
                before = versions.get(row.loop, 0)
                if row.version != before + 1:  # without its beginning a loop would be folded into what it never was
                    gone = f"{row.loop} goes on with version {row.version} after {before}"
                    raise Wrong(
                        f"line {number} of {file}: {gone}: it takes all of a loop, as from `events tail --from-pos 1`"
                    )
                versions[row.loop] = row.version
                yield row


def _cut(rows: Iterable[One], wanted: Wanted) -> Iterator[One]:
    last, moment = wanted["to_pos"], wanted["to_time"]
    for row in rows:
        if (last is not None and row.pos > last) or (moment is not None and row.time > moment):
            return
        yield row


# --- states ----------------------------------------------------------------------------------------------------------


def _rebuild(rows: Iterable[Row | Gist], log: Log | None, wanted: Wanted) -> None:
    from amends.evaluator.replay import rebuild

    began = time.perf_counter()
    rebuilt = rebuild(rows)
    seconds = time.perf_counter() - began
    if wanted["loop"]:
        _loop(rebuilt, wanted["loop"], log)
        return
    summary = _summary(rebuilt, seconds)
    found = _drift(log, rebuilt) if log is not None and wanted["verify"] else None
    if as_json():
        say_json(summary if found is None else {**summary, "differences": found})
    else:
        _say(summary)
        for difference in found or ():
            say(f"differs: {shown(difference)}")
    if found:
        raise Negative(f"{len(found)} differences between the log and what is kept beside it: `amends doctor --log`")
    if found is not None and not as_json():
        say("verified: what is kept beside the log is what the log says")


def _summary(rebuilt: Rebuilt, seconds: float) -> dict[str, object]:
    statuses = Counter(rebuilt.projection(name).row.status for name in rebuilt.versions)
    return {
        "events": rebuilt.events,
        "pos": rebuilt.pos,
        "time": iso(rebuilt.time) if rebuilt.events else None,
        "loops": len(rebuilt.versions),
        "statuses": dict(statuses.most_common()),
        "unfolded": [f"{each.loop} at {each.pos}: {each.error}" for each in rebuilt.unfolded.values()],
        "seconds": round(seconds, 3),
        "digest": rebuilt.digest(),
    }


def _say(summary: dict[str, object]) -> None:
    for name, value in summary.items():
        if isinstance(value, dict):
            say(f"{name:<9} {', '.join(f'{count} {coloured(status)}' for status, count in value.items())}")
        elif value not in ([], None):
            say(f"{name:<9} {shown(value)}")


def _drift(log: Log, rebuilt: Rebuilt) -> list[str]:
    from amends.evaluator.audit import drifted

    return [str(difference) for difference in drifted(log, rebuilt)]


def _meant(rebuilt: Rebuilt, reference: str) -> str:
    """The loop of a file by its name or as owner/repo#42; of several that were called so, the latest."""
    from amends.common.explain.plain import named

    rows = (rebuilt.projection(name).row for name in rebuilt.versions)
    called = [row for row in rows if named(row).lower() == reference.lower()]
    return max(called, key=lambda row: row.pos).loop if called else reference


def _loop(rebuilt: Rebuilt, reference: str, log: Log | None) -> None:
    name = _meant(rebuilt, reference) if log is None else found(log, reference)
    if name not in rebuilt.versions:
        raise Negative(f"{reference} had no events yet at position {rebuilt.pos}")
    row = rebuilt.projection(name).row
    state = json.loads(row.state)
    if as_json():
        say_json({**row._asdict(), "updated": iso(row.updated), "state": state})
        return
    say(f"{name}  {shown(row.title)}")
    say(f"{coloured(row.status)}, version {row.version}, event {row.pos}, {date(row.updated)} UTC")
    for line in indented(state):
        say(line)
