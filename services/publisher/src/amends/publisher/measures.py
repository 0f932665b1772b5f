"""What the publisher counts. Labels are of closed sets: never a repository or a person."""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import Counter, Histogram

from amends.common.metrics import REGISTRY

Outcome = Literal["pushed", "refused"]
_SECONDS = Histogram(
    "amends_publish_seconds", "From a request for a push to its answer.", ["outcome"], registry=REGISTRY,
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60),
)  # fmt: skip
_RESOLVED = Counter("amends_threads_resolved", "Threads that were resolved after a push.", registry=REGISTRY)
_PUBLISHED = {outcome: _SECONDS.labels(outcome) for outcome in get_args(Outcome)}


def published(outcome: Outcome, seconds: float) -> None:
    """Count an answer."""
    _PUBLISHED[outcome].observe(seconds)


def resolved(threads: int) -> None:
    """Count threads."""
    _RESOLVED.inc(threads)
