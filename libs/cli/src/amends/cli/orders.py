"""The words a human can say to a loop: each becomes a `command.given` by a local operator."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from amends.cli.output import as_json, examples, formatted, say, say_json, shown
from amends.cli.place import Negative, NotReachable, Wrong, asked, found, placed, the_log

if TYPE_CHECKING:
    from amends.common.answers import Report
    from amends.common.events import CommandName
    from amends.common.log import Log

# What each does, and whether it is asked again before it is done.
WORDS: dict[CommandName, tuple[str, bool]] = {
    "fix": ("Begin a cycle now with all that is open.", False),
    "retry": ("Go on after a human was needed.", False),
    "refine": ("Give a text of your own to work on.", False),
    "skip": ("Put the open items aside.", True),
    "accept": ("Take it as it is, and finish the loop.", True),
    "reset": ("Count the cycles from zero, then as retry.", True),
    "ready": ("Finish the loop as ready.", False),
    "stop": ("Finish it; only fix or reset begins it again.", True),
    "pause": ("Decide nothing until it is resumed.", False),
    "resume": ("Go on where it was paused.", False),
}


def _order(name: CommandName) -> click.Command:
    words, grave = WORDS[name]
    example = " 'use a constant here'" if name == "refine" else ""

    @placed("data_dir", "database", "nats_url")
    @formatted
    def give(loop: str, text: str, *, yes: bool) -> None:
        with the_log() as log:
            target = found(log, loop)
            if (grave or target == "installation") and not yes:
                _confirm(f"{name} {loop}")
            _give(log, target, name, text)

    give.__doc__ = words
    if name == "refine":
        give = click.argument("text")(give)
    else:
        give = click.option("--reason", "text", default="", help="Why: it is recorded with the command.")(give)
    give = click.option("-y", "--yes", is_flag=True, help="Do not ask again.")(give)
    below = examples(f"amends loops {name} octo/shop#42{example}")
    return click.command(name, epilog=below)(click.argument("loop")(give))


ORDERS = [_order(name) for name in WORDS]


def _confirm(what: str) -> None:
    if not sys.stdin.isatty():
        raise Wrong(f"{what}: this is asked again before it is done; say --yes")
    click.confirm(f"{what}: are you sure?", abort=True, err=True)


def _give(log: Log, loop: str, name: CommandName, text: str) -> None:
    from amends.common.answers import Already, Recorded, Refused

    report = commanded(loop, name, text)
    answer = asked(lambda recorder: recorder.report(report))
    match answer:
        case Recorded() | Already():
            _tell(log, loop, name, report.fact.key, answer.pos)
        case Refused():
            raise Negative(f"refused ({answer.reason}): {shown(answer.detail)}")
        case _:
            raise NotReachable(f"the evaluator did not answer ({shown(answer.detail)}): `amends doctor` looks")


def commanded(loop: str, name: CommandName, text: str) -> Report:
    """The report of a command by whoever sits at this terminal."""
    from getpass import getuser
    from uuid import uuid4

    from amends.common.answers import Report
    from amends.common.events import Author, CommandGiven
    from amends.common.identity import About

    try:
        login = getuser()
    except (OSError, KeyError):
        login = "operator"
    fact = CommandGiven(
        id=f"cli-{uuid4().hex[:16]}", name=name, text=text, author=Author(id=0, login=login, kind="token")
    )
    return Report(fact=fact, about=About(loop=loop), actor=login)


def _tell(log: Log, loop: str, name: str, key: str, pos: int) -> None:
    """What came of it is in the log already: a fact and its decisions commit together."""
    from amends.common.envelope import event_of
    from amends.common.events import CommandRefused
    from amends.common.explain.reasons import UNHEARD_COMMANDS

    refused = log.find(loop, f"{key}/refused")
    reason = fact.reason if refused and isinstance(fact := event_of(refused).fact, CommandRefused) else ""
    outcome = "refused" if refused else "accepted" if log.find(loop, f"{key}/accepted") else "waiting"
    if as_json():
        say_json({"loop": loop, "command": name, "pos": pos, "outcome": outcome, "reason": reason})
    elif outcome == "accepted":
        say(f"{name}: done, event {pos}. `amends explain {loop}` says what comes next.")
    elif outcome == "waiting":
        say(f"{name}: recorded as event {pos}; it takes effect when the loop is resumed.")
    if outcome == "refused":
        raise Negative(f"{name}: {UNHEARD_COMMANDS.get(reason, reason)} (event {pos})")
