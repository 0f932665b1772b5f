"""`amends loops`: what is going on, one loop in full, and the words a human can say to it."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import click

from amends.cli import orders
from amends.cli.output import (
    Number,
    ago,
    as_json,
    coloured,
    date,
    examples,
    formatted,
    iso,
    say,
    say_json,
    shown,
    table,
    talk,
)
from amends.cli.place import Negative, found, placed, repository, the_log

if TYPE_CHECKING:
    from amends.common.log import Log, LoopRow

POLL = 0.2
STATUSES = (
    *("watching", "settling", "collecting", "fixing", "pushing", "awaiting_review", "needs_human", "paused", "done"),
    "stuck",
)
ENDS = ("done", "needs_human", "stuck")


@click.group()
def loops() -> None:
    """Look at loops, and steer them.

    A loop is one pull request on its way to being accepted. Say owner/repo#42, its address, or the loop's name.
    """


@loops.command(
    "list",
    epilog=examples(
        "amends loops list --status needs_human", "amends loops list --repo octo/shop -o json | jq -r .name"
    ),
)
@click.option("--status", type=click.Choice(STATUSES), help="Only those that stand so.")
@click.option("--repo", metavar="OWNER/REPO", callback=repository, help="Only those of a repository.")
@click.option("-n", "--number", default=100, show_default=True, type=Number(min=1), help="At most so many.")
@placed("data_dir", "database")
@formatted
def list_(status: str | None, repo: str | None, number: int) -> None:
    """List loops, the last to change first."""
    from amends.common.explain.plain import named, summary

    with the_log() as log:
        rows = log.loops(status, repo, limit=number)
    if as_json():
        for row in rows:
            say_json(summary(row))
    elif not rows:
        talk("No loops. They begin with the first event of a pull request: `amends events tail -f` shows what arrives.")
    else:
        table(
            ("LOOP", "STATUS", "CYCLE", "USED", "NEEDS", "CHANGED", "TITLE"),
            ((named(row), row.status, row.n, row.used, _needs(row), ago(row.updated), row.title) for row in rows),
        )


def _needs(row: LoopRow) -> str:
    return "you" if row.human else row.blocked


@loops.command(
    short_help="Show a loop in full.",
    epilog=examples("amends loops show octo/shop#42", "amends loops show octo/shop#42 -o json | jq .state.items"),
)
@click.argument("loop")
@placed("data_dir", "database")
@formatted
def show(loop: str) -> None:
    """Show a loop in full: where it stands, its items, and what it waits for."""
    from amends.common.explain.plain import summary

    with the_log() as log:
        row = log.loop(found(log, loop))
        if row is None:
            raise Negative(f"there is no loop {loop!r}")
        if as_json():
            say_json({**summary(row), "state": json.loads(row.state), **_waits(log, row)})
        else:
            _show(log, row)


def _waits(log: Log, row: LoopRow) -> dict[str, object]:
    owed = [request for request in log.outstanding() if request.loop == row.loop]
    return {
        "timers": [{"name": timer.name, "due": iso(timer.due)} for timer in log.timers_of(row.loop)],
        "outstanding": [{"pos": request.pos, "service": request.service, "due": iso(request.due)} for request in owed],
    }


def _show(log: Log, row: LoopRow) -> None:
    from amends.common.explain.plain import named

    say(f"{shown(named(row))}  {shown(row.title)}")
    stuck = f" (under amends {row.stuck})" if row.stuck else ""
    say(f"{coloured(row.status)}{stuck}, {row.used} cycles used of {row.n} begun, changed {ago(row.updated)}")
    say(f"{row.loop} version {row.version}, event {row.pos}  {shown(row.url)}".rstrip())
    items = json.loads(row.state).get("items", {})
    if items:
        say()
        table(("ITEM", "VERDICT", "AUTHOR", "WHERE"), (_item(id_, item) for id_, item in items.items()))
    owed = [(request.pos, request.service, request.due) for request in log.outstanding() if request.loop == row.loop]
    if owed:
        say()
        table(("WAITS FOR", "ANSWER TO", "UNTIL"), ((who, f"event {pos}", date(due)) for pos, who, due in owed))
    if timers := log.timers_of(row.loop):
        say()
        table(("TIMER", "DUE", ""), ((timer.name, date(timer.due), ago(timer.due)) for timer in timers))


def _item(id_: str, item: dict[str, object]) -> tuple[object, ...]:
    verdicts, version = item.get("verdicts") or {}, item.get("version", "")
    verdict = verdicts.get(version, "open") if isinstance(verdicts, dict) else "open"
    author = item.get("author") or {}
    login = author.get("login", "") if isinstance(author, dict) else ""
    place = f"{item.get('path') or ''}{':' if item.get('line') else ''}{item.get('line') or ''}"
    return id_, verdict, login, place


@loops.command(
    short_help="Print the fix that could not be pushed.",
    epilog=examples(
        "amends loops patch octo/shop#42 | git apply", "amends loops patch octo/shop#42 --at 1200 > fix.patch"
    ),
)
@click.argument("loop")
@click.option("--at", type=Number(min=1), metavar="POS", help="The one that this event names.")
@placed("data_dir", "database")
def patch(loop: str, at: int | None) -> None:
    """Print the last fix that was made and could not be pushed (a fork, a protected branch), for `git apply`.

    It belongs on the commit that `amends explain` names as the base of the push.
    """
    from amends.common.envelope import event_of
    from amends.common.events import PushRefused

    with the_log() as log:
        events = [event_of(row) for row in log.history(found(log, loop)) if row.type == "push.refused"]
        refused = [one.fact for one in events if isinstance(one.fact, PushRefused) and at in {None, one.pos}]
        kept = [one.patch for one in refused if one.patch]
        content = log.blob(kept[-1]) if kept else None
    if content is None:
        raise Negative("it has no fix that could not be pushed: `amends events tail --type push.refused` shows who has")
    sys.stdout.buffer.write(content)


@loops.command(epilog=examples('amends loops watch octo/shop#42 --exit-status && say "accepted"'))
@click.argument("loop")
@click.option("--exit-status", is_flag=True, help="Exit 1 unless it ends done.")
@placed("data_dir", "database")
@formatted
def watch(loop: str, *, exit_status: bool) -> None:
    """Follow a loop until it is done or needs you."""
    with the_log() as log:
        name = found(log, loop)
        seen = -1
        while True:
            row = log.loop(name)
            if row is not None and row.version != seen:
                seen = row.version
                _changed(row)
            if row is not None and row.status in ENDS:
                break
            time.sleep(POLL)
    if exit_status and row.status != "done":
        raise click.exceptions.Exit(1)


def _changed(row: LoopRow) -> None:
    from amends.common.explain.plain import summary

    if as_json():
        say_json(summary(row))
    else:
        cycle = f"cycle {row.n}" if row.n else ""
        say(f"{date(row.updated)}  {coloured(row.status, f'{row.status:<16}')} event {row.pos}  {cycle}".rstrip())


for order in orders.ORDERS:
    loops.add_command(order)
