"""Every point of a story, and the same story told once for each with a kill -9 exactly there."""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, TypeVar

from tests.faults.support.house import house
from tests.faults.support.nursery import Nursery, die_with_parent
from tests.faults.support.outcome import Outcome, differences, outcome, wrong
from tests.faults.support.processes import TookTooLong
from tests.faults.support.tale import tell
from tests.faults.support.watched import Plan, Point, point_of

Given = TypeVar("Given")
Told = TypeVar("Told")
TRIES = 3  # for a point that is not reached: who is faster is not the same in every run


class Clean(NamedTuple):
    """The story without a crash: where it could have been ended, and how it ends."""

    points: tuple[Point, ...]
    outcome: Outcome


@dataclass(frozen=True)
class Ended:
    """The story with one."""

    point: Point
    reached: bool
    seconds: float
    wrong: list[str] = field(default_factory=list)


@cache
def nursery() -> Nursery:
    """One for all stories of this process."""
    return Nursery()


def clean() -> Clean:
    """Nobody dies."""
    with house(nursery()) as home:
        trace = home.folder / "trace"
        home.begin(lambda service: Plan(service, str(trace)))
        tell(home)
        home.end()
        if said := [*wrong(home), *home.deaths]:
            raise AssertionError(f"without a crash: {said}\n{home.standing()}")
        return Clean(tuple(map(point_of, trace.read_text().splitlines())), outcome(home))


def ended(point: Point, expected: Outcome) -> Ended:
    """One dies, once."""
    began, said = time.monotonic(), list[str]()
    for _ in range(TRIES):
        reached, said = _once(point, expected)
        if reached or said:
            return Ended(point, reached, time.monotonic() - began, said)
    return Ended(point, reached=False, seconds=time.monotonic() - began)


def _once(point: Point, expected: Outcome) -> tuple[bool, list[str]]:
    with house(nursery()) as home:
        trace = str(home.folder / "trace")

        def plan(service: str) -> Plan:
            return Plan(service, trace, str(point) if service == point.service else "")

        try:
            home.begin(plan)
            tell(home)
            home.linger()
        except TookTooLong as late:
            return bool(home.deaths), [str(late)]
        home.end()
        found = [*wrong(home), *differences(outcome(home), expected)]
        if home.deaths not in ([], [point.service]):
            found.append(f"these died: {home.deaths}")
        return bool(home.deaths), [*found, home.standing()] if found else []


def every(points: Sequence[Point], expected: Outcome) -> Iterator[Ended]:
    """How the story ends for each of them, as they come."""
    return spread(ended, points, expected)


def spread(tell_of: Callable[[Given, Outcome], Told], given: Iterable[Given], expected: Outcome) -> Iterator[Told]:
    """What comes of each, told in as many processes as there are processors."""
    lanes = int(os.environ.get("AMENDS_LANES", "0")) or os.cpu_count() or 2
    with ProcessPoolExecutor(lanes, multiprocessing.get_context("spawn"), die_with_parent) as pool:
        under_way = [pool.submit(tell_of, one, expected) for one in given]
        try:
            for one in as_completed(under_way):
                yield one.result()
        finally:
            pool.shutdown(cancel_futures=True)


def moments(points: Sequence[Point]) -> list[Point]:
    """Of points that are one moment the first: behind an effect and before the process's next one nothing happens."""
    found: list[Point] = []
    for service in dict.fromkeys(point.service for point in points):
        own = [point for point in points if point.service == service]
        pairs = zip([None, *own], own, strict=False)
        found += [now for last, now in pairs if last is None or (last.when, now.when) != ("after", "before")]
    return found


def sample(points: Sequence[Point], size: int, seed: int) -> list[Point]:
    """So many of them, of all services and kinds in turn."""
    chosen: list[Point] = []
    shelves = defaultdict[tuple[str, str], list[Point]](list)
    shuffled = random.Random(seed)
    for point in points:
        shelves[point.service, point.kind].append(point)
    rows = list(shelves.values())
    shuffled.shuffle(rows)
    while len(chosen) < min(size, len(points)):
        for row in rows:
            if row and len(chosen) < size:
                chosen.append(row.pop(shuffled.randrange(len(row))))
    return chosen
