"""The speed of the core beside its peers, in one run: `./taskw bench:core`."""

from __future__ import annotations

from tests.bench import growth, mirror, ready, rebuild, steps
from tests.bench.running import Comparison, run

COMPARISONS: dict[str, Comparison] = {
    "steps": steps.compare,
    "rebuild": rebuild.compare,
    "growth": growth.compare,
    "mirror": mirror.compare,
    "ready": ready.compare,
}

if __name__ == "__main__":
    run(__doc__, COMPARISONS)
