"""The evaluator's sense of time: fires what is due, and wakes the loops that waited for the installation.

Firing is a report like any other: its key makes it once, it works without NATS, and late is not too late. Windows
fire at once after a start; deadlines, which are about somebody who did not answer, get a grace first, since after an
outage everybody is late.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Protocol

from amends.common.answers import Already, Answer, Recorded, Refused, Report, Unavailable
from amends.common.crash import crash_point
from amends.common.events import TimerFired
from amends.common.identity import INSTALLATION, About
from amends.common.rows import LoopRow, TimerRow
from amends.common.standing import SECOND

log = logging.getLogger(__name__)
LONGEST_NAP = 1.0
LONGEST_PAUSE = 60.0
MANY = 10_000
AT_ONCE = 500


class Reader(Protocol):
    """What the clock reads of the log."""

    def now(self) -> int: ...
    def timers(self, due_before: int | None = None, limit: int = 500) -> list[TimerRow]: ...
    def loop(self, name: str) -> LoopRow | None: ...
    def blocked(self) -> Sequence[str]: ...
    def stuck(self, other_than: str) -> Sequence[str]: ...


class Reporting(Protocol):
    """How the clock reports."""

    async def report(self, service: str, report: Report) -> Answer: ...


class Clock:
    """Looks every second, or when the next timer is due."""

    def __init__(self, log_: Reader, recorder: Reporting, code: str, grace: float = 60.0) -> None:
        self._log = log_
        self._recorder = recorder
        self._code = code
        self._grace = grace
        self._deadlines_from = time.monotonic() + grace
        self._postponed: dict[TimerRow, float] = {}
        self._pauses: dict[TimerRow, float] = {}
        self._tried: set[tuple[str, int]] = set()
        self.late = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Until stopped; an outage of the log only makes everything late. The grace begins now."""
        self._deadlines_from = time.monotonic() + self._grace
        while not stop.is_set():
            try:
                nap = await self.once()
            except Exception as error:  # noqa: BLE001 - the clock must not stop: what is due stays due
                log.warning("the clock could not look", extra={"error": f"{type(error).__name__}: {error}"[:300]})
                nap = LONGEST_NAP
            try:
                async with asyncio.timeout(nap):
                    await stop.wait()
            except TimeoutError:
                continue

    async def once(self) -> float:
        """Fire all that is due now; answers how long nothing more will be."""
        now = await asyncio.to_thread(self._log.now)  # which set the timers: this machine's clock may be another
        # What is postponed stays due, and must not keep from sight what comes after it.
        most = AT_ONCE + len(self._postponed)
        soon = await asyncio.to_thread(self._log.timers, now + int(LONGEST_NAP * SECOND), most)
        due = [timer for timer in soon if timer.due <= now and self._ready(timer)]
        self.late = len(due)
        if due:
            crash_point("clock.due")
            await asyncio.gather(*(self._fire(timer) for timer in due))
            crash_point("clock.fired")
        await self._wake()
        coming = [timer.due for timer in soon if timer.due > now]
        return max(0.01, min((min(coming) - now) / SECOND if coming else LONGEST_NAP, LONGEST_NAP))

    def _ready(self, timer: TimerRow) -> bool:
        if timer.deadline and time.monotonic() < self._deadlines_from:
            self._postponed[timer] = self._deadlines_from
        return self._postponed.get(timer, 0.0) <= time.monotonic()

    async def _fire(self, timer: TimerRow) -> None:
        fact = TimerFired(name=timer.name, generation=timer.generation)
        answer = await self._recorder.report("evaluator", Report(fact=fact, about=About(loop=timer.loop)))
        match answer:  # early by our clock, or the log is away: not at once again
            case Refused(until=float() | int() as until):
                self._postpone(timer, until)
            case Refused():  # a change of policy took it away; the loop's next event takes it out of the view, too
                pause = self._pauses[timer] = min(2 * self._pauses.get(timer, LONGEST_NAP / 2), LONGEST_PAUSE)
                self._postpone(timer, pause)
            case Unavailable():
                self._postpone(timer, LONGEST_NAP)
            case Recorded() | Already():
                pass

    def _postpone(self, timer: TimerRow, pause: float) -> None:
        if len(self._postponed) > MANY:
            self._postponed.clear()
            self._pauses.clear()
        self._postponed[timer] = time.monotonic() + pause

    async def _wake(self) -> None:
        """A change of the installation is no event of the loops that wait for it: tell each that it may go on."""
        installation = await asyncio.to_thread(self._log.loop, INSTALLATION)
        generation = installation.version if installation else 0
        if installation and not installation.blocked:
            for name in await asyncio.to_thread(self._log.blocked):
                await self._nudge(name, "wake", generation)
        for name in await asyncio.to_thread(self._log.stuck, self._code):
            await self._nudge(name, "unstick", generation)

    async def _nudge(self, name: str, why: str, generation: int) -> None:
        if (name + why, generation) in self._tried:
            return
        fact = TimerFired(name=why, generation=generation)
        answer = await self._recorder.report("evaluator", Report(fact=fact, about=About(loop=name)))
        if not isinstance(answer, Refused | Unavailable):
            self._tried.add((name + why, generation))
