"""`amends events`: the log as it is, and as it grows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from amends.cli.output import Moment, Number, as_json, date, examples, formatted, indented, say, say_json, shown
from amends.cli.place import Negative, Wrong, found, placed, the_log

if TYPE_CHECKING:
    from amends.common.envelope import Row
    from amends.common.log import Log

POLL = 0.2
PAGE = 1_000


@click.group(short_help="Look at events: the log as it is and as it grows.")
def events() -> None:
    """Look at events: everything that was reported and decided, in order, for ever."""


class Wanted(TypedDict):
    """What `tail` was asked for."""

    follow: bool
    number: int | None
    since: int | None
    from_pos: int | None
    types: tuple[str, ...]
    loop: str | None


@events.command(
    epilog=examples(
        "amends events tail -n 20",
        "amends events tail -f --type 'fix.*' --type escalated",
        "amends events tail --from-pos 1 -o json > log.jsonl",
        "amends events tail --since 2h --loop octo/shop#42",
    )
)
@click.option("-f", "--follow", is_flag=True, help="Go on with new events as they are recorded.")
@click.option("-n", "--number", type=Number(min=0), help="At most so many. [default: the last 10]")
@click.option("--since", type=Moment(), metavar="TIME", help="From a time on: 10m, 2h, 3d, or a date.")
@click.option("--from-pos", type=Number(min=1), metavar="POS", help="From a position on.")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only such: fix.pushed, or 'review.*'.")
@click.option("--loop", metavar="LOOP", help="Only of one loop: owner/repo#42, an address, or its name.")
@placed("data_dir", "database")
@formatted
def tail(**wanted: Unpack[Wanted]) -> None:
    """Show the last events, or those from some point on.

    JSON lines are whole CloudEvents; a file of all of them (--from-pos 1) can be replayed: amends replay --file.
    To go on where you stopped, give the position after the last one you saw. With -n it ends after so many, also if it
    follows; -n with -f alone shows the last ones first, and goes on.
    """
    with the_log() as log:
        fits = _filter(log, wanted)
        start = end = log.head().pos
        number = wanted["number"]
        if wanted["from_pos"] is not None:
            start = wanted["from_pos"] - 1
        elif wanted["since"] is not None:
            start = _before(log, end, wanted["since"])
        else:
            _show(_last(log, end, fits, 10 if number is None else number))
            number = None
        rows = _through(log, start, end, fits)
        _show(islice(chain(rows, _following(log, max(start, end), fits)) if wanted["follow"] else rows, number))


Fits = Callable[["Row"], bool]


def _filter(log: Log, wanted: Wanted) -> Fits:
    types, loop = wanted["types"], wanted["loop"] and found(log, wanted["loop"])
    for type_ in types:
        _known(type_)
    return lambda row: (
        (not types or any(fnmatchcase(row.type, type_) for type_ in types)) and (not loop or row.loop == loop)
    )


def _known(type_: str) -> None:
    """Nothing would ever be shown of a type that there is not."""
    from difflib import get_close_matches

    from amends.common.envelope import FACTS

    if not any(fnmatchcase(known, type_) for known in FACTS):
        near = get_close_matches(type_, FACTS, 1)
        raise Wrong(f"--type {type_}: there is no such event" + (f"; did you mean {near[0]}?" if near else ""))


def _through(log: Log, after: int, upto: int, fits: Fits) -> Iterator[Row]:
    while after < upto and (rows := log.rows(after, PAGE, upto)):
        yield from filter(fits, rows)
        after = rows[-1].pos


def _following(log: Log, after: int, fits: Fits) -> Iterator[Row]:
    while True:
        rows = log.rows(after, PAGE)
        yield from filter(fits, rows)
        if rows:
            after = rows[-1].pos
        else:
            time.sleep(POLL)


def _last(log: Log, end: int, fits: Fits, number: int) -> list[Row]:
    newest: list[Row] = []
    while end > 0 and len(newest) < number:
        newest += filter(fits, reversed(log.rows(max(0, end - PAGE), PAGE, end)))
        end -= PAGE
    return newest[:number][::-1]


def _before(log: Log, end: int, moment: int) -> int:
    """The last position before a time: times never run backwards in a log."""
    low, high = 0, end
    while low < high:
        middle = (low + high + 1) // 2
        row = log.row(middle)
        low, high = (middle, high) if row is None or row.time < moment else (low, middle - 1)
    return low


def _show(rows: Iterable[Row]) -> None:
    from amends.common.envelope import cloud_event

    for row in rows:
        if as_json():
            say_json(cloud_event(row))
        else:
            by = f"<- {row.cause}" if row.cause else row.actor or row.source
            say(f"{row.pos:>6}  {date(row.time)}  {row.loop:<20}  {row.type:<18}  {shown(row.key)}  {shown(by)}")


@events.command(epilog=examples("amends events show 41 42"))
@click.argument("positions", metavar="POS...", nargs=-1, required=True, type=Number(min=1))
@placed("data_dir", "database")
@formatted
def show(positions: tuple[int, ...]) -> None:
    """Show events whole: who, when, why, and every field."""
    from amends.common.envelope import cloud_event

    with the_log() as log:
        for pos in positions:
            row = log.row(pos)
            if row is None:
                raise Negative(f"the log has no position {pos}: it ends at {log.head().pos}")
            if as_json():
                say_json(cloud_event(row))
            else:
                _whole(row)


def _whole(row: Row) -> None:
    from amends.common.envelope import event_id

    for name, value in (
        ("pos", row.pos), ("loop", f"{row.loop} version {row.version}"), ("type", f"{row.type} schema {row.schema}"),
        ("key", row.key), ("time", f"{date(row.time)} UTC"), ("source", f"{row.source} {row.actor}".rstrip()),
        ("cause", row.cause), ("policy", row.policy), ("id", event_id(row.loop, row.key)), ("hash", row.hash.hex()),
    ):  # fmt: skip
        if value not in {None, ""}:
            say(f"{name:<7} {shown(value)}")
    for line in indented(json.loads(row.data)):
        say(f"        {line}")
    say()


@events.command(epilog=examples("amends events transcript 41"))
@click.argument("position", metavar="POS", type=Number(min=1))
@placed("data_dir", "database")
@formatted
def transcript(position: int) -> None:
    """Show what was said in an attempt at a fix, turn by turn, with what each turn cost.

    POS is that of its fix.prepared or fix.failed.
    """
    with the_log() as log:
        row = log.row(position)
        newest = json.loads(row.data).get("transcript") if row is not None else None
        if not newest:
            raise Negative(f"position {position} has no transcript: give that of a fix.prepared or fix.failed")
        for link in reversed(list(_links(log, newest))):
            for message in link["said"]:
                _say_message(message)
            if link["tokens"]:
                say_json(link["tokens"]) if as_json() else say(f"[{_counted(link['tokens'])}]\n")


def _links(log: Log, newest: str | None) -> Iterator[dict[str, Any]]:
    """What was said, the last of it first."""
    while newest is not None:
        content = log.blob(newest)
        if content is None:
            raise Negative(f"the blob {newest} is not here")
        link = json.loads(content)
        if isinstance(link, list):  # as it was once kept: all of it in one
            link = {"before": None, "said": link, "tokens": None}
        yield link
        newest = link["before"]


def _say_message(message: dict[str, Any]) -> None:
    if as_json():
        say_json(message)
        return
    who = message.get("role") or next(iter(message))
    said = message.get("content", message)
    texts = said if isinstance(said, list) else [said]
    for one in texts:
        text = one if isinstance(one, str) else one.get("text") or json.dumps(one, ensure_ascii=False)
        for line in text.splitlines():
            say(f"{who:<10} {shown(line)}")


def _counted(tokens: dict[str, int]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in tokens.items() if number)
