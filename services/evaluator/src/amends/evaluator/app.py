"""The evaluator's wiring: the log, the recorder, the relay, the requests, the clock, and the order they start in.

No report is accepted before the relay's first full pass: a log restored from an old backup must meet its newer mirror
before anything is written over it. NATS going away later changes nothing: the log goes on, the mirror catches up.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from amends.common import metrics
from amends.common.alone import opened
from amends.common.answers import Refused, Report
from amends.common.bus.consumers import Consumers
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from amends.common.bus.requests import Requests
from amends.common.envelope import VOCABULARY, Event, event_of
from amends.common.events import PolicyChanged
from amends.common.identity import INSTALLATION
from amends.common.log import Log
from amends.common.logs import log_event
from amends.common.ops import Ops
from amends.common.patience import report_until_answered
from amends.common.policy import Overrides
from amends.common.settings import Settings
from amends.evaluator.clock import Clock
from amends.evaluator.code import CODE
from amends.evaluator.desk import Desk
from amends.evaluator.migrate import migrate
from amends.evaluator.recorder import LocalRecorder, Recorder
from amends.evaluator.refresh import refresh
from amends.evaluator.relay import Relay
from amends.evaluator.writer import CHECKPOINT_SECONDS, Writer

log = logging.getLogger(__name__)
SETTINGS = "settings"
GAUGES_SECONDS = 2.0
TIDY_SECONDS = 3_600.0


@dataclass
class Evaluator:
    """One evaluator: everything it holds, so that whoever runs it in the same process can report to it directly."""

    log: Log
    writer: Writer
    recorder: Recorder
    link: Link
    consumers: Consumers
    relay: Relay
    requests: Requests
    clock: Clock
    trouble: dict[str, str] = field(default_factory=dict)
    beside: list[Callable[[], Mapping[str, str]]] = field(
        default_factory=list
    )  # checks of who runs in this process too

    def checks(self) -> dict[str, str]:
        """What has to be right for it to be of use, one key each."""
        recording = self.recorder.trouble
        return {
            "recorder": recording or "ok",
            "mirror": "ok" if self.relay.standing == "mirroring" else f"{self.relay.standing}: {self.relay.error}",
            "stream": "ok" if not self.relay.drift else f"not as configured: {'; '.join(self.relay.drift)}",
            "nats": self.link.health(),
            "requests": self.requests.health(),
            **self.trouble,
            **{key: said for checks in self.beside for key, said in checks().items()},
        }


def assembled(
    settings: Settings, nats_url: str, observers: Sequence[Callable[[Sequence[Event]], None]] = ()
) -> Evaluator:
    """All parts, connected to each other and to nothing outside yet."""
    reader, writer = Log(settings.database), Writer(settings.database)
    link = Link(nats_url, "evaluator")
    consumers = Consumers(link, settings.replicas, settings.ack_seconds)
    relay = Relay(reader, Mirror(link, settings.replicas), consumers)

    def wake(_events: Sequence[Event]) -> None:
        relay.wake()

    recorder = Recorder(writer, (wake, metrics.observe, _logged, *observers), settings.batch)
    clock = Clock(reader, recorder, CODE, settings.grace_seconds)
    return Evaluator(
        reader, writer, recorder, link, consumers, relay, Requests(nats_url, Desk(recorder, reader)), clock
    )


async def run(
    settings: Settings,
    nats_url: str,
    stop: asyncio.Event,
    ready: Callable[[Evaluator, str], AbstractAsyncContextManager[None]] | None = None,
) -> None:
    """Run until `stop` is set. Once reports are accepted, `ready` is entered, and left before they no longer are."""
    await asyncio.to_thread(migrate, settings.database)
    evaluator = assembled(settings, nats_url)
    if refreshed := await asyncio.to_thread(refresh, evaluator.log, evaluator.writer):
        log.info("another version wrote this log: its views were folded again", extra={"loops": refreshed})
    metrics.describe(CODE, VOCABULARY)
    ops = Ops(settings.ops_host, settings.ops_port, evaluator.checks)
    address = ops.start()
    evaluator.recorder.start()
    try:
        if not await _before(stop, _begun(evaluator, settings.policy)):
            return
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(evaluator.relay.run()),
                tasks.create_task(evaluator.clock.run(stop)),
                tasks.create_task(_tended(evaluator)),
            ]
            async with ready(evaluator, address) if ready else nullcontext():
                await stop.wait()
            for task in running:
                task.cancel()
    finally:
        await evaluator.requests.leave()
        if evaluator.relay.standing == "mirroring":
            await evaluator.relay.finish()
        evaluator.log.close()  # before the writer: only SQLite's last connection empties the write-ahead log
        await asyncio.to_thread(evaluator.recorder.close)
        await evaluator.link.close()
        ops.stop()


async def _begun(evaluator: Evaluator, policy: Overrides) -> None:
    await opened(evaluator.link)
    evaluator.link.when_restored(evaluator.relay.look_again)
    await evaluator.relay.handshake()
    await evaluator.consumers.serve()
    evaluator.recorder.open()
    await _settle_policy(evaluator, policy)
    await evaluator.requests.join()


async def _before(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do the work, which may take as long as NATS is away, unless it is time to stop; whether it was done."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        await working  # raises what went wrong
        return True
    working.cancel()
    await asyncio.wait({working})
    return False


async def _settle_policy(evaluator: Evaluator, wanted: Overrides) -> None:
    """The policy in the settings file becomes an event like any other change, when the file says something new."""
    history = await asyncio.to_thread(evaluator.log.history, INSTALLATION)
    applied = [event_of(row).fact for row in history if row.actor == SETTINGS]
    last = applied[-1] if applied else None
    if wanted == (last.values if isinstance(last, PolicyChanged) else Overrides()):
        return
    fact = PolicyChanged(request=f"{SETTINGS}-{len(applied) + 1}", values=wanted)
    recorder = LocalRecorder(evaluator.recorder, "evaluator", evaluator.log.blob)
    answer = await report_until_answered(recorder, Report(fact=fact, actor=SETTINGS))
    if isinstance(answer, Refused):
        log.error("the policy of the settings was refused", extra={"detail": answer.detail})


async def _tended(evaluator: Evaluator) -> None:
    """What has to be done now and then: checkpoints, gauges, and leaving the queue group when outdated."""
    naps = 0
    while True:
        await asyncio.sleep(CHECKPOINT_SECONDS)
        naps += 1
        try:
            await asyncio.to_thread(evaluator.writer.checkpoint)
            if naps % round(TIDY_SECONDS / CHECKPOINT_SECONDS) == 1:
                await _tidied(evaluator)
            if naps % round(GAUGES_SECONDS / CHECKPOINT_SECONDS) == 0:
                await asyncio.to_thread(_gauged, evaluator)
                for service, counts in (await evaluator.consumers.standing()).items():
                    metrics.consumed(service, *counts)
            if evaluator.recorder.outdated and evaluator.requests.joined:
                log.error("this evaluator is older than the log and stands aside: upgrade it")
                await evaluator.requests.leave()
        except Exception as error:  # noqa: BLE001 - none of this may stop the evaluator
            log.warning("tending failed", extra={"error": repr(error)[:300]})


async def _tidied(evaluator: Evaluator) -> None:
    now = time.time_ns() // 1_000
    if forgotten := await evaluator.recorder.run(lambda writer: writer.forget_abandoned(now)):
        log.info("blobs that nobody finished were forgotten", extra={"size": forgotten})


def _gauged(evaluator: Evaluator) -> None:
    stuck = evaluator.log.loops(stuck=True, limit=1_000)
    evaluator.trouble.pop("stuck", None)
    if stuck:
        evaluator.trouble["stuck"] = f"{len(stuck)} loops are stuck: `amends loops list --status stuck`"
    metrics.measure(evaluator.log, evaluator.relay)


def _logged(events: Sequence[Event]) -> None:
    for event in events:
        log_event(event)
