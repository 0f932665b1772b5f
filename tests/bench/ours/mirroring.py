"""Contender: recorder, relay, an embedded nats-server and a worker in one process, as `amends up` has them.

    python -m tests.bench.ours.mirroring FOLDER 50000

Asked for `delivery`, it records pull requests one by one, and measures from COMMIT to the worker's handler. Asked for
`refill`, it mirrors the whole log to a server that has lost everything.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from amends.common.answers import Recorded
from amends.common.bus.consumers import Consumers
from amends.common.bus.embedded import EmbeddedServer
from amends.common.bus.inbox import BusInbox
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from amends.common.envelope import Event
from amends.common.events import AnyFact
from amends.common.log import Log
from amends.common.runner import runner
from amends.common.worker import Worker
from amends.evaluator.recorder import LocalRecorder, Recorder
from amends.evaluator.relay import Relay
from amends.evaluator.writer import Writer
from tests.bench.conversation import Measured, converse, measured
from tests.bench.ours.rebuilding import fill
from tests.bench.ours.recording import recording
from tests.bench.workload import allowed, pull_request

UNANSWERED = 900_000_000  # a pull request whose reviewer nobody looks up, so that a new mirror has to begin there


class Delivery:
    """One report after the other, each on its way through the mirror before the next."""

    def __init__(self) -> None:
        self._committed: dict[int, float] = {}
        self._handled: dict[int, float] = {}
        self._arrived = asyncio.Event()

    def commit(self, events: Sequence[Event]) -> None:
        """When these were committed: the recorder calls this right after COMMIT."""
        self._committed = {event.pos: time.perf_counter() for event in events}

    async def handle(self, event: Event) -> Sequence[AnyFact]:
        """What the worker does with an event: nothing."""
        self._handled[event.pos] = time.perf_counter()
        self._arrived.set()
        return ()

    async def run(self, recorder: Recorder, count: int) -> Measured:
        """So many pull requests, seen for the first time."""
        took: list[float] = []
        began, cpu = time.perf_counter(), time.process_time()
        for _ in range(count):
            said = pull_request(time.time_ns() // 1_000 % 10**9)[0]
            answer = await recorder.report_raw(said.service, said.raw)
            assert isinstance(answer, Recorded)
            while answer.pos not in self._handled:  # the relay, which polls, too, may be faster than the answer
                self._arrived.clear()
                await self._arrived.wait()
            took.append(max(0.0, self._handled.pop(answer.pos) - self._committed[answer.pos]))
        return measured(time.perf_counter() - began, time.process_time() - cpu, took)


async def delivery(url: str, count: int) -> Measured:
    """Everything in one process, on a mirror of its own."""
    delivery = Delivery()
    with tempfile.TemporaryDirectory() as store:
        async with EmbeddedServer(Path(store)) as server, relaying(url, server) as (relay, _):
            recorder = Recorder(Writer(url), (delivery.commit, lambda _: relay.wake()))
            recorder.start()
            await relay.handshake()
            recorder.open()
            log, link = Log(url), await Link(server.url("comment-fetcher"), "comment-fetcher").open()
            local = LocalRecorder(recorder, "comment-fetcher", log.blob)
            worker = Worker("comment-fetcher", delivery.handle, local, BusInbox(link, "comment-fetcher"))
            tasks = [asyncio.create_task(relay.run()), asyncio.create_task(worker.run())]
            await delivery.run(recorder, count // 5)
            found = await delivery.run(recorder, count)
            await worker.stop()
            tasks[0].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await link.close()
            await asyncio.to_thread(recorder.close)
            log.close()
    return found


async def refill(url: str) -> Measured:
    """From an empty server to a whole mirror."""
    with tempfile.TemporaryDirectory() as store:
        async with EmbeddedServer(Path(store)) as server, relaying(url, server) as (relay, mirror):
            began, cpu = time.perf_counter(), time.process_time()
            await relay.handshake()
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            state = await mirror.state()
            assert state is not None
            return Measured(state.last - state.first + 1, seconds, cpu)


@asynccontextmanager
async def relaying(url: str, server: EmbeddedServer) -> AsyncIterator[tuple[Relay, Mirror]]:
    """A relay between this log and this server, and the mirror there."""
    log, link = Log(url), await Link(server.url("evaluator"), "evaluator").open()
    mirror = Mirror(link)
    yield Relay(log, mirror, Consumers(link)), mirror
    await link.close()
    log.close()


async def prepared(folder: Path, size: int) -> tuple[str, str]:
    """Two logs: one with a history that nobody has seen, one with next to nothing in it."""
    long, short = f"sqlite:///{folder / 'long.db'}", f"sqlite:///{folder / 'short.db'}"
    async with recording(long) as recorder:
        for said in pull_request(UNANSWERED)[:2]:
            await recorder.report_raw(said.service, said.raw)
        await fill(recorder, size)
    async with recording(short) as recorder:
        await recorder.report_raw("cli", allowed().raw)
    return long, short


def main(folder: Path, size: int) -> None:
    """Answer until nobody asks any more."""
    logging.disable(logging.CRITICAL)
    with runner() as running:
        long, short = running.run(prepared(folder, size))
        converse(lambda what, count: running.run(refill(long) if what == "refill" else delivery(short, count)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
