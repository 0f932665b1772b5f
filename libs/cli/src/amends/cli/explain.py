"""`amends explain`: why a loop stands where it stands, now or at any position of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from amends.cli.output import Number, as_json, examples, formatted, say, say_json
from amends.cli.place import Negative, found, placed, the_log

if TYPE_CHECKING:
    from amends.common.explain import Explanation
    from amends.common.log import Log


@click.command(
    short_help="Say why a loop stands where it stands.",
    epilog=examples(
        "amends explain octo/shop#42",
        "amends explain https://github.com/octo/shop/pull/42 --at 1200",
        "amends explain octo/shop#42 --events 500",
        "amends explain installation",
    ),
)
@click.argument("loop")
@click.option("--at", type=Number(min=1), metavar="POS", help="As it was at a position of the log.")
@click.option("--events", type=Number(min=0), default=50, show_default=True, help="So many of its last events.")
@placed("data_dir", "database")
@formatted
def explain(loop: str, at: int | None, events: int) -> None:
    """Say why a loop stands where it stands, what is missing, what comes next, and whose turn it is."""
    with the_log() as log:
        explanation = explained(log, found(log, loop), at, events)
    from amends.common.explain import lines, plain

    if as_json():
        say_json(plain(explanation))
        return

    for line in lines(explanation):
        say(line)


def explained(log: Log, name: str, at: int | None, events: int) -> Explanation:
    """The explanation of a loop from the log alone: its own events and those of its settings."""
    from dataclasses import replace

    from amends.common.envelope import event_of
    from amends.common.explain import Known, account
    from amends.common.explain import explain as explain_loop
    from amends.common.identity import INSTALLATION, policy_loop
    from amends.common.provenance import Layers
    from amends.evaluator.replay import rebuild

    upto = log.head().pos if at is None else at
    names = dict.fromkeys((name, policy_loop(name), INSTALLATION))
    rows = sorted((row for each in names for row in log.history(each)), key=lambda row: row.pos)
    rebuilt = rebuild(rows, upto_pos=upto)
    if name not in rebuilt.versions:
        raise Negative(f"{name} had no events yet at position {upto}")
    own = [row for row in rows if row.loop == name and row.pos <= upto]
    recent = own[-max(1, events) :]
    stuck = [row for row in own[: -len(recent)] if row.type == "loop.stuck"][-1:]  # says why, however long ago
    loop = rebuilt.loop(name)
    beside = [event_of(row) for row in rows if row.loop != name and row.pos <= upto]
    layers = Layers(loop.pull.full_name if loop.pull else "").tell(beside)
    known = Known(layers.settings(), layers.error, beside)
    explanation = explain_loop(loop, rebuilt.policy_now(loop), [event_of(row) for row in (*stuck, *recent)])
    if name != INSTALLATION:
        deeds = account(loop, rebuilt.policy_now(loop), [event_of(row) for row in own], known)
        explanation = replace(explanation, account=deeds)
    return replace(explanation, last=explanation.last[len(explanation.last) - min(events, len(recent)) :])
