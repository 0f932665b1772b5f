"""The speed of the GitHub edge beside its peers, in one run: `./taskw bench:edge`."""

from __future__ import annotations

from tests.bench import feedback, webhooks
from tests.bench.running import Comparison, run

COMPARISONS: dict[str, Comparison] = {
    "webhooks": webhooks.compare,
    "feedback": feedback.compare,
}

if __name__ == "__main__":
    run(__doc__, COMPARISONS)
