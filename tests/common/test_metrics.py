"""Metrics: they start at zero, count what was recorded, look up what is not in an event, and label nobody."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import get_args

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from amends.common import metrics
from amends.common.answers import Already, Answer, Recorded, Refused, Unavailable
from amends.common.envelope import FACTS, GENESIS, Event, Row, row_of
from amends.common.events import AnyFact, CycleFinished, Escalated, FixRequested, LoopFinished
from amends.common.policy import Policy
from amends.common.rows import LoopRow, ParkedRow, TimerRow
from amends.evaluator.relay import Standing
from tests.support.examples import EXAMPLES

SECOND = 1_000_000


def value(name: str, **labels: str) -> float:
    return metrics.REGISTRY.get_sample_value(name, labels) or 0.0


def event(fact: AnyFact, time: int = 0) -> Event:
    return Event(
        pos=5, loop="1-pr-7", version=4, key=fact.key, time=time, source="evaluator", actor="", cause=3, policy="",
        fact=fact,
    )  # fmt: skip


@dataclass
class Shelf:
    """A log of which everything is known."""

    rows: dict[str, Row] = field(default_factory=dict)
    used: int = 0
    oldest: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def row(self, pos: int) -> Row | None:
        return next((row for row in self.rows.values() if row.pos == pos), None)

    def find(self, loop: str, key: str) -> Row | None:
        return self.rows.get(key)

    def loop(self, name: str) -> LoopRow | None:
        return LoopRow(name, 9, 9, "change", 1, 7, "o/r", "", "", "done", 3, self.used, False, "", 0, "")

    def timers(self, due_before: int | None = None, limit: int = 500) -> list[TimerRow]:
        return [TimerRow("1-pr-7", "settle/1", 1, 1, False)] * 2

    def parked(self, limit: int = 500) -> list[ParkedRow]:
        return []

    def stuck(self, other_than: str) -> list[str]:
        return ["1-pr-8"]

    def oldest_outstanding(self) -> dict[str, int]:
        return self.oldest

    def statuses(self) -> dict[str, int]:
        return self.counts


@dataclass
class Mirror:
    standing: str = "mirroring"
    lag: int = 0


def test_every_fact_is_counted_by_its_type_and_starts_at_zero() -> None:
    assert {f'amends_events_appended_total{{type="{type_}"}}' for type_ in FACTS} <= set(names())
    before = value("amends_events_appended_total", type="fix.pushed")
    metrics.observe([event(fact) for fact in EXAMPLES])
    assert value("amends_events_appended_total", type="fix.pushed") == before + 1


def names() -> list[str]:
    return [line.rpartition(" ")[0] for line in generate_latest(metrics.REGISTRY).decode().splitlines()]


@pytest.mark.parametrize(
    ("name", "labels", "fact"),
    [
        ("amends_escalations_total", {"reason": "question"}, Escalated(of="cycle/1", reason="question")),
        ("amends_escalations_total", {"reason": "no_change"}, Escalated(of="cycle/1", reason="no_change")),
        ("amends_escalations_total", {"reason": "other"}, Escalated(of="cycle/1", reason="novel")),
        ("amends_loops_finished_total", {"outcome": "merged"}, LoopFinished(outcome="merged", times=1)),
    ],
)
def test_an_end_counts_once_and_not_again_when_people_are_told_again(
    name: str, labels: dict[str, str], fact: Escalated | LoopFinished
) -> None:
    before = value(name, **labels)
    metrics.observe([event(fact), event(fact.model_copy(update={"again": 1}))])
    assert value(name, **labels) == before + 1


def test_a_cycle_s_duration_is_looked_up_in_the_log() -> None:
    begun = event(FixRequested(n=2, k=1, head="", rules=Policy()), 10 * SECOND)
    shelf = Shelf({begun.key: row_of(begun, GENESIS)})
    before = value("amends_cycle_duration_seconds_sum", outcome="pushed")
    metrics.observe([event(CycleFinished(n=2, outcome="pushed", used=True), 100 * SECOND)])
    metrics.measure(shelf, Mirror())
    assert value("amends_cycle_duration_seconds_sum", outcome="pushed") == before + 90


def test_the_cycles_of_a_loop_are_counted_when_it_first_ends() -> None:
    metrics.measure(Shelf(), Mirror())
    before = value("amends_cycles_per_pr_count"), value("amends_cycles_per_pr_bucket", le="1.0")
    ends = [LoopFinished(outcome="approved", times=1), LoopFinished(outcome="merged", times=2)]
    metrics.observe([event(end) for end in ends])
    metrics.measure(Shelf(used=1), Mirror())
    assert (value("amends_cycles_per_pr_count"), value("amends_cycles_per_pr_bucket", le="1.0")) == (
        before[0] + 1,
        before[1] + 1,
    )


def test_gauges_say_how_the_log_and_the_mirror_stand() -> None:
    asked = event(EXAMPLES[0])._replace(pos=3)
    shelf = Shelf({"a": row_of(asked, GENESIS)}, oldest={"fixer": 3}, counts={"fixing": 2})
    metrics.measure(shelf, Mirror("failing", 12))
    assert value("amends_mirror_lag_events") == 12
    assert (value("amends_mirror_state", state="failing"), value("amends_mirror_state", state="mirroring")) == (1, 0)
    assert (value("amends_loops", status="fixing"), value("amends_loops", status="done")) == (2, 0)
    assert (value("amends_timers_due"), value("amends_stuck_loops"), value("amends_parked_messages")) == (2, 1, 0)
    assert value("amends_oldest_unanswered_seconds", service="fixer") > 1_700_000_000
    assert value("amends_oldest_unanswered_seconds", service="notifier") == 0


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (Recorded(1), "recorded"),
        (Already(1), "already"),
        (Refused("busy"), "refused"),
        (Unavailable(), "unavailable"),
    ],
)
def test_reports_are_counted_by_service_and_answer(answer: Answer, label: str) -> None:
    before, others = (value("amends_reports_total", service=one, answer=label) for one in ("fixer", "other"))
    metrics.answered("fixer", answer, 0.002)
    metrics.answered("somebody's invention", answer, 0.002)
    assert value("amends_reports_total", service="fixer", answer=label) == before + 1
    assert value("amends_reports_total", service="other", answer=label) == others + 1


def test_batches_and_consumers_are_shown() -> None:
    before = value("amends_batch_size_sum")
    metrics.batched(16)
    metrics.consumed("fixer", 3, 2, 1)
    assert value("amends_batch_size_sum") == before + 16
    shown = [value(f"amends_consumer_{what}", consumer="fixer") for what in ("pending", "ack_pending", "redelivered")]
    assert shown == [3, 2, 1]


def test_the_build_is_shown() -> None:
    metrics.describe("0.1.0", 1)
    assert value("amends_build_info", version="0.1.0", vocabulary="1") == 1


def test_the_mirror_s_states_are_the_relay_s() -> None:
    assert get_args(Standing) == metrics.MIRROR_STATES


def test_everything_is_ours_or_the_process_s_and_says_what_it_is() -> None:
    families = list(text_string_to_metric_families(generate_latest(metrics.REGISTRY).decode()))
    strange = [family.name for family in families if not family.name.startswith(("amends_", "process_", "python_"))]
    assert (strange, [family.name for family in families if not family.documentation]) == ([], [])
    assert [family.name for family in families if family.name.endswith("_created")] == []


def test_labels_are_of_closed_sets_and_few() -> None:
    families = text_string_to_metric_families(generate_latest(metrics.REGISTRY).decode())
    series = [sample for family in families if family.name.startswith("amends_") for sample in family.samples]
    allowed = {"type", "service", "answer", "state", "status", "outcome", "reason", "consumer", "le", "version"}
    allowed |= {"event"}  # of a webhook: those we follow, and `other`
    # The settings name one model, of a list of prices; the others are lists in the code.
    allowed |= {"model", "kind", "result", "what", "ended", "channel"}
    assert {label for sample in series for label in sample.labels} <= allowed | {"vocabulary"}
    assert len(series) < 800  # of all services together, as far as they are loaded here
