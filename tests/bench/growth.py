"""What an append costs when there are very many loops, beside the same recorder with few."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from tests.bench.contender import OURS, Contender, contender
from tests.bench.conversation import Measured
from tests.bench.figures import Score, effort, middle, pace, row, title
from tests.bench.steps import IN_FLIGHT, SQLITE

FEW, MANY = 100, 100_000
COUNT = 2_000


def compare(score: Score, folder: Path, rounds: int, seconds: float) -> None:
    """Appends to loops picked from a hundred, and from all."""
    del seconds
    with ExitStack() as running:
        few, full = (running.enter_context(_filled(folder, loops)) for loops in (FEW, MANY))
        asked = [(_ask(few, FEW), _ask(full, FEW), _ask(full, MANY)) for _ in range(rounds + 1)][1:]
        memory = [one.memory() for one in (few, full)]
    title(f"An append to a log of {MANY:,} loops (median of {rounds} rounds, {IN_FLIGHT} in flight)")
    names = (f"{FEW} loops", f"{MANY:,} loops, {FEW} active", f"{MANY:,} loops, all active")
    small, large, cold = map(list, zip(*asked, strict=True))
    for name, figures in zip(names, (small, large, cold), strict=True):
        row(name, SQLITE, f"{middle(figures, pace):.0f}/s", f"CPU {middle(figures, effort) * 1e6:.0f} us")
    print(f"  memory: {memory[0] / 1e6:.0f} MB with {FEW} loops, {memory[1] / 1e6:.0f} MB with {MANY:,}")
    cost = middle(small, effort)
    score.at_most(f"CPU time of an append, {MANY:,} loops / {FEW}", middle(large, effort) / cost, 1.5, 1.1)
    score.at_most(f"the same, every append to any of {MANY:,} loops", middle(cold, effort) / cost, 1.5, 1.1)


def _filled(folder: Path, loops: int) -> AbstractContextManager[Contender]:
    url = f"sqlite:///{folder / f'{loops}.db'}"
    return contender(f"{loops} loops", SQLITE, OURS, "tests.bench.ours.growing", url, str(loops))


def _ask(one: Contender, active: int) -> Measured:
    return one.ask(lanes=IN_FLIGHT, count=COUNT, active=active)
