"""What the evaluator answers to requests from outside its process: reports, questions, blobs and requeues."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from amends.common.answers import Answer, Followed, Go, Refused, Report, Stop, Unavailable
from amends.common.bus.wire import CHUNK, Chunk, Requeued
from amends.common.crash import crash_point
from amends.common.envelope import Row, event_of
from amends.common.events import (
    CommandGiven,
    CommentsFetched,
    Fact,
    FixRequested,
    PushRequested,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
    TimerFired,
)  # fmt: skip
from amends.common.identity import About
from amends.common.rows import LoopRow, ParkedRow, TimerRow
from amends.common.situation import Asked
from amends.evaluator.batch import OPERATOR
from amends.evaluator.following import followed
from amends.evaluator.recorder import Recorder
from amends.evaluator.situations import asked
from amends.evaluator.writer import BlobMismatch

log = logging.getLogger(__name__)


class Shelf(Protocol):
    """What the desk reads of the log."""

    def row(self, pos: int) -> Row | None: ...
    def rows(self, after: int, limit: int = 500, upto: int | None = None) -> list[Row]: ...
    def find(self, loop: str, key: str) -> Row | None: ...
    def history(self, loop: str, upto_version: int | None = None, after: int = 0) -> list[Row]: ...
    def timers_of(self, loop: str) -> list[TimerRow]: ...
    def loop(self, name: str) -> LoopRow | None: ...
    def loops(self, status: str | None = None, repo: str | None = None, *, limit: int = 500) -> list[LoopRow]: ...
    def parked_one(self, parked_id: int) -> ParkedRow | None: ...
    def blob(self, sha: str) -> bytes | None: ...


class Desk:
    """The recorder behind the bus. Blobs are read in parts, so the last one asked for is kept at hand."""

    def __init__(self, recorder: Recorder, shelf: Shelf) -> None:
        self._recorder = recorder
        self._shelf = shelf
        self._at_hand: tuple[str, bytes] = ("", b"")

    async def report_raw(self, service: str, raw: bytes) -> Answer:
        """Record the fact of these bytes, whatever they are."""
        return await self._recorder.report_raw(service, raw)

    async def may(self, pos: int, run: str) -> Go | Stop | Unavailable:
        """Whether the work that the event at `pos` asked for may still have its effect."""
        return await self._recorder.may(pos, run)

    async def followed(self) -> Sequence[Followed]:
        """The repositories that the installation lists, and the pull requests that are open in the log."""
        return await asyncio.to_thread(followed, self._shelf)

    async def asked(self, pos: int) -> Asked | None:
        """What the event at `pos` asks of the notifier, and how its loop stands."""
        return await asyncio.to_thread(asked, self._shelf, pos)

    async def put_chunk(self, chunk: Chunk) -> Refused | Unavailable | None:
        """Keep a part of a blob; with the last one the blob is there, or refused."""
        try:
            await self._recorder.run(lambda writer: writer.put_chunk(chunk.sha, chunk.n, chunk.data))
            crash_point("recorder.blob")
            if chunk.n >= chunk.of - 1:
                await self._recorder.run(lambda writer: writer.finish_blob(chunk.sha, chunk.size, chunk.of))
        except BlobMismatch as error:
            return Refused("malformed", str(error))
        except Exception as error:  # noqa: BLE001 - whatever the store's trouble is, putting it again is safe
            log.warning("a blob could not be kept", extra={"error": repr(error)[:300]})
            return Unavailable("the blob could not be kept now: put it again")
        return None

    async def get_chunk(self, sha: str, n: int) -> Chunk | None:
        """Part n of a blob; None when nobody ever put it."""
        at_hand, content = self._at_hand
        if at_hand != sha:
            found = await asyncio.to_thread(self._shelf.blob, sha)
            if found is None:
                return None
            content = found
            self._at_hand = (sha, content)
        parts = max(1, -(-len(content) // CHUNK))
        return Chunk(sha, n, parts, len(content), content[n * CHUNK : (n + 1) * CHUNK]) if n < parts else None

    async def requeue(self, wanted: Requeued) -> Answer:
        """Have a parked report recorded after all, or an event that a service gave up on worked on again now."""
        if wanted.parked is not None:
            return await self._again(wanted.parked)
        if wanted.pos is not None:
            return await self._sooner(wanted.pos)
        return Refused("malformed", "say which: parked (an id) or pos (of the event that was given up)")

    async def _again(self, parked_id: int) -> Answer:
        kept = await asyncio.to_thread(self._shelf.parked_one, parked_id)
        if kept is None:
            return Refused("malformed", f"nothing is parked under {parked_id}: `amends parked list` shows what is")
        answer = await self._recorder.report_raw(kept.service, kept.data)
        if not isinstance(answer, Refused | Unavailable):
            await self._recorder.run(lambda writer: writer.unpark(parked_id))
        return answer

    async def _sooner(self, pos: int) -> Answer:
        """The request is still open and would be asked again when its wait is over: end that wait now."""
        row = await asyncio.to_thread(self._shelf.row, pos)
        if row is None:
            return Refused("malformed", f"the log has no position {pos}")
        names = waits_of(event_of(row).fact, pos)
        answers = [
            await self._recorder.report(*_cut_short(timer))
            for timer in await asyncio.to_thread(self._shelf.timers_of, row.loop)
            if timer.name in names
        ]
        return (
            answers[-1] if answers else Refused("superseded", f"nobody waits for an answer to position {pos} any more")
        )


def waits_of(fact: Fact, pos: int) -> set[str]:
    """The timers that may be waiting for this event's answer."""
    match fact:
        case FixRequested():
            return {f"collect/{fact.n}/{fact.k}"}
        case CommentsFetched():
            return {f"start/{fact.n}/{fact.k}", f"claim/{fact.n}/{fact.k}"}
        case PushRequested():
            return {f"push/{fact.n}/{fact.k}"}
        case ReviewRejected() | ReviewApproved() | ReviewCommented():
            return {f"author/{fact.review}"}
        case CommandGiven():
            return {f"author/{fact.key}"}
        case _:
            return {f"tell/{pos}"}


def _cut_short(timer: TimerRow) -> tuple[str, Report]:
    service, actor = OPERATOR
    fact = TimerFired(name=timer.name, generation=timer.generation)
    return service, Report(fact=fact, about=About(loop=timer.loop), actor=actor)
