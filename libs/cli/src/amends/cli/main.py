"""The `amends` command. Nothing here or in the commands' modules loads more than click before a command runs."""

from __future__ import annotations

import errno
import os
import sys
from io import TextIOWrapper

import click

from amends.cli import (
    backup,
    doctor,
    double,
    events,
    explain,
    init,
    loops,
    orders,
    parked,
    policy,
    reconcile,
    replay,
    report,
    running,
    upkeep,
)
from amends.cli.demo import command as demo

OK, NOT_REACHABLE, INTERRUPTED = 0, 3, 130
_STDERR = 2
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

EPILOG = """\b
Start here:
  amends demo                        the whole loop at work, on a GitHub of its own
  amends init                        what it has to know for repositories of yours, tried and written down
  amends up                          everything in one process, data in .amends
  amends loops list                  what is going on
  amends explain octo/shop#42        why a loop stands where it stands
  amends events tail -f              every event as it is recorded

\b
Reading commands work while nothing runs. Into a pipe they write JSON lines.
Exit codes: 0 ok, 1 negative result, 2 usage, 3 not reachable, 130 interrupted."""


class Piped(click.Group):
    """A group whose commands may write into a pipe that closes early: `| head -1` has what it wants."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what it still had to say to a closed pipe goes nowhere."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK


@click.group(
    cls=Piped, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EPILOG
)
@click.version_option(package_name="amends-cli")
def cli() -> None:
    """Closes the loop on pull-request reviews: what was asked for is fixed, pushed, answered, and asked for again."""


for command in (
    *(init.init, running.up, running.run, loops.loops, orders.PAUSE, orders.RESUME, policy.policy, events.events),
    *(explain.explain, replay.replay, parked.parked, report.report, reconcile.reconcile, doctor.doctor),
    *(upkeep.migrate, upkeep.nats_users, backup.backup, backup.restore, double.double, demo.demo),
):
    cli.add_command(command)


def main() -> None:
    """Run the command of this process's arguments, and end the process with its exit code."""
    _open_what_is_closed()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # not every terminal has every letter of a title
    try:
        code = cli.main(standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        click.echo(err=True)
        code = INTERRUPTED
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise
        where = error.filename or "a file"
        click.echo(f"Error: {where} cannot be used ({error.strerror}): see who may write there, and the disk", err=True)
        code = NOT_REACHABLE
    sys.exit(code if isinstance(code, int) else OK)


def _open_what_is_closed() -> None:
    """Whoever starts us without standard streams (`>&-`) gets none; no file of ours may be opened in their place."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(number, True)  # noqa: FBT003 - the only way to call it
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for as long as we live
