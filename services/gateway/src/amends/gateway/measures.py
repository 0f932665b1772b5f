"""What the gateway counts. Labels are of closed sets: never a repository, a person or a word of a request."""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import Counter, Histogram

from amends.common.metrics import OTHER, REGISTRY
from amends.gateway.observe import FOLLOWED

Outcome = Literal["recorded", "ignored", "unsigned", "unreadable", "refused", "unavailable"]

WEBHOOKS = Counter(
    "amends_webhooks", "Deliveries by event and by what became of them.", ["event", "outcome"], registry=REGISTRY
)
WEBHOOK_SECONDS = Histogram(
    "amends_webhook_seconds", "From a signed delivery's last byte to its answer.", registry=REGISTRY,
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)  # fmt: skip
REQUESTS = Counter("amends_api_requests", "Requests to the API by their status.", ["status"], registry=REGISTRY)

_DELIVERED = {
    (event, outcome): WEBHOOKS.labels(event, outcome) for event in (*FOLLOWED, OTHER) for outcome in get_args(Outcome)
}


def delivered(event: str, outcome: Outcome) -> None:
    """Count a delivery."""
    _DELIVERED[event if event in FOLLOWED else OTHER, outcome].inc()


def asked(status: int) -> None:
    """Count a request to the API."""
    REQUESTS.labels(str(status)).inc()
