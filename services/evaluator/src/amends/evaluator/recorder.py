"""The one who records: reports arrive from anywhere, one at a time drains them into transactions, answers after COMMIT.

That is the recorder's thread, or, while the disk is quick, the thread of the event loop that heard the reports: to wake
another thread and to be woken by it takes longer than the flush of such a disk (docs/decisions/0020).
"""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TypeVar, cast

from amends.common import metrics
from amends.common.answers import (
    PARKED,
    Answer,
    Go,
    Malformed,
    Refused,
    Report,
    Stop,
    Unavailable,
    parse,
)  # fmt: skip
from amends.common.crash import crash_point
from amends.common.effects import effect, passing
from amends.common.envelope import VOCABULARY, Event, event_of
from amends.common.events import EVERYONE
from amends.common.rows import Head
from amends.evaluator.admission import entitled, may
from amends.evaluator.batch import Batch, Held, Policies, Said
from amends.evaluator.writer import Duplicate, Occupied, Writer, is_connection_error

log = logging.getLogger(__name__)
BATCH = 256
NOBODY = "unknown"  # of whom we have not heard: together they are kept no more of than of one service
CACHED = 2_000  # loops kept unpacked, some 40 kB each
FEW = 32  # reports that an event loop may record itself: more would keep it from everything else for too long
SLOW = 0.01  # seconds after which a recording loop leaves it to the thread for the next `REST` seconds
REST = 1.0
# Loops make no cycles, but there are many of them, and to look through them all is a pause of 40 ms.
COLLECTED_AFTER = (50_000, 20, 100)
Result = TypeVar("Result")


# Somebody who wants to know what was recorded: called on the thread that did, after COMMIT, before the answers.
Observer = Callable[[Sequence[Event]], None]


@dataclass(frozen=True)
class _Job:
    said: Said
    future: Future[Answer] | asyncio.Future[Answer]
    loop: asyncio.AbstractEventLoop | None = None  # of an asyncio future, which only its own thread may touch


@dataclass(frozen=True)
class _Question:
    """Something to do with the writer; of one whose asker has left, nothing is done."""

    ask: Callable[[Writer], object]
    future: Future[object]

    def answer(self, writer: Writer) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.ask(writer))
        except Exception as error:  # noqa: BLE001 - it belongs to the one who asked
            self.future.set_exception(error)

    def turn_away(self) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(NotRunning("the recorder has stopped: ask again"))


class NotRunning(Exception):
    """The recorder has stopped; another one, or the same after a restart, will answer."""


class NewerVocabularyError(Exception):
    """The log holds facts that this program does not know: it must not fold them. Upgrade it."""


class Recorder:
    """Owns the writer's thread. Safe to call from any thread or event loop; answers are given after COMMIT only."""

    def __init__(self, writer: Writer, observers: Sequence[Observer] = (), batch: int = BATCH) -> None:
        self._writer = writer
        self._observers = observers
        self._most = batch
        self._cache: OrderedDict[str, Held] = OrderedDict()  # the loop that was worked on last is the last
        self._policies: Policies = {}
        self._arriving: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
        self._sure: set[str] = set()
        self._head: Head | None = None
        self._queue: SimpleQueue[_Job | _Question | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="recorder", daemon=True)
        self._turn = Lock()  # who has it may use the writer, and what is remembered of the log
        self._slow_until = 0.0
        self._closed = "starting: the mirror has not been checked yet"
        self.outdated = False
        self._unwritable = ""
        self._ended = False

    def start(self) -> None:
        """Begin to serve questions; reports are answered `unavailable` until `open`."""
        gc.set_threshold(*COLLECTED_AFTER)
        self._thread.start()

    def open(self) -> None:
        """Accept reports from now on."""
        self._closed = ""

    def close(self, why: str = "stopping") -> None:
        """Accept no more; what is queued is still recorded and answered, then the thread ends."""
        self._closed = self._closed or why
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()
        self._end()
        with self._turn:
            self._writer.close()

    @property
    def trouble(self) -> str:
        """Why no report is recorded now; nothing when all is well."""
        if self.outdated:
            return "the log holds facts that this program does not know: upgrade it"
        if not self._thread.is_alive():
            return "not running"
        return self._closed or self._unwritable

    # --- reporting -------------------------------------------------------------------------------------------------

    def submit(self, service: str, report: Report) -> Future[Answer]:
        """Queue a report; the future is done when it is in the log, or known not to be."""
        future: Future[Answer] = Future()
        if turned_away := self._turned_away(service, report):
            future.set_result(turned_away)
        else:
            self._put(_Job(Said(service, report), future))
        return future

    async def report(self, service: str, report: Report) -> Answer:
        """Record one fact and what follows from it."""
        began = time.perf_counter()
        answer = self._turned_away(service, report)
        if answer is None:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[Answer] = loop.create_future()
            self._gather(_Job(Said(service, report), future, loop), loop)
            answer = await future
        metrics.answered(service, answer, time.perf_counter() - began)
        return answer

    def _turned_away(self, service: str, report: Report) -> Answer | None:
        crash_point("recorder.received")
        if refusal := entitled(service, report.fact):
            return refusal
        return Unavailable(self._closed) if self._closed else None

    async def report_raw(self, service: str, raw: bytes) -> Answer:
        """Record the fact of these bytes; bytes that are no report are parked and refused."""
        try:
            report = parse(raw)
        except Malformed as malformed:
            await self.park(service, malformed.refused, raw)
            return malformed.refused
        answer = await self.report(service, report)
        if isinstance(answer, Refused) and answer.reason in PARKED:
            await self.park(service, answer, raw)
        return answer

    async def park(self, service: str, refused: Refused, raw: bytes) -> None:
        """Keep bytes that were refused for what they are, for a human to look at."""
        log.warning("report refused", extra={"service": service, "reason": refused.reason, "detail": refused.detail})
        if self._closed:
            return
        try:
            dropped = await self.run(lambda writer: _parked(writer, service, refused, raw))
            crash_point("recorder.parked")
            if dropped:
                metrics.dropped(service, dropped)
                log.warning("the oldest parked reports were dropped", extra={"service": service, "size": dropped})
        except Exception as error:  # noqa: BLE001 - the refusal stands whether or not its bytes could be kept
            log.warning("a refused report could not be parked", extra={"error": type(error).__name__})

    # --- asking ----------------------------------------------------------------------------------------------------

    async def run(self, question: Callable[[Writer], Result]) -> Result:
        """Have the recorder's thread do something with the writer, between two batches."""
        future: Future[Result] = Future()
        self._put(_Question(question, cast("Future[object]", future)))
        return await asyncio.wrap_future(future)

    async def may(self, pos: int, run: str = "") -> Go | Stop | Unavailable:
        """Whether the work that the event at `pos` asked for may have its effect now."""
        try:
            return await self.run(lambda writer: self._may(writer, pos, run))
        except Exception as error:  # noqa: BLE001 - no answer means: stop, and ask again
            return Unavailable(type(error).__name__)

    def _may(self, writer: Writer, pos: int, run: str) -> Go | Stop:
        with writer.transaction() as tx:
            row = tx.row(pos)
            if row is None:
                return Stop("unknown")
            batch = Batch(tx, self._cache, self._policies, self._unchanged(tx.head))
            held = batch.look(row.loop)
            if held.stuck:
                return Stop("stuck")
            return may(held.loop, batch.policy(held.loop), event_of(row), run)

    async def put(self, content: bytes) -> str:
        """Keep these bytes and answer with their sha256."""
        sha = await self.run(lambda writer: writer.put_blob(content))
        crash_point("recorder.blob")
        return sha

    # --- the thread ------------------------------------------------------------------------------------------------

    def _gather(self, job: _Job, loop: asyncio.AbstractEventLoop) -> None:
        """What an event loop hears at a time is recorded together: it is one flush of the disk."""
        if loop not in self._arriving:
            self._arriving[loop] = []
            loop.call_soon(self._hand_over, loop, 0)
        self._arriving[loop].append(job)

    def _hand_over(self, loop: asyncio.AbstractEventLoop, heard: int) -> None:
        """Once a turn of the loop has brought nothing more than was `heard` before it."""
        jobs = self._arriving[loop]
        if heard < len(jobs) < FEW:
            loop.call_soon(self._hand_over, loop, len(jobs))
            return
        del self._arriving[loop]
        if not self._recorded_here(jobs):
            for job in jobs:
                self._put(job)

    def _recorded_here(self, jobs: list[_Job]) -> bool:
        """Record them on the event loop's own thread, unless that could keep the loop waiting."""
        quick = self._writer.near and time.monotonic() >= self._slow_until
        if len(jobs) > FEW or not quick or not self._turn.acquire(blocking=False):
            return False
        try:
            if self._closed or not self._queue.empty():
                return False
            began = time.monotonic()
            answers = self._record(jobs, patient=False)
            if time.monotonic() > began + SLOW:
                self._slow_until = time.monotonic() + REST
        except Occupied:
            return False
        finally:
            self._turn.release()
        crash_point("recorder.answered")
        _tell(list(zip(jobs, answers, strict=True)))
        return True

    def _put(self, item: _Job | _Question) -> None:
        self._queue.put(item)
        if self._ended:
            self._end()

    def _end(self) -> None:
        """Turn away what came too late for the thread; whoever comes later still does this himself."""
        self._ended = True
        with suppress(Empty):
            while True:
                item = self._queue.get_nowait()
                if isinstance(item, _Job):
                    self._answer([item], [Unavailable(self._closed or "not running")])
                elif item is not None:
                    item.turn_away()

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            self._end()

    def _serve(self) -> None:
        stopping = False
        while not stopping:
            jobs: list[_Job] = []
            item = self._queue.get()
            while True:
                if item is None:
                    stopping = True
                elif isinstance(item, _Job):
                    jobs.append(item)
                else:
                    with self._turn:
                        item.answer(self._writer)
                if len(jobs) >= self._most or self._queue.empty():
                    break
                item = self._queue.get()
            if jobs:
                with self._turn:
                    answers = self._record(jobs)
                self._answer(jobs, answers)

    def _record(self, jobs: list[_Job], *, patient: bool = True) -> list[Answer]:
        if self.outdated:
            return [Unavailable("the log holds facts that this program does not know: upgrade it")] * len(jobs)
        try:
            return self._transact(jobs, patient=patient)
        except Occupied:
            raise
        except NewerVocabularyError as error:
            self.outdated = True
            return [Unavailable(str(error))] * len(jobs)
        except Exception as error:  # noqa: BLE001 - one broad net: no report may stop the queue
            if is_connection_error(error):
                self._unwritable = f"the log cannot be written: {error}"[:300]
                log.warning("the log cannot be written", extra={"error": str(error)[:300]})
                return [Unavailable("the log cannot be written now: report again")] * len(jobs)
            log.warning("a batch failed, recording one by one", extra={"error": repr(error)[:300], "size": len(jobs)})
            return [self._alone(job) for job in jobs]

    def _alone(self, job: _Job) -> Answer:
        for deciding in (True, False):
            try:
                return self._transact([job], deciding=deciding)[0]
            except Duplicate:
                continue  # what we decided cannot be stored: keep the fact, show the loop as stuck
            except Exception as error:  # noqa: BLE001 - the report itself cannot be stored
                if is_connection_error(error) or isinstance(error, NewerVocabularyError):
                    return Unavailable("the log cannot be written now: report again")
                return Refused("unstorable", f"the log does not take it ({type(error).__name__})")
        return Refused("unstorable", "the log does not take it")

    def _transact(self, jobs: list[_Job], *, deciding: bool = True, patient: bool = True) -> list[Answer]:
        with self._writer.transaction(patient=patient) as tx:
            if tx.head.vocabulary > VOCABULARY:
                raise NewerVocabularyError(f"the log's vocabulary is {tx.head.vocabulary}, this program's {VOCABULARY}")
            crash_point("recorder.locked")
            batch = Batch(tx, self._cache, self._policies, self._unchanged(tx.head), deciding=deciding)
            answers = batch.record([job.said for job in jobs])
            crash_point("recorder.projected")
            passing("commit", batch.events, "before")
        passing("commit", batch.events, "after")
        crash_point("recorder.committed")
        self._remember(batch, tx.head)
        metrics.batched(len(jobs))
        return answers

    def _unchanged(self, head: Head) -> Collection[str]:
        """The cached loops that are as we left them: when the log ends where we left it, nobody else has written."""
        if head != self._head:
            self._sure.clear()
        return self._sure

    def _remember(self, batch: Batch, head: Head) -> None:
        self._sure.update(batch.held)
        for name, held in batch.held.items():
            self._cache[name] = held
            self._cache.move_to_end(name)
        while len(self._cache) > CACHED:
            self._sure.discard(self._cache.popitem(last=False)[0])
        if len(self._policies) > CACHED:
            self._policies.clear()
        self._head = head
        self._unwritable = ""
        for observer in self._observers:
            try:
                observer(batch.events)
            except Exception as error:  # noqa: BLE001 - it is in the log, whatever others make of it
                log.warning("an observer failed", extra={"error": repr(error)[:300]})

    def _answer(self, jobs: list[_Job], answers: list[Answer]) -> None:
        crash_point("recorder.answered")
        waiting: dict[asyncio.AbstractEventLoop | None, list[tuple[_Job, Answer]]] = {}
        for job, answer in zip(jobs, answers, strict=True):
            waiting.setdefault(job.loop, []).append((job, answer))
        for loop, answered in waiting.items():
            if loop is None:
                _tell(answered)
            else:  # all at once: they come with their next reports together, and those make one batch again
                with suppress(RuntimeError):  # that loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(_tell, answered)


def _parked(writer: Writer, service: str, refused: Refused, raw: bytes) -> int:
    kept_for = service if service in EVERYONE else NOBODY
    writer.park(kept_for, refused.reason, raw, refused.detail, f"report.{service}")
    return writer.let_go(kept_for)


def _tell(answered: list[tuple[_Job, Answer]]) -> None:
    for job, answer in answered:
        with suppress(InvalidStateError, asyncio.InvalidStateError):  # whoever asked has left
            job.future.set_result(answer)


class LocalRecorder:
    """The recorder as a service in the same process sees it: the same meaning as over the bus."""

    def __init__(self, recorder: Recorder, service: str, blob: Callable[[str], bytes | None]) -> None:
        self._recorder = recorder
        self._service = service
        self._blob = blob

    async def report(self, report: Report) -> Answer:
        """Record a fact and what it causes."""
        passing("report", report.fact, "before")
        answer = await self._recorder.report(self._service, report)
        passing("report", report.fact, "after")
        if isinstance(answer, Refused) and answer.reason in PARKED:
            await self._recorder.park(self._service, answer, report.model_dump_json(by_alias=True).encode())
        return answer

    async def may(self, pos: int, run: str = "") -> Go | Stop | Unavailable:
        """Whether the work that the event at `pos` asked for may still have its effect."""
        with effect("ask", "ask.may"):
            return await self._recorder.may(pos, run)

    async def put(self, content: bytes) -> str:
        """Keep these bytes and answer with their sha256; put first, report after."""
        with effect("ask", "blob.put"):
            return await self._recorder.put(content)

    async def get(self, sha: str) -> bytes | None:
        """The bytes of this sha256, None when nobody ever put them."""
        with effect("ask", "blob.get"):
            return await asyncio.to_thread(self._blob, sha)
