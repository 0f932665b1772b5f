"""The speed of the core beside its peers, in one run: `./taskw bench:core`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench import growth, mirror, ready, rebuild, steps
from tests.bench.figures import Score

Comparison = Callable[[Score, Path, int, float], None]
COMPARISONS: dict[str, Comparison] = {
    "steps": steps.compare,
    "rebuild": rebuild.compare,
    "growth": growth.compare,
    "mirror": mirror.compare,
    "ready": ready.compare,
}


def main() -> None:
    """Measure what was asked for, and say at the end what was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three short rounds: an impression, not a figure to quote")
    parser.add_argument("--only", choices=COMPARISONS, action="append", help="one comparison; may be repeated")
    asked = parser.parse_args()
    rounds, seconds = (3, 0.5) if asked.quick else (5, 2.0)
    score = Score()
    for name in asked.only or COMPARISONS:
        with tempfile.TemporaryDirectory(prefix="amends-bench-") as folder:
            COMPARISONS[name](score, Path(folder), rounds, seconds)
    print("\nMISSED:" if score.missed else "\nEverything that must be reached is reached.")
    for missed in score.missed:
        print(f"  {missed}")


if __name__ == "__main__":
    main()
