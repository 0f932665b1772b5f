"""GitHub's limits on what writes: one at a time, a second apart, so many in a minute and in an hour."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from amends.common.github.errors import Limited

MINUTE, HOUR = 60.0, 3_600.0


@dataclass(frozen=True)
class Rate:
    """How fast an installation may write; a little below what GitHub allows: 80 in a minute, 500 in an hour."""

    apart: float = 1.0
    per_minute: int = 70
    per_hour: int = 450


class Pacer:
    """Lets the writes of one installation through one by one. A short wait is waited out, a long one is for later."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._turn = asyncio.Lock()
        self._made: deque[float] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """For the length of one write."""
        async with self._turn:
            if (wait := self.wait()) > self._rate.apart:
                raise Limited(wait, f"enough was written for now: again in {wait:.0f} s")
            await asyncio.sleep(wait)
            try:
                yield
            finally:
                self._made.append(self._clock())

    def wait(self) -> float:
        """Seconds until the next write may be made."""
        now = self._clock()
        while self._made and self._made[0] <= now - HOUR:
            self._made.popleft()
        waits = [0.0]
        if self._made:
            waits.append(self._made[-1] + self._rate.apart - now)
        for most, span in ((self._rate.per_minute, MINUTE), (self._rate.per_hour, HOUR)):
            if len(self._made) >= most:
                waits.append(self._made[-most] + span - now)
        return max(waits)
