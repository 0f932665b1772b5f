"""Every metric of amends, on one registry. Labels are of closed sets: never a pull request, a repository or a person.

`observe` is called with what was just recorded and only counts; what needs a look into the log waits for `measure`,
which somebody calls every few seconds. Nothing is remembered over a restart, so nothing is made up after one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, disable_created_metrics
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from amends.common.answers import Already, Answer, Recorded, Refused
from amends.common.envelope import FACTS, Event, Row
from amends.common.events import EVERYONE, REACTIONS, CycleFinished, Ending, Escalated, LoopFinished, Outcome
from amends.common.explain.reasons import ESCALATIONS, FAILURES
from amends.common.rows import LoopRow, ParkedRow, TimerRow
from amends.common.standing import SECOND, Status

disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no type for it
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

OTHER = "other"
STATUSES = (*(status.value for status in Status), "stuck")
REASONS = (*ESCALATIONS, *(failure.value for failure in FAILURES if failure not in ESCALATIONS), OTHER)
MIRROR_STATES = ("starting", "mirroring", "failing", "forked", "ahead", "foreign", "damaged")
ANSWERS = ("recorded", "already", "refused", "unavailable")
MANY = 1_000  # counts of what should be few stop here

# --- the log -------------------------------------------------------------------------------------------------------

EVENTS = Counter("amends_events_appended", "Events appended to the log.", ["type"], registry=REGISTRY)
REPORTS = Counter("amends_reports", "Reports answered.", ["service", "answer"], registry=REGISTRY)
REPORT_SECONDS = Histogram(
    "amends_report_seconds", "From a report's arrival to its answer.", registry=REGISTRY,
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)  # fmt: skip
BATCH_SIZE = Histogram(
    "amends_batch_size", "Reports in one transaction.", registry=REGISTRY,
    buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
)  # fmt: skip
PARKED = Gauge(
    "amends_parked_messages", f"Reports kept because they cannot be recorded ({MANY} at most).", registry=REGISTRY
)
DROPPED = Counter(
    "amends_parked_dropped", "Kept reports that were dropped because there were too many.", ["service"],
    registry=REGISTRY,
)  # fmt: skip
TIMERS_DUE = Gauge("amends_timers_due", f"Timers that are due and have not fired ({MANY} at most).", registry=REGISTRY)
OLDEST = Gauge(
    "amends_oldest_unanswered_seconds", "Age of the oldest request that a service has not answered.", ["service"],
    registry=REGISTRY,
)  # fmt: skip

# --- the mirror ----------------------------------------------------------------------------------------------------

MIRROR_LAG = Gauge("amends_mirror_lag_events", "Events that the mirror lacks.", registry=REGISTRY)
MIRROR_STATE = Gauge("amends_mirror_state", "1 for the state that the mirror is in.", ["state"], registry=REGISTRY)
PENDING = Gauge(
    "amends_consumer_pending", "Events that a consumer has not been given.", ["consumer"], registry=REGISTRY
)
ACK_PENDING = Gauge(
    "amends_consumer_ack_pending", "Events given and not acknowledged.", ["consumer"], registry=REGISTRY
)
REDELIVERED = Gauge("amends_consumer_redelivered", "Events given more than once.", ["consumer"], registry=REGISTRY)

# --- loops ---------------------------------------------------------------------------------------------------------

LOOPS = Gauge("amends_loops", "Loops by how they stand.", ["status"], registry=REGISTRY)
STUCK = Gauge("amends_stuck_loops", "Loops that this code could not fold or decide on.", registry=REGISTRY)
FINISHED = Counter("amends_loops_finished", "Loops finished.", ["outcome"], registry=REGISTRY)
ESCALATIONS_TOTAL = Counter("amends_escalations", "Times a human was needed.", ["reason"], registry=REGISTRY)
CYCLES_PER_PR = Histogram(
    "amends_cycles_per_pr", "Cycles used when a loop first finishes; le=1 over the count is the first-pass rate.",
    registry=REGISTRY, buckets=(0, 1, 2, 3, 4, 5, 8, 13),
)  # fmt: skip
CYCLE_SECONDS = Histogram(
    "amends_cycle_duration_seconds", "From a cycle's request to its end.", ["outcome"], registry=REGISTRY,
    buckets=(15, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200),
)  # fmt: skip
BUILD = Info("amends_build", "What is running.", registry=REGISTRY)

# A child is looked up once and not for every event; asking for all of them also makes them start at zero.
_EVENTS = {type_: EVENTS.labels(type_) for type_ in FACTS}
_REPORTS = {(service, answer): REPORTS.labels(service, answer) for service in (*EVERYONE, OTHER) for answer in ANSWERS}
_DROPPED = {service: DROPPED.labels(service) for service in (*EVERYONE, OTHER)}
_OLDEST = {service: OLDEST.labels(service) for service in REACTIONS}
_MIRROR = {state: MIRROR_STATE.labels(state) for state in MIRROR_STATES}
_CONSUMERS: dict[str, tuple[Gauge, ...]] = {
    name: tuple(gauge.labels(name) for gauge in (PENDING, ACK_PENDING, REDELIVERED)) for name in REACTIONS
}
_LOOPS = {status: LOOPS.labels(status) for status in STATUSES}
_FINISHED = {outcome: FINISHED.labels(outcome) for outcome in get_args(Ending)}
_ESCALATIONS = {reason: ESCALATIONS_TOTAL.labels(reason) for reason in REASONS}
_CYCLES = {outcome: CYCLE_SECONDS.labels(outcome) for outcome in get_args(Outcome)}

_ENDED: deque[Event] = deque(maxlen=10_000)


def describe(version: str, vocabulary: int) -> None:
    """Say what is running; once, at the start."""
    BUILD.info({"version": version, "vocabulary": str(vocabulary)})


def observe(events: Sequence[Event]) -> None:
    """Count what was recorded. A request that is asked again is an event, but it is no second escalation or end."""
    for event in events:
        fact = event.fact
        _EVENTS[fact.type].inc()
        if isinstance(fact, Escalated | CycleFinished | LoopFinished) and not fact.again:
            if isinstance(fact, Escalated):
                _ESCALATIONS.get(fact.reason, _ESCALATIONS[OTHER]).inc()
                continue
            if isinstance(fact, LoopFinished):
                _FINISHED[fact.outcome].inc()
            _ENDED.append(event)


def answered(service: str, answer: Answer, seconds: float) -> None:
    """Count a report by who sent it and what it was answered."""
    match answer:
        case Recorded():
            kind = "recorded"
        case Already():
            kind = "already"
        case Refused():
            kind = "refused"
        case _:
            kind = "unavailable"
    _REPORTS[service if service in EVERYONE else OTHER, kind].inc()
    REPORT_SECONDS.observe(seconds)


def dropped(service: str, number: int) -> None:
    """Count kept reports that were dropped."""
    _DROPPED[service if service in EVERYONE else OTHER].inc(number)


def batched(size: int) -> None:
    """Count a transaction by how many reports it held."""
    BATCH_SIZE.observe(size)


def consumed(consumer: str, pending: int, ack_pending: int, redelivered: int) -> None:
    """What the stream's leader says of a consumer."""
    for gauge, value in zip(_CONSUMERS[consumer], (pending, ack_pending, redelivered), strict=True):
        gauge.set(value)


# --- looking into the log ------------------------------------------------------------------------------------------


class Log(Protocol):
    """What is read of the log now and then."""

    def row(self, pos: int) -> Row | None: ...
    def find(self, loop: str, key: str) -> Row | None: ...
    def loop(self, name: str) -> LoopRow | None: ...
    def timers(self, due_before: int | None = None, limit: int = 500) -> list[TimerRow]: ...
    def parked(self, limit: int = 500) -> list[ParkedRow]: ...
    def stuck(self, other_than: str) -> list[str]: ...
    def oldest_outstanding(self) -> Mapping[str, int]: ...
    def statuses(self) -> Mapping[str, int]: ...


class Mirroring(Protocol):
    """How far the mirror is."""

    @property
    def standing(self) -> str: ...
    @property
    def lag(self) -> int: ...


def measure(log: Log, mirror: Mirroring) -> None:
    """Set every gauge; blocks on the log, so not for an event loop."""
    now = time.time()
    MIRROR_LAG.set(mirror.lag)
    for state, gauge in _MIRROR.items():
        gauge.set(state == mirror.standing)
    while _ENDED:
        _look_up(log, _ENDED.popleft())
    PARKED.set(len(log.parked(MANY)))
    TIMERS_DUE.set(len(log.timers(int(now * SECOND), MANY)))
    STUCK.set(len(log.stuck("")))
    oldest = log.oldest_outstanding()
    for service, gauge in _OLDEST.items():
        row = log.row(oldest[service]) if service in oldest else None
        gauge.set(max(0.0, now - row.time / SECOND) if row else 0.0)
    statuses = log.statuses()
    for status, gauge in _LOOPS.items():
        gauge.set(statuses.get(status, 0))


def _look_up(log: Log, event: Event) -> None:
    fact = event.fact
    if isinstance(fact, CycleFinished):
        begun = log.find(event.loop, f"cycle/{fact.n}/1/requested")
        if begun is not None:
            _CYCLES[fact.outcome].observe((event.time - begun.time) / SECOND)
    elif isinstance(fact, LoopFinished) and fact.times == 1 and fact.outcome != "continued_in":
        loop = log.loop(event.loop)
        if loop is not None:
            CYCLES_PER_PR.observe(loop.used)
