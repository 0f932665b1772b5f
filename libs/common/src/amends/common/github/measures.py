"""What the client of GitHub counts, whoever uses it."""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import Counter

from amends.common.metrics import REGISTRY

Outcome = Literal["answered", "refused", "limited", "failed"]
_REQUESTS = Counter("amends_github_requests", "Requests to GitHub by how they ended.", ["outcome"], registry=REGISTRY)
_WAITS = Counter(
    "amends_github_limit_seconds", "Seconds for which GitHub's limits have sent us away.", registry=REGISTRY
)
_ENDED: dict[Outcome, Counter] = {outcome: _REQUESTS.labels(outcome) for outcome in get_args(Outcome)}


def ended(outcome: Outcome) -> None:
    """Count a request."""
    _ENDED[outcome].inc()


def sent_away(seconds: float) -> None:
    """Count a limit by how long it keeps us away."""
    _WAITS.inc(seconds)
