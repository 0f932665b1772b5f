"""kill -9 before and after every effect of every service, in one story from the first review to the approval.

The list comes out of the story itself, told without a crash. AMENDS_POINT tells one again, as it was printed.
"""

import ast
import os
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.support.enumeration import Clean, Ended, clean, every, moments, sample
from tests.faults.support.house import SERVICES
from tests.faults.support.watched import Point, point_of

pytestmark = [pytest.mark.faults, pytest.mark.connected]
ROOT = Path(__file__).parents[2]
SOURCES = [path for place in ("libs", "services") for path in sorted((ROOT / place).glob("*/src/**/*.py"))]
# Nothing is put off where nobody dies, nothing is in the way in a new workspace, and nobody left anything there.
RARE = {"note", "remove", "sync"}
SAMPLE = 4
SOME = 25  # after which it is said how many there were
SEED = int(os.environ.get("AMENDS_SEED", "0").split()[0]) or random.randrange(1, 1_000_000)


@pytest.fixture(scope="module")
def story() -> Clean:
    """The story without a crash."""
    told = clean()
    counted = Counter((point.service, point.kind) for point in told.points)
    print(f"\n{len(told.points)} points:", ", ".join(f"{' '.join(which)} {n}" for which, n in sorted(counted.items())))
    return told


def kinds(path: Path) -> set[str]:
    """The kinds of effects that a source tells of."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    named = [one.args[0] for one in calls if isinstance(one.func, ast.Name) and one.func.id in {"effect", "passing"}]
    return {name.value for name in named if isinstance(name, ast.Constant) and isinstance(name.value, str)}


def summed(points: Sequence[Point], found: Sequence[Ended]) -> list[str]:
    """What is wrong; how it went is printed."""
    missed = [str(one.point) for one in found if not one.reached]
    print(f"{len(found)} of {len(points)} points, {sum(one.seconds for one in found):.0f} s; not reached: {missed}")
    return [f"AMENDS_POINT='{one.point}': {line}" for one in found for line in one.wrong]


def test_an_effects_end_and_the_beginning_of_the_next_one_are_one_moment() -> None:
    lines = ["a, git, x, 1, before", "a, git, x, 1, after", "b, git, x, 1, before", "a, http, y, 1, before"]
    points = [point_of(line) for line in lines]
    assert moments(points) == [points[0], points[1], points[2]]


def test_the_story_has_every_service_and_every_kind_of_effect_in_it(story: Clean) -> None:
    assert {point.service for point in story.points} == set(SERVICES)
    found = {point.kind for point in story.points} - {"claim"}  # which is a report
    assert found | RARE == set().union(*map(kinds, SOURCES))


def test_a_kill_at_any_of_a_few_points_ends_as_if_nothing_had_been(story: Clean) -> None:
    print(f"AMENDS_SEED={SEED}")
    found = list(every(sample(story.points, SAMPLE, SEED), story.outcome))
    assert summed(story.points, found) == []
    assert any(one.reached for one in found)


@pytest.mark.faults_long
def test_a_kill_at_any_point_ends_as_if_nothing_had_been(story: Clean) -> None:
    chosen = os.environ.get("AMENDS_POINT")
    points = [point_of(chosen)] if chosen else moments(story.points)
    print(f"{len(points)} moments")
    found = []
    for one in every(points, story.outcome):
        found.append(one)
        if len(found) % SOME == 0:
            print(f"{len(found)} of {len(points)}", flush=True)
        if one.wrong:
            print(f"AMENDS_POINT='{one.point}'", *one.wrong, sep="\n    ")
    assert summed(points, found) == []
    assert sum(one.reached for one in found) >= 0.99 * len(points)
