"""One event in hand, as JetStream delivered it, and the notes of what was put off."""

from __future__ import annotations

import json
import logging

from nats.aio.msg import Msg

from amends.common.bus.consumers import DEFERRED
from amends.common.bus.jetstream import NANOSECONDS
from amends.common.bus.link import Link, Unanswered, status
from amends.common.effects import effect
from amends.common.envelope import Row, row_from

_LOG = logging.getLogger(__name__)


class BusDelivery:
    """An event in hand, as JetStream delivered it."""

    def __init__(self, link: Link, service: str, message: Msg) -> None:
        self._link = link
        self._message = message
        metadata = message.metadata
        self._note = f"deferred.{service}.{metadata.sequence.stream}"
        self.pos = metadata.sequence.stream
        self.number = metadata.num_delivered
        self.loop = message.subject.split(".")[1]

    def row(self) -> Row:
        """The event as it is stored."""
        try:
            row = row_from(self._message.data)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no event of a log ({error!r})") from error
        if row.pos != self.pos:
            raise ValueError(f"the event of position {row.pos} is at {self.pos} in the mirror")
        return row

    async def times_put_off(self) -> int | None:
        """What was noted last time; a note of an earlier life of the consumer does not count."""
        try:
            note = await self._link.request(f"$JS.API.DIRECT.GET.{DEFERRED}.{self._note}")
        except Unanswered:
            return None
        if status(note):
            return 0
        try:
            delivery, times = map(int, note.data.split(b" "))
        except ValueError:
            return 0  # not one of ours
        return times if delivery < self.number else 0

    async def alive(self) -> None:
        """Start the time for an acknowledgement again."""
        await self._tell(b"+WPI")

    async def done(self) -> None:
        """Acknowledge, and know that it arrived."""
        await self._tell(b"+ACK")

    async def again(self, delay: float) -> None:
        """Have it delivered again; never without a delay but to hand it to somebody else."""
        await self._tell(b"-NAK " + json.dumps({"delay": round(delay * NANOSECONDS)}).encode() if delay else b"-NAK")

    async def put_off(self, delay: float) -> None:
        """Note that this delivery was no attempt, then have it delivered again."""
        times = await self.times_put_off() if self.number > 1 else 0
        try:
            with effect("note", self._message.subject):
                await self._link.request(self._note, f"{self.number} {(times or 0) + 1}".encode())
        except Unanswered as unanswered:
            _LOG.warning("what was put off counts as an attempt", extra={"of": self.pos, "error": str(unanswered)})
        await self.again(delay)

    async def drop(self, reason: str) -> None:
        """End its deliveries, with the reason for who looks at the bus."""
        await self._tell(f"+TERM {' '.join(reason.split())[:200]}".encode())

    async def _tell(self, word: bytes) -> None:
        try:
            with effect("ack", (word, self._message.subject)):
                await self._link.request(self._message.reply, word, seconds=2)
        except Unanswered as unanswered:  # then it is delivered again, and what it caused is known by its key
            _LOG.warning("the bus was not told", extra={"of": self.pos, "error": str(unanswered)})
