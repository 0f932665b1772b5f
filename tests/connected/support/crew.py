"""The services that work on pull requests, as one real process: the worker shell around canned hands.

    python -m tests.connected.support.crew nats://127.0.0.1:4222 forge.log 0.05

What they do to the outside goes into a file, the forge: each looks there before it acts, and leaves its key there.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from amends.common.answers import Already, Go, Recorded, Recorder, Refused, Report, Unavailable
from amends.common.bus.inbox import BusInbox, Watch
from amends.common.bus.link import Link
from amends.common.bus.reporter import NatsRecorder
from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import (
    AnyFact,
    CommandGiven,
    CommentsFetched,
    Failure,
    FixFailed,
    FixRequested,
    FixStarted,
    PushRequested,
    Reporter,
    ResolveFinished,
    ResolveRequested,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
)
from amends.common.identity import About
from amends.common.patience import report_until_answered
from amends.common.worker import Pace, Worker
from tests.faults.support.team import looked_up, pull_of, told_of

RUN = f"run-{os.getpid()}-{time.time_ns()}"
PACE = Pace(heartbeat=0.5, backoff=0.1, unready=0.5, grace=5)
ACK_SECONDS = 2.0
WATCH = Watch(expires=5, heartbeat=1, look=2, pause=0.1, ack_wait=ACK_SECONDS)


@dataclass(frozen=True)
class Forge:
    """The outside: lines of a file, each an effect with its key."""

    file: Path

    def found(self, key: str) -> bool:
        """Whether this was done already."""
        return self.file.exists() and f"{key}\n" in self.file.read_text().splitlines(keepends=True)

    def do(self, key: str) -> None:
        """Do it, whether or not it was done already."""
        with self.file.open("a") as file:
            file.write(f"{key}\n")


@dataclass(frozen=True)
class Hands:
    """What each service does about an event. Work takes its time, so that it can be cut off."""

    recorder: Recorder
    forge: Forge
    seconds: float

    async def fetch(self, event: Event) -> Sequence[AnyFact]:
        """The comment-fetcher's."""
        await asyncio.sleep(self.seconds)
        match event.fact:
            case ReviewRejected() | ReviewApproved() | ReviewCommented() | CommandGiven() as asked:
                return [looked_up(asked)]
            case FixRequested() as request:
                pull = pull_of(event.loop)
                texts = await self.recorder.put(pull.contents(request.n, request.k, "texts"))
                return [pull.collected(request, texts)]
            case _:
                return []

    async def fix(self, event: Event) -> Sequence[AnyFact]:
        """The fixer's: it claims before it works, and says so when an earlier life of it had begun."""
        fetched = event.fact
        assert isinstance(fetched, CommentsFetched)
        claim = FixStarted(n=fetched.n, k=fetched.k, holder="fixer/0", run=RUN)
        report = Report(fact=claim, about=About(loop=event.loop), cause=event.pos)
        answer = await report_until_answered(self.recorder, report)
        claimed = answer.fact if isinstance(answer, Already) else claim
        if isinstance(answer, Refused) and answer.reason == "busy":
            raise Later(answer.until or 0.5, answer.detail)
        if not isinstance(answer, Recorded | Already) or not isinstance(claimed, FixStarted):
            return []
        if claimed.run != RUN:
            return [FixFailed(n=fetched.n, k=fetched.k, run=claimed.run, reason=Failure.CRASHED)]
        return await self._fixed(event, fetched)

    async def _fixed(self, event: Event, fetched: CommentsFetched) -> Sequence[AnyFact]:
        await asyncio.sleep(self.seconds)
        pull = pull_of(event.loop)
        blob = await self.recorder.put(pull.contents(fetched.n, fetched.k, "mended"))
        return [pull.prepared(fetched, RUN, blob)]

    async def publish(self, event: Event) -> Sequence[AnyFact]:
        """The publisher's: a commit with a trailer, looked for before it is pushed; threads, looked at as well."""
        match event.fact:
            case PushRequested(n=n) as request:
                done = await self._once(event, f"commit {event.loop}/cycle/{n}")
                return [pull_of(event.loop).pushed(request)] if done else []
            case ResolveRequested(n=n):
                await self._once(event, f"resolve {event.loop}/cycle/{n}")
                return [ResolveFinished(n=n)]
            case _:
                return []

    async def tell(self, event: Event) -> Sequence[AnyFact]:
        """The notifier's: a comment with a marker, looked for before it is posted."""
        if not event.fact.type.startswith(("cycle.", "review.requested", "escalated", "loop.")):
            return []
        return [told_of(event.pos)] if await self._once(event, f"comment {event.loop}/{event.key}") else []

    async def _once(self, event: Event, key: str) -> bool:
        """Look, ask, and only then act; whether it is done."""
        if self.forge.found(key):
            return True
        answer = await self.recorder.may(event.pos)
        if isinstance(answer, Unavailable):
            raise Later(0.2, answer.detail)
        if isinstance(answer, Go):
            await asyncio.sleep(self.seconds)
            self.forge.do(key)
            await asyncio.sleep(self.seconds)
        return isinstance(answer, Go)


async def work(nats_url: str, forge: Forge, seconds: float) -> None:
    """Until a signal; then what is in hand is finished, and nothing is left lying about."""
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    links, workers = [], []
    for service, job in SERVICES.items():
        links.append(await Link(nats_url, service).open())
        recorder = NatsRecorder(links[-1], service, seconds=1)
        hands = Hands(recorder, forge, seconds)
        workers.append(Worker(service, job(hands), recorder, BusInbox(links[-1], service, WATCH), PACE))
    running = [asyncio.create_task(worker.run()) for worker in workers]
    sys.stderr.write("crew: at work\n")
    await stop.wait()
    await asyncio.gather(*(worker.stop() for worker in workers))
    await asyncio.gather(*running)
    for link in links:
        await link.close()


Handler = Callable[[Event], Awaitable[Sequence[AnyFact]]]
SERVICES: dict[Reporter, Callable[[Hands], Handler]] = {
    "comment-fetcher": lambda hands: hands.fetch,
    "fixer": lambda hands: hands.fix,
    "publisher": lambda hands: hands.publish,
    "notifier": lambda hands: hands.tell,
}

if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Forge(Path(sys.argv[2])), float(sys.argv[3])))
