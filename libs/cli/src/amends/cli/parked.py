"""`amends parked`: what could not be recorded, and what a service gave up on: look at it, have it tried again."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from amends.cli.answers import judge, tell
from amends.cli.output import Number, ago, as_json, date, examples, formatted, iso, say, say_json, shown, table, talk
from amends.cli.place import Negative, Wrong, asked, placed, the_log

if TYPE_CHECKING:
    from amends.common.answers import Answer
    from amends.common.bus.wire import Requeued
    from amends.common.log import Log, ParkedRow

SHOWN_BYTES = 4_000


@click.group(short_help="Look at what was put aside; have it tried again.")
def parked() -> None:
    """Look at what was put aside, and have it tried again.

    A report that cannot be recorded is refused and kept, byte for byte. An event that a service could not work on is
    put aside by a fact, `delivery.parked`; its request stays open and is asked again when its wait is over.
    """


@parked.command("list", epilog=examples("amends parked list -o json | jq 'select(.reason == \"malformed\")'"))
@click.option("-n", "--number", default=100, show_default=True, type=Number(min=1), help="At most so many.")
@placed("data_dir", "database")
@formatted
def list_(number: int) -> None:
    """List refused reports, the newest first, and events that a service gave up on."""
    with the_log() as log:
        rows, given_up = log.parked(number), _given_up(log)
    if as_json():
        for row in rows:
            say_json(_plain(row))
        for each in given_up:
            say_json(each)
        return
    if rows:
        table(
            ("ID", "SERVICE", "REASON", "TIMES", "LAST", "DETAIL"),
            ((str(row.id), row.service, row.reason, str(row.times), ago(row.last), row.detail) for row in rows),
        )
    if given_up:
        say()
        table(("POS", "SERVICE", "LOOP", "ERROR"), ([str(each[name]) for name in _COLUMNS] for each in given_up))
    if not rows and not given_up:
        talk("Nothing is parked.")


_COLUMNS = ("pos", "service", "loop", "error")


def _given_up(log: Log) -> list[dict[str, object]]:
    """Requests that are still open and that their service has put aside."""
    from amends.common.state import load

    found: list[dict[str, object]] = []
    for request in log.outstanding():
        row = log.loop(request.loop)
        error = load(row.state).parked.get(f"{request.pos}/{request.service}") if row else None
        if error is not None:
            found.append({"pos": request.pos, "service": request.service, "loop": request.loop, "error": error})
    return found


def _plain(row: ParkedRow) -> dict[str, object]:
    return {**row._asdict(), "time": iso(row.time), "last": iso(row.last), "data": None}


@parked.command(epilog=examples("amends parked show 3", "amends parked show 3 --raw > report.json"))
@click.argument("parked_id", metavar="ID", type=Number(min=1))
@click.option("--raw", is_flag=True, help="The bytes and nothing else, as they came.")
@placed("data_dir", "database")
@formatted
def show(parked_id: int, *, raw: bool) -> None:
    """Show a refused report: who sent it, why it was refused, and its bytes."""
    with the_log() as log:
        row = log.parked_one(parked_id)
    if row is None:
        raise Negative(f"nothing is parked under {parked_id}: `amends parked list` shows what is")
    if raw:
        sys.stdout.buffer.write(row.data)
    elif as_json():
        say_json({**_plain(row), "data": row.data.decode(errors="backslashreplace")})
    else:
        _show(row)


def _show(row: ParkedRow) -> None:
    for name, value in (
        ("id", row.id), ("service", row.service), ("subject", row.subject), ("reason", row.reason),
        ("detail", row.detail), ("came", f"{row.times} times, first {date(row.time)}, last {date(row.last)} UTC"),
        ("bytes", row.size), ("sha256", row.sha),
    ):  # fmt: skip
        say(f"{name:<8} {shown(value)}")
    say()
    for line in row.data[:SHOWN_BYTES].decode(errors="backslashreplace").splitlines():
        say(shown(line))
    if row.size > SHOWN_BYTES:
        talk(f"... {row.size - SHOWN_BYTES} bytes more: --raw writes all of them")


@parked.command(epilog=examples("amends parked requeue 3 4", "amends parked requeue --pos 1200"))
@click.argument("ids", metavar="[ID]...", type=Number(min=1), nargs=-1)
@click.option(
    "--pos", "positions", type=Number(min=1), multiple=True, metavar="POS", help="An event that a service gave up on."
)
@placed("data_dir", "database", "nats_url")
@formatted
def requeue(ids: tuple[int, ...], positions: tuple[int, ...]) -> None:
    """Try again: a refused report is recorded after all, or an event is worked on again now."""
    from amends.common.bus.wire import Requeued

    wanted = [Requeued(parked=each) for each in ids] + [Requeued(pos=each) for each in positions]
    if not wanted:
        raise Wrong("say what: an ID of `amends parked list`, or --pos with the position of an event")

    answers = asked(lambda recorder: _all(recorder.requeue, wanted))
    for each, answer in zip(wanted, answers, strict=True):
        tell(f"parked {each.parked}" if each.parked is not None else f"event {each.pos}", answer)
    judge(answers)


async def _all(requeue_: Callable[[Requeued], Awaitable[Answer]], wanted: list[Requeued]) -> list[Answer]:
    return [await requeue_(each) for each in wanted]
