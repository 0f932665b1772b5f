"""What the comment-fetcher counts. Labels are of closed sets: never a repository or a person."""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import Counter, Histogram

from amends.common.metrics import REGISTRY

Outcome = Literal["fetched", "closed", "unavailable", "incomplete", "refused", "cancelled"]
_SECONDS = Histogram(
    "amends_collect_seconds", "From a request for feedback to its answer.", ["outcome"], registry=REGISTRY,
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60),
)  # fmt: skip
_FOUND = Counter("amends_reconcile_found", "Facts that no webhook had told.", registry=REGISTRY)
_ROUNDS = Counter("amends_reconcile_rounds", "Rounds of reconciling.", ["outcome"], registry=REGISTRY)
_COLLECTED = {outcome: _SECONDS.labels(outcome) for outcome in get_args(Outcome)}
_ENDED = {whole: _ROUNDS.labels("whole" if whole else "cut_short") for whole in (True, False)}


def collected(outcome: Outcome, seconds: float) -> None:
    """Count a collection."""
    _COLLECTED[outcome].observe(seconds)


def reconciled(found: int, *, whole: bool) -> None:
    """Count a round, and what it found."""
    _FOUND.inc(found)
    _ENDED[whole].inc()
