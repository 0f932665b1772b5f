"""`amends report`: hand-made facts, reported as a service would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from amends.cli.answers import judge, tell
from amends.cli.output import examples, formatted
from amends.cli.place import Wrong, asked, placed

if TYPE_CHECKING:
    from amends.common.answers import Answer
    from amends.common.bus.reporter import NatsRecorder
    from amends.common.events import Reporter

SERVICES = ("gateway", "comment-fetcher", "fixer", "publisher", "reviewer", "notifier", "cli")


@click.command(
    short_help="Report hand-made facts.",
    epilog=examples(
        "amends report facts.jsonl",
        "amends report - --as gateway <<'END'",
        '{"about": {"repo": 7, "number": 42},',
        ' "fact": {"type": "pr.closed", "merged": true, "updated_at": "2026-03-01T12:00:00Z"}}',
        "END",
    ),
)
@click.argument("file", type=click.File("rb"))
@click.option("--as", "service", type=click.Choice(SERVICES), default="cli", help="In whose name. [default: cli]")
@placed("data_dir", "nats_url")
@formatted
def report(file: BinaryIO, service: Reporter) -> None:
    """Report facts from a file, or from - for standard input: one JSON report, a list, or JSON lines.

    The same report again is safe: it is answered with the position where it is recorded. docs/events.md lists
    all facts.
    """
    reports = list(_reports(file.read()))
    if not reports:
        raise Wrong("there is nothing to report in it")
    answers = asked(lambda recorder: _all(recorder, reports), service)
    judge(answers)


async def _all(recorder: NatsRecorder, reports: list[bytes]) -> list[Answer]:
    answers = []
    for number, raw in enumerate(reports, 1):
        answers.append(await _one(recorder, raw))
        tell(f"report {number}", answers[-1])
    return answers


async def _one(recorder: NatsRecorder, raw: bytes) -> Answer:
    """What cannot be read is refused here already, in the recorder's own words."""
    from amends.common.answers import Malformed, parse

    try:
        return await recorder.report(parse(raw))
    except Malformed as malformed:
        return malformed.refused


def _reports(content: bytes) -> Iterator[bytes]:
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        yield from (line for line in content.splitlines() if line.strip())
        return
    if isinstance(whole, list):
        yield from (json.dumps(each).encode() for each in whole)
    else:
        yield content
