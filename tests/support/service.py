"""A service in a few lines: a publisher whose handling is a script, its recorder in memory, and quick settings."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from amends.common.answers import Already, Answer, Go, Recorded, Report, Stop, Unavailable
from amends.common.bus.inbox import Watch
from amends.common.envelope import Event
from amends.common.events import AnyFact, DeliveryParked, FixPushed, PushRequested
from amends.common.worker import Pace

ACK_WAIT = 0.4
WATCH = Watch(expires=1, heartbeat=0.1, look=0.05, pause=0.02, ack_wait=ACK_WAIT)
PACE = Pace(heartbeat=0.1, attempts=3, backoff=0.01, longest_backoff=0.1, longest=5, unready=0.02, grace=0.2)


@dataclass
class MemoryRecorder:
    """Takes facts; `script` is what it answers first."""

    facts: list[AnyFact] = field(default_factory=list)
    script: list[Answer] = field(default_factory=list)
    away: bool = False

    async def report(self, report: Report) -> Answer:
        if self.away:
            return Unavailable("away")
        if self.script:
            return self.script.pop(0)
        known = [fact.key for fact in self.facts]
        if report.fact.key in known:
            return Already(known.index(report.fact.key) + 1, report.fact)
        self.facts.append(report.fact)
        return Recorded(len(self.facts))

    async def may(self, pos: int, run: str = "") -> Go | Stop | Unavailable:
        return Go()

    async def put(self, content: bytes) -> str:
        raise NotImplementedError

    async def get(self, sha: str) -> bytes | None:
        raise NotImplementedError


@dataclass
class Publisher:
    """A service whose handling is a script: for each call an exception, or nothing for success."""

    script: list[Exception | None] = field(default_factory=list)
    seen: list[int] = field(default_factory=list)
    free: asyncio.Event = field(default_factory=asyncio.Event)
    recorder: MemoryRecorder = field(default_factory=MemoryRecorder)

    async def publish(self, event: Event) -> Sequence[AnyFact]:
        assert isinstance(event.fact, PushRequested)
        self.seen.append(event.fact.n)
        if self.script and (error := self.script.pop(0)):
            raise error
        return [FixPushed(n=event.fact.n, sha="b" * 40)]

    async def hold(self, event: Event) -> Sequence[AnyFact]:
        facts = await self.publish(event)
        await self.free.wait()
        return facts

    @property
    def pushed(self) -> list[int]:
        return [fact.n for fact in self.recorder.facts if isinstance(fact, FixPushed)]

    @property
    def parked(self) -> list[DeliveryParked]:
        return [fact for fact in self.recorder.facts if isinstance(fact, DeliveryParked)]
