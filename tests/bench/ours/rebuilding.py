"""Contender: the log read and folded by the same code as `amends replay`.

    python -m tests.bench.ours.rebuilding sqlite:///log.db 10000 events.jsonl

Fills a log through the real recorder, and writes what it holds to a file, so that the peer gets the same events. That
happens in a process of its own: `amends replay` is one, too, and its memory holds nothing of a recorder's. (The peer is
as fast after filling its own as it is afresh.)
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

from amends.common.answers import Recorded
from amends.common.envelope import Gist
from amends.common.log import Log
from amends.evaluator.recorder import Recorder
from amends.evaluator.replay import Rebuilt
from tests.bench.conversation import Measured, converse
from tests.bench.ours.recording import recording
from tests.bench.workload import EVENTS, pull_request

TOGETHER = 128
PAGE = 1_000


def main(url: str, size: int, out: Path) -> None:
    """Answer until nobody asks any more."""
    filling = get_context("spawn").Process(target=prepare, args=(url, size, out))
    filling.start()
    filling.join()
    assert filling.exitcode == 0
    log = Log(url)

    def rebuild() -> Measured:
        began, cpu = time.perf_counter(), time.process_time()
        rebuilt = Rebuilt().further(pages(log))
        return Measured(rebuilt.events, time.perf_counter() - began, time.process_time() - cpu)

    converse(rebuild)


def prepare(url: str, size: int, out: Path) -> None:
    """Make the log, and the file with its events."""
    asyncio.run(_filled(url, size))
    out.write_text("\n".join(map(_exported, pages(Log(url)))), encoding="utf-8")


def pages(log: Log) -> Iterator[Gist]:
    """The whole log, as `amends replay` reads it."""
    after = 0
    while rows := log.gists(after, PAGE):
        yield from rows
        after = rows[-1].pos


async def fill(recorder: Recorder, size: int) -> None:
    """Work off whole pull requests until there are about so many events."""
    numbers = iter(range(1, size // EVENTS + 1))
    await asyncio.gather(*(_worked_off(recorder, numbers) for _ in range(TOGETHER)))


async def _filled(url: str, size: int) -> None:
    async with recording(url) as recorder:
        await fill(recorder, size)


async def _worked_off(recorder: Recorder, numbers: Iterator[int]) -> None:
    for number in numbers:
        pos = 0
        for said in pull_request(number):
            answer = await recorder.report_raw(said.service, said.about(pos))
            assert isinstance(answer, Recorded)
            pos = answer.pos if said.decides else pos


def _exported(row: Gist) -> str:
    return json.dumps({"loop": row.loop, "type": row.type, "fact": json.loads(row.data)})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
