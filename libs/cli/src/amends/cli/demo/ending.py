"""What is shown in the end: what changed, what was said, what happened, and what to do next."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

import click

from amends.cli.demo.expected import WHOLE
from amends.cli.demo.scene import DISCOUNTS, RECEIPTS, REPOSITORY
from amends.cli.demo.view import coloured, heading, wrapped
from amends.cli.output import shown

if TYPE_CHECKING:
    from amends.cli.demo.stage import Stage
    from amends.common.envelope import Event
    from amends.doubles.github.control.pulls import PullHandle

_TIMELINE = (
    "review.rejected", "review.approved", "fix.requested", "comments.fetched", "fix.started",
    "fix.prepared", "fix.failed", "push.requested", "fix.pushed", "cycle.finished", "review.requested", "escalated",
    "loop.finished",
)  # fmt: skip
_MARKS = re.compile(r"\[([^\]]+)\]\([^)]+\)|[*`\\]")


def show(stage: Stage, *, keep: bool) -> None:
    """Everything about both pull requests, and what to do next."""
    for number, pull in stage.scene.pulls.items():
        heading(f"What amends changed in #{number}, {pull.of.issue.title}")
        _diff(stage, pull)
        heading(f"What was said in #{number}")
        _threads(stage, pull)
    heading(f"What happened in #{DISCOUNTS}, as the log has it")
    _timeline(stage.found.events.get(DISCOUNTS, []))
    heading("What it comes to")
    _verdict(stage)
    heading("What to do next")
    _next(stage, keep=keep)


def _diff(stage: Stage, pull: PullHandle) -> None:
    begun, repo = stage.scene.begun[pull.number], stage.scene.repo
    for path in WHOLE[pull.number].code:
        old, new = [(repo.read(path, sha) or b"").decode().splitlines() for sha in (begun, pull.head)]
        for line in unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=1):
            tone = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
            click.echo(click.style(shown(line), fg=tone) if tone and coloured() else shown(line))
    for commit in reversed(repo.log(pull.of.head_ref)):
        if "Amends-Key:" in commit.message:
            told = [line for line in commit.message.splitlines() if line.startswith("Co-authored-by:")]
            wrapped(f"{commit.sha[:7]} {'; '.join([commit.message.splitlines()[0], *told])}", indent="        ")


def _threads(stage: Stage, pull: PullHandle) -> None:
    for thread in pull.threads:
        said = f", resolved by {thread.resolved_by}" if thread.resolved else ", open"
        click.echo(f"{thread.path}{said}")
        for one in thread.comments:
            body = _unmarked(one.body) if one.author == stage.scene.app.login else one.body
            wrapped(f"{one.author}: {_plain(body)}", "  ", "    ")
    click.echo("in the conversation, each of them shortened")
    for comment in pull.conversation:
        wrapped(f"{comment.author}: {_plain(_unmarked(comment.body), 1)}", "  ", "    ")


def _plain(body: str, most: int = 10) -> str:
    """The first lines of a comment, without what only marks it."""
    lines = [line.strip() for line in body.splitlines() if not line.startswith("<!--")]
    said = " / ".join([line for line in lines if line and line != "```"][:most])
    return said.replace("```suggestion /", "suggests:")


def _unmarked(body: str) -> str:
    """What amends says, as it looks when it is rendered."""
    return _MARKS.sub(r"\1", body)


def _timeline(events: list[Event]) -> None:
    for event in events:
        if event.type in _TIMELINE:
            by = f"because of {event.cause}" if event.cause else f"said by {event.source}"
            click.echo(f"{event.pos:>5}  {event.type:<18}  {shown(event.key)[:30]:<30}  {by}")


def _verdict(stage: Stage) -> None:
    found = stage.found
    both = [event for told in found.events.values() for event in told]
    pushed = sum(event.type == "fix.pushed" for event in both)
    click.echo(f"{len(both)} facts about two pull requests, {pushed} commits, in {found.seconds:.1f} s.")
    if found.no_sandbox:
        wrapped(f"Only suggestions were applied, and the rest was handed to a human: {found.no_sandbox}.")
    else:
        wrapped(f"Suggestions were applied as they are; the prose was the work of {stage.installation.mind.name}.")
    for one in found.missing:
        wrapped(f"missing: {one}")
    if not found.missing:
        click.echo("Everything is there: each expected fact, commit, reply and label, once.")


def _next(stage: Stage, *, keep: bool) -> None:
    if keep:
        click.echo("It is still running. In another terminal:\n")
        for line in commands(stage.installation.root, stage.scene.github.url):
            click.echo(f"  {line}")
        click.echo("\nCtrl-C ends it, and everything in it.")
        return
    amends = _called()
    for what, line in (
        ("look around in what just ran:", f"{amends} demo --keep"),
        ("set it up for a repository of yours:", f"{amends} init"),
    ):
        click.echo(f"{what:<38}{line}")


def commands(root: Path, github: str) -> Iterator[str]:
    """What can be typed while it is kept."""
    amends = _called(absolute=True)
    yield f"cd {shlex.quote(str(root))}"
    for words in (
        "loops list", f"explain '{REPOSITORY}#{RECEIPTS}'", "events tail -f", "replay --verify", "doctor --log",
        f"loops retry '{REPOSITORY}#{RECEIPTS}'",
    ):  # fmt: skip
        yield f"{amends} {words}"
    yield f"curl {github}/_double/state"


def _called(*, absolute: bool = False) -> str:
    """How this very command is called from where its caller is."""
    program = Path(sys.argv[0]).absolute()
    if not absolute and program.is_relative_to(Path.cwd()):
        program = program.relative_to(Path.cwd())
    return shlex.quote(str(program))
