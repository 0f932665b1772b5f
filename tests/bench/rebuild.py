"""Rebuilding the state of every loop from its events, beside eventsourcing. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.contender import OURS, Contender, contender
from tests.bench.environment import peers
from tests.bench.figures import Score, effort, middle, row, title

SIZES = (10_000, 100_000)
READING = "SQLite, read only"


def compare(score: Score, folder: Path, rounds: int, seconds: float) -> None:
    """Both sizes; `seconds` is not needed, for the work is fixed."""
    del seconds
    for size in SIZES:
        with _contenders(folder, size) as contenders:
            for one in contenders:
                one.ask()
            asked = [[one.ask() for one in contenders] for _ in range(rounds)]
        title(f"State of {size:,} events rebuilt, {asked[0][0].count:,} in fact (median of {rounds} rounds)")
        took = []
        for one, figures in zip(contenders, zip(*asked, strict=True), strict=True):
            took.append(middle(figures, lambda each: each.seconds / each.count))
            total, cpu = took[-1] * figures[0].count, middle(figures, effort)
            row(one.name, READING, f"{total * 1e3:.0f} ms", f"{took[-1] * 1e6:.1f} us/event", f"CPU {cpu * 1e6:.1f} us")
        score.at_least(f"rebuild of {size:,} events, eventsourcing / amends in time", took[1] / took[0], 2, 10)


@contextmanager
def _contenders(folder: Path, size: int) -> Iterator[tuple[Contender, Contender]]:
    events = folder / f"{size}.jsonl"
    ours = f"sqlite:///{folder / f'ours-{size}.db'}"
    with contender("amends", READING, OURS, "tests.bench.ours.rebuilding", ours, str(size), events) as amends:
        database = folder / f"theirs-{size}.db"
        with contender("eventsourcing", READING, peers(), "tests.bench.peers.eventsourced", database, events) as other:
            yield amends, other
