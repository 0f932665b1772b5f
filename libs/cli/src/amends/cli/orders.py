"""The words a human can say to a loop: each becomes a `command.given` by a local operator."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from amends.cli.output import as_json, examples, formatted, say, say_json, shown
from amends.cli.place import Negative, NotReachable, Wrong, asked, found, operator, placed, the_log

if TYPE_CHECKING:
    from amends.common.answers import Report
    from amends.common.events import CommandName
    from amends.common.explain.plain import Heard
    from amends.common.log import Log

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

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


SECONDS = 5.0  # that an answer of the loop is waited for
POLL = 0.1


def _order(name: CommandName) -> click.Command:
    words, grave = WORDS[name]
    needs_text = name == "refine"
    example = " 'use a constant here'" if needs_text else ""

    @placed("data_dir", "database", "nats_url")
    @formatted
    def give(loop: str, text: str, *, wait: bool, yes: bool) -> None:
        with the_log() as log:
            target = found(log, loop)
            if (grave or target == "installation") and not yes:
                _confirm(f"{name} {loop}")
            _give(log, target, name, text, wait=wait)

    why = "" if needs_text else "\n\nTEXT says why: it is recorded with the command."
    give.__doc__ = f"{words}{why}"
    give = click.option("-y", "--yes", is_flag=True, help="Do not ask again.")(_waiting(give))
    give = (click.argument("text") if needs_text else click.argument("text", default=""))(give)
    below = examples(f"amends loops {name} octo/shop#42{example}")
    return click.command(name, short_help=words, epilog=below)(click.argument("loop")(give))


def _waiting(command: Decorated) -> Decorated:
    words = f"Say what the loop answers, within {SECONDS:g} seconds.  [default: wait]"
    return click.option("--wait/--no-wait", default=True, help=words)(command)


def _for_all(name: CommandName, words: str) -> click.Command:
    @placed("data_dir", "database", "nats_url")
    @formatted
    def give(loop: str, text: str, *, everything: bool, wait: bool) -> None:
        if everything == bool(loop):
            raise Wrong(f"{name} what? Say --all, or owner/repo#42")
        with the_log() as log:
            _give(log, "installation" if everything else found(log, loop), name, text, wait=wait)

    give.__doc__ = words
    give = click.option("--reason", "text", default="", help="Why: it is recorded with the command.")(_waiting(give))
    give = click.option("--all", "everything", is_flag=True, help="The whole installation.")(give)
    below = examples(f"amends {name} --all", f"amends {name} octo/shop#42")
    return click.command(name, short_help=words, epilog=below)(click.argument("loop", default="")(give))


ORDERS = [_order(name) for name in WORDS]
PAUSE = _for_all("pause", "Stop everything, or one loop: nothing new is decided and no effect begins.")
RESUME = _for_all("resume", "Go on after a pause, or after fixing was off.")


def _confirm(what: str) -> None:
    if not sys.stdin.isatty():
        raise Wrong(f"{what}: this is asked again before it is done; say --yes")
    click.confirm(f"{what}: are you sure?", abort=True, err=True)


def _give(log: Log, loop: str, name: CommandName, text: str, *, wait: bool) -> None:
    from amends.common.answers import Already, Recorded, Refused

    if name == "refine" and not text.strip():
        raise Wrong("refine: say what is to be changed")
    report = commanded(loop, name, text)
    answer = asked(lambda recorder: recorder.report(report))
    match answer:
        case Recorded() | Already():
            _tell(log, report, answer.pos, wait=wait)
        case Refused():
            raise Negative(f"refused ({answer.reason}): {shown(answer.detail)}")
        case _:
            raise NotReachable(f"the evaluator did not answer ({shown(answer.detail)}): `amends doctor` looks")


def commanded(loop: str, name: CommandName, text: str) -> Report:
    """The report of a command by whoever sits at this terminal."""
    from uuid import uuid4

    from pydantic import ValidationError

    from amends.common.answers import Report
    from amends.common.events import Author, CommandGiven
    from amends.common.identity import About

    login = operator()
    author = Author(id=0, login=login, kind="token")
    try:
        fact = CommandGiven(id=f"cli-{uuid4().hex[:16]}", name=name, text=text, author=author)
    except ValidationError as error:
        raise Wrong(f"{name}: the text: {error.errors()[0]['msg']}") from error
    return Report(fact=fact, about=About(loop=loop), actor=login)


def _tell(log: Log, report: Report, pos: int, *, wait: bool) -> None:
    from amends.common.explain.plain import Heard

    loop, fact = report.about.loop or "", report.fact
    name, answered = str(getattr(fact, "name", "")), _heard(log, loop, fact.key) if wait else Heard("waiting")
    if as_json():
        say_json({"loop": loop, "command": name, "pos": pos, **answered._asdict()})
    elif answered.outcome == "accepted":
        say(f"{name}: accepted, event {pos}. `amends explain {loop}` says what comes next.")
    elif answered.outcome == "waiting":
        until = "; it takes effect when the loop is resumed" if wait else ""
        say(f"{name}: recorded as event {pos}{until}. `amends explain {loop}` says what became of it.")
    if answered.outcome == "refused":
        raise Negative(f"{name}: refused, {answered.why} (event {pos})")


def _heard(log: Log, loop: str, key: str) -> Heard:
    """A fact and what is decided about it commit together; whatever is paused answers when it is resumed."""
    from amends.common.explain.plain import heard

    until = time.monotonic() + SECONDS
    while (found := heard(partial(log.find, loop), key)).outcome == "waiting" and time.monotonic() < until:
        row = log.loop(loop)
        if row is not None and row.status == "paused":
            break
        time.sleep(POLL)
    return found
