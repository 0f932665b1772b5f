"""The way through the mirror: from COMMIT to a worker's handler, and the time that an empty mirror takes to fill."""

from __future__ import annotations

from pathlib import Path

from tests.bench.contender import OURS, contender
from tests.bench.figures import Score, effort, middle, pace, row, title
from tests.bench.steps import SQLITE

EVENTS = 50_000
DELIVERIES = 500
MIRROR = "JetStream, file (a mirror: durable is the log)"


def compare(score: Score, folder: Path, rounds: int, seconds: float) -> None:
    """Both; no peer has these two."""
    count, size = round(DELIVERIES * seconds / 2), round(EVENTS * seconds / 2)
    module = "tests.bench.ours.mirroring"
    with contender("amends", SQLITE, OURS, module, folder, str(size)) as amends:
        asked = [(amends.ask(what="delivery", count=count), amends.ask(what="refill", count=0)) for _ in range(rounds)]
    deliveries, refills = map(list, zip(*asked, strict=True))
    title(f"From COMMIT to the worker's handler, one at a time (median of {rounds} rounds)")
    p50 = middle(deliveries, lambda each: each.p50) * 1e3
    row("amends", SQLITE, f"p50 {p50:.2f} ms", f"p99 {middle(deliveries, lambda each: each.p99) * 1e3:.2f} ms")
    score.at_most("milliseconds from COMMIT to the handler, p50", p50, 3)
    title(f"A wiped mirror refilled, {refills[0].count:,} events (median of {rounds} rounds)")
    row("amends", MIRROR, f"{middle(refills, pace):.0f} events/s", f"CPU {middle(refills, effort) * 1e6:.0f} us")
    score.at_least("events a second into a wiped mirror", middle(refills, pace), 20_000)
