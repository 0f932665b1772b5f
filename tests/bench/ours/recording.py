"""Contender: the evaluator's real recorder in this process. Each lane works off one pull request after the other.

    python -m tests.bench.ours.recording sqlite:///log.db

A step is one report as it comes from the wire, recorded with its decisions and answered after COMMIT.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

from amends.common.answers import Recorded
from amends.common.runner import runner
from amends.evaluator.migrate import migrate
from amends.evaluator.recorder import Recorder
from amends.evaluator.writer import Writer
from tests.bench.conversation import Measured, converse, measured
from tests.bench.ours.tending import tended
from tests.bench.workload import BLOBS, Said, allowed, pull_request

APART = 2  # steps between two pull requests in flight, so that they are not all at the same step
MOST = 500  # pull requests that may be needed in a second


@dataclass
class Pull:
    """A pull request in flight: what is still to be reported, the next last, and where something was decided last."""

    saids: list[Said]
    pos: int = 0


class Lanes:
    """Pull requests in flight. They go on where they were in the round before."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._numbers = count(1)
        self._made: list[Pull] = []
        self._open: list[Pull] = []

    async def run(self, lanes: int, seconds: float) -> Measured:
        """Keep so many in flight for so long."""
        while len(self._made) < MOST * seconds:
            self._made.append(Pull(pull_request(next(self._numbers))[::-1]))
        while len(self._open) < lanes:
            self._open.append(self._made.pop())
            for _ in range(APART * len(self._open)):
                await self._step(self._open[-1])
        took: list[float] = []
        began, cpu = time.perf_counter(), time.process_time()
        running = (self._lane(pull, began + seconds, took) for pull in self._open[:lanes])
        self._open[:lanes] = await asyncio.gather(*running)
        return measured(time.perf_counter() - began, time.process_time() - cpu, took)

    async def _lane(self, pull: Pull, until: float, took: list[float]) -> Pull:
        while (now := time.perf_counter()) < until:
            if not pull.saids:
                pull = self._made.pop()
            await self._step(pull)
            took.append(time.perf_counter() - now)
        return pull

    async def _step(self, pull: Pull) -> None:
        said = pull.saids.pop()
        answer = await self._recorder.report_raw(said.service, said.about(pull.pos))
        if not isinstance(answer, Recorded):
            raise TypeError(f"{said} was answered {answer}")
        if said.decides:
            pull.pos = answer.pos


@asynccontextmanager
async def recording(url: str) -> AsyncIterator[Recorder]:
    """A recorder on a new log, with the policy and the blobs that the workload needs."""
    migrate(url)
    writer = Writer(url)
    recorder = Recorder(writer)
    recorder.start()
    recorder.open()
    policy = allowed()
    await recorder.report_raw(policy.service, policy.raw)
    for blob in BLOBS:
        await recorder.put(blob)
    async with tended(writer):
        yield recorder
    await asyncio.to_thread(recorder.close)


def main(url: str) -> None:
    """Answer until nobody asks any more."""
    with runner() as running:
        ready = recording(url)
        lanes = Lanes(running.run(ready.__aenter__()))
        converse(lambda **load: running.run(lanes.run(**load)))
        running.run(ready.__aexit__(None, None, None))


if __name__ == "__main__":
    main(sys.argv[1])
