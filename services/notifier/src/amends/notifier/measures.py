"""What the notifier counts. Labels are of closed sets: never a pull request or a person."""

from __future__ import annotations

from typing import Literal

from prometheus_client import Counter

from amends.common.metrics import REGISTRY

Outcome = Literal["told", "failed", "stopped", "later"]
_TOLD = Counter(
    "amends_notifications", "Events told through a channel, by how that ended.", ["channel", "outcome"],
    registry=REGISTRY,
)  # fmt: skip


def ended(channel: str, outcome: Outcome) -> None:
    """Count what became of telling one event through one channel."""
    _TOLD.labels(channel, outcome).inc()
