"""All feedback of a large pull request, at 30 ms for each call, beside those who page through lists. Calls are counted.

The others learn less: REST does not say which threads are resolved, nor who edited what.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.bench.contender import OURS, ROOT, Contender, contender
from tests.bench.conversation import Measured
from tests.bench.environment import peers
from tests.bench.figures import Score, effort, middle, row, title

LATENCY = 0.03
TIMES = 5
LESS = "three lists, no resolutions"
ALL = "all, with resolutions and editors"


class Turn(NamedTuple):
    """One way of asking a contender."""

    who: Contender
    name: str
    learns: str
    first: bool = True


class Forge:
    """The double in its own process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.where = self._said()

    def requests(self) -> int:
        """How many there were so far."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._said())

    def _said(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def compare(score: Score, folder: Path, rounds: int, seconds: float) -> None:
    """In turns, round by round, so that what else the machine does hits each alike."""
    figures: dict[str, list[Measured]] = {}
    calls: dict[str, float] = {}
    with _forge() as forge, _turns(forge.where) as turns:
        for _ in range(rounds):
            for turn in turns:
                before = forge.requests()
                figures.setdefault(turn.name, []).append(turn.who.ask(times=TIMES, first=turn.first))
                calls[turn.name] = (forge.requests() - before) / TIMES
    title(
        f"All feedback of 250 inline comments, 40 reviews, 120 comments; {LATENCY * 1e3:.0f} ms a call, {rounds} rounds"
    )
    for turn in turns:
        measured = figures[turn.name]
        row(
            turn.name, turn.learns, f"{middle(measured, _p50) * 1e3:.0f} ms", f"{calls[turn.name]:g} calls",
            f"CPU {middle(measured, effort) * 1e3:.1f} ms",
        )  # fmt: skip
    ours, gidgethub = (middle(figures[name], _p50) for name in ("amends", "gidgethub"))
    score.at_most("time for all feedback, amends / gidgethub", ours / gidgethub, 0.5)
    score.at_most("calls for all feedback", calls["amends"], 6)
    score.at_most("calls for the next cycle", calls["amends, next cycle"], 3)


def _p50(measured: Measured) -> float:
    return measured.p50


@contextmanager
def _forge() -> Iterator[Forge]:
    command = [str(OURS), "-m", "tests.bench.ours.forge", str(LATENCY)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Forge(process)
        finally:
            process.kill()


@contextmanager
def _turns(where: str) -> Iterator[list[Turn]]:
    json.loads(where)  # the double says so, or it has failed
    with ExitStack() as running:

        def started(name: str, python: Path, module: str) -> Contender:
            return running.enter_context(contender(name, "", python, module, where))

        amends = started("amends", OURS, "tests.bench.ours.reading")
        yield [
            Turn(amends, "amends", ALL),
            Turn(amends, "amends, next cycle", ALL, first=False),
            Turn(started("gidgethub", peers(), "tests.bench.peers.gidgethub_reading"), "gidgethub", LESS),
            Turn(started("paging", peers(), "tests.bench.peers.paging"), "gh-style paging", LESS),
            Turn(started("PyGithub", peers(), "tests.bench.peers.pygithub_reading"), "PyGithub", LESS),
        ]
