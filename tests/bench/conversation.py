"""How the bench talks to what it measures: a line of JSON each way. Standard library only: peers import it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    """So many things in so many seconds, and how long single ones took. `cpu` is the process's own."""

    count: int
    seconds: float
    cpu: float
    p50: float = 0.0
    p99: float = 0.0


def measured(seconds: float, cpu: float, took: list[float]) -> Measured:
    """What single durations come to."""
    took = sorted(took)
    return Measured(len(took), seconds, cpu, took[len(took) // 2], took[len(took) * 99 // 100])


def converse(answer: Callable[..., Measured]) -> None:
    """Say that we are ready, then answer every line with what was measured, until there are no more."""
    print("{}", flush=True)
    for line in sys.stdin:
        print(json.dumps(asdict(answer(**json.loads(line)))), flush=True)


def stored(path: str) -> list[str]:
    """A file of lines, as `workload` wrote it for the peers."""
    return Path(path).read_text(encoding="utf-8").splitlines()


def line(question: Mapping[str, object]) -> str:
    """A question as it is sent."""
    return json.dumps(question) + "\n"
