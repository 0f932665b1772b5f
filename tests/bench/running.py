"""One run of some comparisons, as it was asked for on the command line."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from tests.bench.figures import Score

# In this folder, in so many rounds, of so many seconds where there is no other end.
Comparison: TypeAlias = Callable[[Score, Path, int, float], None]


def run(described: str | None, comparisons: Mapping[str, Comparison], rounds: int = 5) -> None:
    """Measure what was asked for, and say at the end what was missed."""
    parser = argparse.ArgumentParser(description=described)
    parser.add_argument("--quick", action="store_true", help="three short rounds: an impression, not a figure to quote")
    parser.add_argument("--only", choices=comparisons, action="append", help="one comparison; may be repeated")
    asked = parser.parse_args()
    score, effort = Score(), (3, 0.5) if asked.quick else (rounds, 2.0)
    for name in asked.only or comparisons:
        with tempfile.TemporaryDirectory(prefix="amends-bench-") as folder:
            comparisons[name](score, Path(folder), *effort)
    print("\nMISSED:" if score.missed else "\nEverything that must be reached is reached.")
    for missed in score.missed:
        print(f"  {missed}")
