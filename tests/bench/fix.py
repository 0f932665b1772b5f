"""The speed of a fix: its git part beside a clone per cycle, and suggestions from end to end: `./taskw bench:fix`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median

from amends.common import children
from tests.bench import cloning, suggesting
from tests.bench.figures import Score, row, title
from tests.bench.running import Comparison, run

FILES, COMMITS = 5_000, 2_000
MEMORY = Path("/dev/shm")
# At least, and what is aimed for: in memory a clone does not pay for what a disk makes of 5,000 new files.
FASTER = {"disk": (10, 50), "tmpfs": (5, 10)}


def places() -> dict[str, Path | None]:
    """Where it is measured: on this machine's disk, and in memory where there is a disk for that."""
    return {"disk": None, **({"tmpfs": MEMORY} if MEMORY.is_dir() else {})}


def git(score: Score, _folder: Path, rounds: int, _seconds: float) -> None:
    """The git part of a cycle: fetch, workspace, changes, commit, push; and the same with a clone each time."""
    title(f"Git part of a cycle, {FILES} files, {COMMITS} commits (medians of {rounds}, milliseconds)")
    for place, where in places().items():
        with (
            tempfile.TemporaryDirectory(prefix="amends-bench-", dir=where) as folder,
            cloning.big(FILES, COMMITS) as big,
        ):
            ours = children.run(cloning.warm(big, Path(folder), rounds))
            clones = {
                "clone": _all(rounds, big, Path(folder, "whole"), ()),
                "clone --depth 1": _all(rounds, big, Path(folder, "shallow"), ("--depth", "1")),
            }
        for name, seconds in {"amends": ours, **clones}.items():
            row(name, place, f"{median(seconds) * 1_000:.1f}")
        best = median(clones["clone"]) / median(ours)
        score.at_least(f"clone per cycle / amends, {place}", best, *FASTER[place])


def suggestions(score: Score, folder: Path, rounds: int, _seconds: float) -> None:
    """Ten suggestions in five files, from `comments.fetched` to `fix.pushed`, through the real services."""
    title(f"Ten suggestions in five files, comments.fetched to fix.pushed (medians of {rounds}, seconds)")
    seconds = [suggesting.once(folder / str(number)) for number in range(rounds)]
    row("amends", "0 model calls", f"{median(seconds):.3f}", f"worst {max(seconds):.3f}")
    score.at_most("seconds to fix.pushed", median(seconds), 1.0)


def _all(rounds: int, big: cloning.Big, folder: Path, options: tuple[str, ...]) -> list[float]:
    return [cloning.by_clone(big, folder, options) for _ in range(rounds)]


COMPARISONS: dict[str, Comparison] = {"git": git, "suggestions": suggestions}

if __name__ == "__main__":
    if shutil.which("git") is None:
        sys.exit("there is no git")
    run(__doc__, COMPARISONS, rounds=7)
