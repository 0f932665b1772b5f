"""Of several processes of one service one is at work: whoever has the seat. The others wait for it (ADR 19).

The seat is the last message of a subject that the server replaces only for who knows what it replaces. Nobody compares
clocks: whoever waits sees that nothing was said for so long, by his own. Whoever has it says so before each effect.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import NamedTuple
from uuid import uuid4

from amends.common.bus.consumers import DEFERRED
from amends.common.bus.delivery import BusDelivery
from amends.common.bus.inbox import BusInbox
from amends.common.bus.jetstream import IN_FLIGHT, WRONG_LAST
from amends.common.bus.link import Link, Unanswered, status
from amends.common.delivery import Later
from amends.common.effects import effect
from amends.common.events import Reporter

_LOG = logging.getLogger(__name__)
_NOBODY = b"nobody"
_PAUSE = 0.5  # until a server that did not answer is asked again
_ELSEWHERE = 2.0  # until an event that came to us is given to who has the seat


class _Said(NamedTuple):
    """The last word at the seat: its number and its time as the server has them, and whose it is."""

    number: int
    time: str
    name: bytes


class Seat:
    """One process's claim to the seat of its service. `holder` is whom operators read; `silent` is in seconds."""

    def __init__(self, link: Link, service: Reporter, holder: str, silent: float) -> None:
        self.link, self.service = link, service
        self._subject = f"deferred.{service}.seat"
        self._name = f"{holder}/{uuid4().hex[:16]}".encode()
        self._silent = silent
        self._number = 0  # of our last word, while it is the last; 0 while we have no seat
        self._seen, self._since = "", monotonic()
        self._speaking = asyncio.Lock()
        self._trouble = "not looked at yet"
        self.term = 0
        self.ours, self.lost = asyncio.Event(), asyncio.Event()

    def health(self) -> str:
        """`ok`, also for who waits; or what is wrong."""
        return self._trouble

    async def keep(self) -> None:
        """Take it when it is free, and go on having it, until cancelled."""
        while True:
            try:
                async with self._speaking:
                    await (self._go_on() if self._number else self._look())
                self._trouble, pause = "ok", self._silent / 5
            except Unanswered as unanswered:
                self._trouble, pause = str(unanswered), min(_PAUSE, self._silent / 5)
                self._since = max(self._since, monotonic())  # who has it could not speak either
            await asyncio.sleep(pause)

    async def confirm(self, term: int) -> None:
        """Right before an effect: we have had the seat since `term` began. Raises Later where that is not known."""
        async with self._speaking:
            try:
                with effect("seat", "confirm"):
                    ours = self._number and term == self.term and await self._go_on()
            except Unanswered as unanswered:
                raise Later(_ELSEWHERE, f"whose turn it is was not told: {unanswered}") from unanswered
        if not ours:
            raise Later(_ELSEWHERE, "another process has the seat")

    async def leave(self) -> None:
        """Whoever waits may come at once."""
        async with self._speaking:
            if self._number:
                with suppress(Unanswered), effect("seat", "leave"):
                    await self._say(_NOBODY, self._number)
                self._lose()

    async def _look(self) -> None:
        """See whose it is; take it where that is nobody, or somebody who has been silent for long."""
        said = await self._last()
        if said.time != self._seen:
            self._seen, self._since = said.time, monotonic()
        if said.name not in {self._name, _NOBODY} and monotonic() - self._since < self._silent:
            return
        with effect("seat", "take"):
            self._number = await self._say(self._name, said.number)
        if not self._number:
            self._since = monotonic()  # somebody has just spoken, although we did not see it yet
            return
        self.term += 1
        self.lost.clear()
        self.ours.set()
        _LOG.info("it has the seat: others of its service wait", extra={"service": self.service})

    async def _go_on(self) -> bool:
        """Say that we are still there, which is taken only from who spoke last."""
        number = await self._say(self._name, self._number)
        if number:
            self._number = number
            return True
        _LOG.warning("it has the seat no more", extra={"service": self.service})
        self._lose()
        # If nothing stands there now, somebody wiped it, and whoever else waits begins to wait anew: we need not.
        self._seen, self._since = "", float("-inf")
        return False

    async def _last(self) -> _Said:
        said = await self.link.request(f"$JS.API.DIRECT.GET.{DEFERRED}.{self._subject}")
        headers = said.headers or {}
        if status(said) == "404":
            return _Said(0, "", b"")
        return _Said(int(headers.get("Nats-Sequence", 0)), headers.get("Nats-Time-Stamp", ""), said.data)

    async def _say(self, name: bytes, after: int) -> int:
        """The number of our word, which follows this one; 0 where another followed it."""
        headers = {"Nats-Expected-Last-Subject-Sequence": str(after)}
        answer = json.loads((await self.link.request(self._subject, name, headers=headers)).data)
        error = answer.get("error", {})
        if error and error.get("err_code") not in {WRONG_LAST, IN_FLIGHT}:
            raise Unanswered(f"the seat was not taken: {error.get('description', error)}")
        return 0 if error else int(answer["seq"])

    def _lose(self) -> None:
        self._number = 0
        self.ours.clear()
        self.lost.set()


class SeatedInbox:
    """Asks for events only while its process has the seat."""

    def __init__(self, inbox: BusInbox, seat: Seat) -> None:
        self._inbox = inbox
        self._seat = seat
        self._closing = asyncio.Event()

    def health(self) -> dict[str, str]:
        """One entry per check: `ok`, or what is wrong."""
        waiting = {} if self._seat.ours.is_set() else {"subscription": "ok"}
        return {**self._inbox.health(), **waiting, "seat": self._seat.health()}

    async def open(self) -> None:
        """Begin to listen."""
        await self._inbox.open()

    async def close(self) -> None:
        """Ask for no more."""
        self._closing.set()
        await self._inbox.close()

    async def next(self) -> BusDelivery | None:
        """The next event that comes while the seat is ours; None after closing, when none is left."""
        while not self._closing.is_set():
            await _either(self._seat.ours.wait(), self._closing.wait())
            came = asyncio.ensure_future(self._inbox.next())
            await _either(came, self._seat.lost.wait())
            if came.done():
                return came.result()
            await self._inbox.rest()
        return await self._inbox.next()


async def _either(*some: Awaitable[object]) -> None:
    """Wait for one of them; the others are cut off."""
    tasks = [asyncio.ensure_future(one) for one in some]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


@asynccontextmanager
async def seated(link: Link, service: Reporter, holder: str, silent: float) -> AsyncIterator[Seat]:
    """Somebody who has the seat, or waits for it, for the length of a block."""
    seat = Seat(link, service, holder, silent)
    keeping = asyncio.create_task(seat.keep())
    try:
        yield seat
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        await seat.leave()
