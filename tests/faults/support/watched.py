"""What is watched in a process of the product: each end of each effect has a name, is written down, may be the last.

A point is a service, a kind, a name, which time it was reached in this life of the process, and before or after.
"""

from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from amends.common.effects import When

_NUMBER = re.compile(r"\b(?:[0-9a-f]{40}|\d+)\b")  # of GitHub's objects
_QUERY = re.compile(r"\b(?:query|mutation)\s+(\w+)")
# The longest are longer than a delivery may be silent: the event comes to somebody else meanwhile.
_NAPS = (0.01, 0.05, 0.1, 0.2, 0.4, 3.0)
_WRITES = ("STREAM.CREATE", "CONSUMER.CREATE")


class Point(NamedTuple):
    """One end of one effect."""

    service: str
    kind: str
    name: str
    nth: int
    when: When

    def __str__(self) -> str:
        return ", ".join(map(str, self))


def point_of(line: str) -> Point:
    """The point that was written down."""
    service, kind, name, nth, when = line.split(", ")
    return Point(service, kind, name, int(nth), "before" if when == "before" else "after")


@dataclass(frozen=True)
class Plan:
    """What becomes of one life: where it ends; or, by a seed, how often an effect is slow, and how often the end."""

    service: str
    trace: str
    end: str = ""
    seed: int = 0
    slow: float = 0.0
    fatal: float = 0.0


class Watched:
    """Hears of every effect of this process."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._end = point_of(plan.end) if plan.end else None
        self._random = random.Random(plan.seed)
        self._passed = Counter[tuple[str, str, When]]()
        self._trace = os.open(Path(plan.trace), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()

    def __call__(self, kind: str, what: object, when: When) -> None:
        """An effect is about to begin, or has ended however it did."""
        for kind_, name in named(kind, what):
            self._reached(kind_, name, when)

    def _reached(self, kind: str, name: str, when: When) -> None:
        with self._lock:
            self._passed[kind, name, when] += 1
            point = Point(self._plan.service, kind, name, self._passed[kind, name, when], when)
            os.write(self._trace, f"{point}\n".encode())
            if point == self._end or self._random.random() < self._plan.fatal:
                os.kill(os.getpid(), signal.SIGKILL)
            nap = self._random.choice(_NAPS) if self._random.random() < self._plan.slow else 0.0
        time.sleep(nap)


def named(kind: str, what: Any) -> list[tuple[str, str]]:
    """What an effect is called, the same in every run; nothing for what only looks."""
    if kind == "report":
        return [("claim" if what.type == "fix.started" else kind, what.type)]
    return [(kind, name) for name in _NAMES[kind](what)]


def _of_http(call: Any) -> list[str]:
    body = call.body if isinstance(call.body, Mapping) else {}
    found = _QUERY.search(str(body.get("query", "")))
    path = _NUMBER.sub("#", call.url.partition("//")[2].partition("/")[2])
    return [f"{call.method} {found[1] if found else path}"]


def _of_ack(told: tuple[bytes, str]) -> list[str]:
    word, subject = told
    return [f"{word.split()[0].decode()} {_type(subject)}"] if word != b"+WPI" else []


def _type(subject: str) -> str:
    return subject.split(".", 2)[2]


_NAMES: dict[str, Callable[[Any], list[str]]] = {
    "http": _of_http,
    "git": lambda call: [next(one for one in call.arguments if not one.startswith(("-", "/")))],
    "ack": _of_ack,
    "note": lambda subject: [_type(subject)],
    "ask": lambda subject: [subject],
    "seat": lambda word: [word],
    "bus": lambda verb: [verb] if verb.startswith(_WRITES) else [],
    "mirror": lambda rows: [row.type for row in rows],
    "commit": lambda events: [events] if isinstance(events, str) else [event.type for event in events],
    "rename": lambda path: [path.name],
    "remove": lambda path: [path.name],
    "sync": lambda path: [path.name],
    "sandbox": lambda launch: [Path(launch.argv[-1]).name],
    "model": lambda _messages: ["turn"],
    "slack": lambda method: [method],
    "mail": lambda word: [word],
}
