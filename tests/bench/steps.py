"""Durable steps a second and the latency of one, beside DBOS. Every answer is on the disk before it is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.bench.contender import OURS, Contender, contender
from tests.bench.conversation import Measured
from tests.bench.environment import peers
from tests.bench.figures import Score, effort, middle, pace, row, title
from tests.bench.workload import pull_request
from tests.support.postgres import private_server

IN_FLIGHT = 16
SQLITE = "SQLite, WAL, synchronous=FULL (fsync)"
POSTGRES = "PostgreSQL, fsync=on, synchronous_commit=on"
Rounds = dict[str, list[Measured]]


def compare(score: Score, folder: Path, rounds: int, seconds: float) -> None:
    """Both comparisons, in one run."""
    with _contenders(folder) as contenders:
        for one in contenders:
            one.ask(lanes=IN_FLIGHT, seconds=seconds / 2)
        many, single = _measured(contenders, rounds, seconds)
    _print(f"Durable steps, {IN_FLIGHT} loops in flight (median of {rounds} rounds)", contenders, many)
    ours, _, dbos = (middle(many[one.name], pace) for one in contenders)
    score.at_least("steps per second, amends on SQLite / DBOS on PostgreSQL", ours / dbos, 10, 30)
    ours, _, dbos = (middle(many[one.name], effort) for one in contenders)
    print(f"         CPU time per step, DBOS / amends: {dbos / ours:.3g}")
    _print(f"Durable steps, one at a time (median of {rounds} rounds)", contenders, single)
    ours, _, dbos = (middle(single[one.name], _p50) for one in contenders)
    score.at_most("p50 of one step, amends on SQLite / DBOS on PostgreSQL", ours / dbos, 0.25, 0.1)


@contextmanager
def _contenders(folder: Path) -> Iterator[tuple[Contender, Contender, Contender]]:
    reports = folder / "reports.jsonl"
    reports.write_text("\n".join(said.raw.decode() for said in pull_request(1)), encoding="utf-8")
    recording, dbos = "tests.bench.ours.recording", "tests.bench.peers.dbos_steps"
    with private_server(fsync=True) as server, ExitStack() as running:
        store = server.process.pid
        yield (
            running.enter_context(contender("amends", SQLITE, OURS, recording, f"sqlite:///{folder / 'log.db'}")),
            running.enter_context(contender("amends (PG)", POSTGRES, OURS, recording, server.database(), store=store)),
            running.enter_context(contender("DBOS", POSTGRES, peers(), dbos, server.database(), reports, store=store)),
        )  # fmt: skip


def _measured(contenders: tuple[Contender, ...], rounds: int, seconds: float) -> tuple[Rounds, Rounds]:
    many: Rounds = {one.name: [] for one in contenders}
    single: Rounds = {one.name: [] for one in contenders}
    for _ in range(rounds):
        for one in contenders:
            many[one.name].append(one.ask(lanes=IN_FLIGHT, seconds=seconds))
        for one in contenders:
            single[one.name].append(one.ask(lanes=1, seconds=seconds))
    return many, single


def _p50(measured: Measured) -> float:
    return measured.p50


def _print(heading: str, contenders: tuple[Contender, ...], figures: Rounds) -> None:
    title(heading)
    for one in contenders:
        rounds = figures[one.name]
        row(
            one.name, one.durability,
            f"{middle(rounds, pace):.0f} steps/s",
            f"p50 {middle(rounds, _p50) * 1e3:.2f} ms",
            f"p99 {middle(rounds, lambda each: each.p99) * 1e3:.2f} ms",
            f"CPU {middle(rounds, effort) * 1e6:.0f} us",
        )  # fmt: skip
