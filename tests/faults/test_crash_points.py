"""kill -9 at every named point, under load, in one log: each life takes over what the last one left."""

from collections.abc import Iterator

import pytest

from amends.common.crash import POINTS
from tests.faults.support.installation import Installation, installed
from tests.faults.support.processes import KILLED_BY_A_CRASH_POINT

LONG = pytest.mark.faults_long
pytestmark = pytest.mark.faults


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=LONG)])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    database = request.getfixturevalue("postgres").database() if request.param == "postgresql" else ""
    with installed(database) as one:
        yield one


@pytest.mark.parametrize("nth", [3, *(pytest.param(nth, marks=LONG) for nth in (1, 8, 50))])
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_this_point_loses_and_doubles_nothing(installation: Installation, point: str, nth: int) -> None:
    nth = min(nth, 2) if point.startswith("clock") else nth  # it looks once a second
    assert installation.evaluator(AMENDS_CRASH_AT=f"{point}:{nth}").ended() == KILLED_BY_A_CRASH_POINT
    assert installation.examine(f"kill -9 at {point}").wrong == []


def test_after_all_these_kills_what_was_begun_comes_to_its_end(installation: Installation) -> None:
    evaluator = installation.evaluator().ready()
    assert installation.settled("after all these kills", times=0).wrong == []
    assert evaluator.stop() == 0
