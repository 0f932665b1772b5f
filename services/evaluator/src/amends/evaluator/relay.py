"""Log to mirror: publish what the mirror lacks, and stop loudly when the two are not one history.

The mirror's last sequence is the only checkpoint. Whatever goes wrong, the next pass looks again and needs no repair.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from amends.common.bus.mirror import Overtaken, State
from amends.common.crash import crash_point
from amends.common.envelope import Row
from amends.evaluator.fork import ForeignMirrorError, ForkError, Head, MirrorAheadError, one_history

_LOG = logging.getLogger(__name__)

_OVERTAKEN = 10  # times at the same position; a cluster's look may be older than its refusal

Standing = Literal["starting", "mirroring", "failing", "forked", "ahead", "foreign", "damaged"]


class Log(Protocol):
    """What is read of the log; each call may block, and may fail."""

    def head(self) -> Head: ...
    def rows(self, after: int, limit: int) -> Sequence[Row]: ...
    def row(self, pos: int) -> Row | None: ...
    def oldest_outstanding(self) -> Mapping[str, int]: ...


class Mirror(Protocol):
    """What is asked of the mirror."""

    async def state(self) -> State | None: ...
    async def create(self, first: int, epoch: str) -> State: ...
    async def row_at(self, seq: int) -> Row | None: ...
    async def publish(self, rows: Sequence[Row]) -> None: ...


class Consumers(Protocol):
    """Who sees to it that every service has its durable."""

    async def ensure(self, oldest: Mapping[str, int], first: int) -> tuple[str, ...]: ...


class GapError(Exception):
    """The log itself lacks a position: it was damaged."""


_STANDING: dict[type[Exception], Standing] = {
    ForkError: "forked",
    MirrorAheadError: "ahead",
    ForeignMirrorError: "foreign",
    GapError: "damaged",
}
STOPPED = tuple(_STANDING)  # what it stops for: an operator has to see to it


@dataclass(frozen=True)
class Pace:
    """How often it looks, in seconds. Between looks a wake, or what other evaluators recorded, is published at once."""

    poll: float = 0.2
    look: float = 5.0
    retry: float = 0.1
    batch: int = 500


_USUAL = Pace()


class Relay:
    """Keeps the mirror up with the log. Two of them at once only waste work: the server refuses the later copy."""

    def __init__(self, log: Log, mirror: Mirror, consumers: Consumers, pace: Pace = _USUAL) -> None:
        self.standing: Standing = "starting"
        self.mirrored = 0
        self.head = 0
        self.error = ""
        self.drift: tuple[str, ...] = ()
        self._log = log
        self._mirror = mirror
        self._consumers = consumers
        self._pace = pace
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reached: int | None = None
        self._looked = float("-inf")
        self._overtaken = (-1, 0)

    @property
    def lag(self) -> int:
        """How many events the mirror lacks, as far as we know."""
        return max(0, self.head - self.mirrored)

    def wake(self) -> None:
        """Something was recorded. From any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended: nobody is left to wake
                self._loop.call_soon_threadsafe(self._woken.set)

    def look_again(self) -> None:
        """The connection was lost: what we knew of the mirror may not be so any more."""
        self._looked = float("-inf")
        self._woken.set()

    async def handshake(self) -> None:
        """One full pass, however long it takes to get through; before it no report may be accepted."""
        while True:
            if await self._passed():
                return
            await asyncio.sleep(self._pace.retry)

    async def run(self) -> None:
        """Mirror for ever; raises only what an operator must see to."""
        self._loop = asyncio.get_running_loop()
        while True:
            self._woken.clear()
            if not await self._passed():
                await asyncio.sleep(self._pace.retry)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.poll):
                    await self._woken.wait()

    async def finish(self, seconds: float = 2.0) -> None:
        """A last pass, when nothing more is recorded: what a crash would leave behind, a stop need not."""
        self._looked = float("-inf")  # `run` may have been cancelled after it published
        with suppress(TimeoutError, *STOPPED):
            async with asyncio.timeout(seconds):
                await self._passed()

    async def _passed(self) -> bool:
        try:
            await self._pass()
        except STOPPED as error:
            self.standing, self.error = _STANDING[type(error)], str(error)
            _LOG.critical("the relay stops", extra={"standing": self.standing, "error": self.error})
            raise
        except Overtaken as error:
            # Another evaluator was faster, which the next looks show; if they do not, something is wrong.
            at, times = self._overtaken
            self._overtaken = self.mirrored, times + 1 if at == self.mirrored else 1
            if self._overtaken[1] > _OVERTAKEN:
                self._failed(error)
            self._looked = float("-inf")
            return False
        except Exception as error:  # noqa: BLE001 - whatever it was: the next pass starts from what the mirror has
            self._failed(error)
            return False
        self.standing, self.error = "mirroring", ""
        return True

    def _failed(self, error: Exception) -> None:
        if self.standing != "failing":
            _LOG.warning("the relay cannot mirror", extra={"error": repr(error)})
        self.standing, self.error = "failing", str(error) or repr(error)
        self._looked = float("-inf")

    async def _pass(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._looked >= self._pace.look:
            await self._look()
            self._looked = now
        while rows := await asyncio.to_thread(self._log.rows, self.mirrored, self._at_once()):
            if [row.pos for row in rows] != list(range(self.mirrored + 1, self.mirrored + 1 + len(rows))):
                raise GapError(f"the log has a gap behind position {self.mirrored}: run `amends doctor --log`")
            crash_point("relay.read")
            self.head = max(self.head, rows[-1].pos)
            await self._mirror.publish(rows)
            crash_point("relay.published")
            self.mirrored = self._reached = rows[-1].pos

    def _at_once(self) -> int:
        """How many rows to publish; where that was refused one alone, because only of the first it is said why."""
        return 1 if self._overtaken[0] == self.mirrored else self._pace.batch

    async def _look(self) -> None:
        self.head = (await asyncio.to_thread(self._log.head)).pos  # so that the lag shows while the mirror is away
        state = await self._mirror.state()
        # Read again behind the mirror's state: whatever was mirrored by then had been committed.
        head = await asyncio.to_thread(self._log.head)
        oldest = await asyncio.to_thread(self._log.oldest_outstanding)
        # What nobody can have seen: behind all that we ever mirrored, else behind what was there when we came.
        before = head.pos if state is None else state.last
        first = (before if self._reached is None else min(before, self._reached)) + 1
        if state is None:
            # At what nobody has seen or answered, and always with one event to know the log by.
            state = await self._mirror.create(max(1, min([head.pos, first, *oldest.values()])), head.epoch)
        self.head, self.drift = head.pos, state.drift
        await one_history(state, head, self._log, self._mirror)
        self.drift += await self._consumers.ensure(oldest, first)
        self.mirrored = state.last
        self._reached = max(self._reached or 0, state.last)
