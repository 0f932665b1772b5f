"""Contender: the recorder on a log that already follows so many loops, each with its pull request seen.

    python -m tests.bench.ours.growing sqlite:///log.db 100000

An append is a comment on one of `active` of these loops, picked by chance: all of them, or as many as are worked on.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Iterator

from amends.common.answers import Recorded, Report
from amends.common.events import CommentAdded
from amends.common.identity import About
from amends.common.runner import runner
from amends.evaluator.recorder import Recorder
from tests.bench.conversation import Measured, converse, measured
from tests.bench.ours.recording import recording
from tests.bench.workload import MORNING, REPO, REVIEWER, pull_request

TOGETHER = 256


class Growing:
    """A recorder and the loops that it knows."""

    def __init__(self, recorder: Recorder, loops: int) -> None:
        self._recorder = recorder
        self._loops = loops
        self._chance = random.Random(1)
        self._comments = 0

    async def fill(self) -> None:
        """Open all the loops."""
        numbers = iter(range(1, self._loops + 1))
        await asyncio.gather(*(self._opened(numbers) for _ in range(TOGETHER)))

    async def append(self, lanes: int, count: int, active: int) -> Measured:
        """So many comments, so many in flight."""
        reports = [self._comment(self._chance.randint(1, active)) for _ in range(count)]
        took: list[float] = []
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(self._said(reports, took) for _ in range(lanes)))
        return measured(time.perf_counter() - began, time.process_time() - cpu, took)

    async def _opened(self, numbers: Iterator[int]) -> None:
        for number in numbers:
            seen = pull_request(number, 1)[0]
            await self._recorder.report_raw(seen.service, seen.raw)

    async def _said(self, reports: list[Report], took: list[float]) -> None:
        while reports:
            now = time.perf_counter()
            answer = await self._recorder.report("gateway", reports.pop())
            took.append(time.perf_counter() - now)
            assert isinstance(answer, Recorded)

    def _comment(self, number: int) -> Report:
        self._comments += 1
        fact = CommentAdded(
            kind="thread", root=1, comment=1, node="PRRC_1", author=REVIEWER, body=f"{self._comments:040x}",
            updated_at=MORNING,
        )  # fmt: skip
        return Report(fact=fact, about=About(repo=REPO, number=number))


def main(url: str, loops: int) -> None:
    """Answer until nobody asks any more."""
    with runner() as running:
        ready = recording(url)
        growing = Growing(running.run(ready.__aenter__()), loops)
        running.run(growing.fill())
        converse(lambda **load: running.run(growing.append(**load)))
        running.run(ready.__aexit__(None, None, None))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
