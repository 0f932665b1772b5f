"""The shell around every service's work: receive, handle, report, acknowledge, in that order, one event at a time.

How an event ends: the handler returns facts, which are reported, and it is done. It raises Later, and it is put off.
It raises Never, or anything else for the last time, and it is parked: first the log knows, then the bus forgets.
Attempts are all earlier deliveries but those that were put off, so a worker that dies over an event is counted too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from amends.common.answers import Already, Recorded, Recorder, Refused, Report, Unavailable
from amends.common.delivery import Delivery, Inbox, Later, Never
from amends.common.envelope import Event, UnknownFactError, event_of
from amends.common.events import AnyFact, DeliveryParked, Reporter
from amends.common.github.text import name
from amends.common.identity import About
from amends.common.patience import report_until_answered

_LOG = logging.getLogger(__name__)


class Overdue(Exception):
    """The handler took longer than anything may take."""


class RefusedReport(Exception):
    """The recorder does not take what the handler found out."""


Handler = Callable[[Event], Awaitable[Sequence[AnyFact | Report]]]
_Ending = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Pace:
    """How long things may take, in seconds, and after how many failed attempts an event is parked."""

    heartbeat: float = 15.0
    attempts: int = 20
    backoff: float = 1.0
    longest_backoff: float = 300.0
    longest: float = 7_200.0
    unready: float = 30.0
    grace: float = 20.0


_USUAL = Pace()


class Worker:
    """Works for one service until it is stopped. A service that may do more at once runs more of them."""

    def __init__(
        self, service: Reporter, handler: Handler, recorder: Recorder, inbox: Inbox, pace: Pace = _USUAL
    ) -> None:
        self._service = service
        self._handler = handler
        self._recorder = recorder
        self._inbox = inbox
        self._pace = pace
        self._stopping = False
        self._in_hand: asyncio.Task[_Ending] | None = None
        self._trouble = "ok"

    def health(self) -> dict[str, str]:
        """One entry per check: `ok`, or what is wrong."""
        return {**self._inbox.health(), "work": self._trouble}

    async def run(self) -> None:
        """Work until `stop`."""
        await self._inbox.open()
        while (delivery := await self._inbox.next()) is not None:
            await (delivery.put_off(0) if self._stopping else self._take(delivery))

    async def stop(self) -> None:
        """Take nothing more, finish what is in hand or hand it back."""
        self._stopping = True
        await self._inbox.close()
        if self._in_hand is not None:
            _, late = await asyncio.wait({self._in_hand}, timeout=self._pace.grace)
            for task in late:
                task.cancel()

    async def _take(self, delivery: Delivery) -> None:
        self._in_hand = asyncio.create_task(self._judged(delivery))
        beating = asyncio.create_task(self._beat(delivery))
        try:
            await asyncio.wait({self._in_hand})
        finally:
            # Before the last word: a heartbeat behind it would be taken for a new beginning.
            beating.cancel()
            self._in_hand.cancel()
        if self._in_hand.cancelled():
            await delivery.put_off(0)
        else:
            await self._in_hand.result()()

    async def _beat(self, delivery: Delivery) -> None:
        while True:
            await asyncio.sleep(self._pace.heartbeat)
            await delivery.alive()

    async def _judged(self, delivery: Delivery) -> _Ending:
        put_off = await delivery.times_put_off() if delivery.number > 1 else 0
        if put_off is None:
            return partial(delivery.put_off, self._pace.unready)
        failures = max(0, delivery.number - 1 - put_off)
        if failures >= self._pace.attempts:
            return await self._parked(delivery, "no attempt came to its end: the worker died over it")
        error = await self._worked(delivery)
        self._say(delivery, error)
        match error:
            case None:
                return delivery.done
            case Later():
                return partial(delivery.put_off, error.delay)
            case Never():
                return await self._parked(delivery, f"Never: {error}")
            case _ if failures + 1 >= self._pace.attempts:
                return await self._parked(delivery, f"{type(error).__name__}: {error}")
            case _:
                return partial(delivery.again, min(self._pace.backoff * 2**failures, self._pace.longest_backoff))

    async def _worked(self, delivery: Delivery) -> BaseException | None:
        task = asyncio.create_task(self._work(delivery))
        try:
            done, _ = await asyncio.wait({task}, timeout=self._pace.longest)
        finally:
            task.cancel()
            await asyncio.wait({task}, timeout=self._pace.grace)
        if not done:
            return Overdue(f"it did not end within {self._pace.longest:g} s")
        return Overdue("it was cancelled from within") if task.cancelled() else task.exception()

    async def _work(self, delivery: Delivery) -> None:
        try:
            event = event_of(delivery.row())
        except (UnknownFactError, ValueError, KeyError) as error:
            raise Never(f"it cannot be read here ({error})") from error
        for said in await self._handler(event):
            await self._report(addressed(event, said))

    async def _report(self, report: Report) -> None:
        match await report_until_answered(self._recorder, report):
            case Recorded() | Already() | Refused(reason="superseded"):
                return
            case Refused(reason="busy" | "not_ready") as refused:
                raise Later(refused.until or self._pace.unready, f"{refused.reason}: {refused.detail}")
            case Refused() as refused:
                raise RefusedReport(f"{report.fact.type}: {refused.reason}: {refused.detail}")
            case Unavailable() as unavailable:
                raise Later(self._pace.unready, unavailable.detail)

    async def _parked(self, delivery: Delivery, error: str) -> _Ending:
        why = name(error)  # an error may hold anything, and what the log does not take could never be parked
        fact = DeliveryParked(of=delivery.pos, service=self._service, error=why, deliveries=delivery.number)
        report = Report(fact=fact, about=About(loop=delivery.loop), cause=delivery.pos)
        match await report_until_answered(self._recorder, report):
            case Recorded() | Already():
                return partial(delivery.drop, why)
            case answer:
                self._trouble = f"position {delivery.pos} cannot be parked: {answer}"
                _LOG.error("an event cannot be parked", extra={"of": delivery.pos, "answer": str(answer)})
                return partial(delivery.put_off, self._pace.longest_backoff)

    def _say(self, delivery: Delivery, error: BaseException | None) -> None:
        self._trouble = "ok" if error is None or isinstance(error, Later) else f"{type(error).__name__}: {error}"[:400]
        if error is not None:
            level = logging.INFO if isinstance(error, Later) else logging.WARNING
            words = {"of": delivery.pos, "loop": delivery.loop, "delivery": delivery.number, "error": repr(error)[:400]}
            _LOG.log(level, "an event was not worked off", extra=words)


def addressed(event: Event, said: AnyFact | Report) -> Report:
    """What a handler said, as a report: a bare fact is about the event's own loop."""
    if isinstance(said, Report):
        return said
    return Report(fact=said, version=said.schema_version, about=About(loop=event.loop), cause=event.pos)
