"""`amends demo`: everything is started, everybody plays, and in the end it is looked at."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from amends.cli.output import examples

if TYPE_CHECKING:
    from amends.cli.demo.installation import Mind

OK, MISSING, UNREACHABLE = 0, 1, 3


@click.command(
    short_help="See the whole loop at work, on a GitHub of its own.",
    epilog=examples("amends demo", "amends demo --keep", "amends demo --once && echo all of it works here"),
)
@click.option("--once", is_flag=True, help="For scripts: exit 1 unless every fact, commit and comment is there.")
@click.option("--keep", is_flag=True, help="Leave it running to look around, until Ctrl-C.")
def demo(*, once: bool, keep: bool) -> None:
    """See the whole loop at work: a GitHub of its own, a real `amends up`, and reviewers who ask for changes.

    Nothing outside this machine is used, but for Claude if ANTHROPIC_API_KEY is set; without it the model is a script,
    and says so. Everything is in a directory of its own and gone in the end.

    Where no sandbox can be made, only suggestions are applied, and it says so: with --once that is exit code 1.
    """
    raise click.exceptions.Exit(_demo(once=once, keep=keep))


def _demo(*, once: bool, keep: bool) -> int:
    from amends.cli.demo.ending import show
    from amends.cli.demo.installation import Installation, NotUp
    from amends.cli.demo.stage import Stage

    with ExitStack() as stack:
        stack.enter_context(_ended_by_signals())
        root = stack.enter_context(_directory())
        mind = stack.enter_context(_mind())
        click.echo(f"amends demo, on a GitHub of its own; the model is {mind.name}.")
        click.echo("Starting GitHub, nats-server, the event log and all services.")
        try:
            stage = stack.enter_context(Stage.set_up(Installation(root, mind)))
            found = stage.play()
        except NotUp as error:
            click.echo(f"Error: {error}", err=True)
            return UNREACHABLE
        if once and found.no_sandbox:
            found.missing.append("a sandbox, in which the prose would have been fixed")
        show(stage, keep=keep)
        if keep:
            _wait()
        return MISSING if found.missing else OK


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """To be told to end, or to lose the terminal, ends it as Ctrl-C does: with everything that it has started."""
    before = {number: signal.signal(number, signal.default_int_handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _directory() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="amends-demo-"))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _mind() -> Iterator[Mind]:
    """Claude, if there is a key, else a script that is named as one."""
    from amends.cli.demo.installation import Mind
    from amends.cli.demo.script import scripted
    from amends.doubles.model import ModelDouble
    from amends.doubles.model.double import KEY, MODEL

    if key := os.environ.get("ANTHROPIC_API_KEY"):
        known = {name: value for name, value in os.environ.items() if name.startswith("AMENDS_MODEL_")}
        yield Mind("Claude", {**known, "AMENDS_MODEL_API_KEY": key}, scripted=False)
        return
    with ModelDouble(always=scripted) as double:
        at = {"AMENDS_MODEL_BASE_URL": double.url, "AMENDS_MODEL_NAME": MODEL, "AMENDS_MODEL_API_KEY": KEY}
        yield Mind("a script, not an AI", at, scripted=True)


def _wait() -> None:
    """Until Ctrl-C, which is no failure here."""
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(3_600)
