"""Hosts whose clocks are wrong, or jump: time in the log never runs backwards, and no wait is lost or ends twice."""

from pathlib import Path

import pytest

from tests.faults.support.clocks import WrongClock
from tests.faults.support.installation import installed
from tests.support.postgres import Server

LONG = pytest.mark.faults_long
HOUR = 3_600
pytestmark = pytest.mark.faults


@pytest.fixture(params=[pytest.param("sqlite", marks=LONG), pytest.param("postgresql", marks=pytest.mark.connected)])
def database(request: pytest.FixtureRequest) -> str:
    """The address of an empty database; the one of SQLite is made by the installation."""
    return request.getfixturevalue("postgres").database() if request.param == "postgresql" else ""


@pytest.mark.parametrize("off", [-HOUR, pytest.param(HOUR, marks=LONG)])
def test_an_evaluator_whose_clock_is_off_fires_in_time(database: str, off: int, tmp_path: Path) -> None:
    clock = WrongClock(tmp_path / "clock", off)
    with installed(database) as installation:
        installation.evaluator(**clock.environment)
        installation.progress()
        assert installation.settled(f"clock off by {off} s").wrong == []


@LONG
def test_a_clock_that_jumps_forth_and_back_costs_nothing(database: str, tmp_path: Path) -> None:
    clock = WrongClock(tmp_path / "clock", 0)
    with installed(database) as installation:
        installation.evaluator(**clock.environment)
        installation.suffer(lambda: clock.jump(2 * HOUR))
        installation.suffer(lambda: clock.jump(0))
        assert installation.settled("clock jumps 2 h and back", times=2).wrong == []


@LONG
def test_two_hosts_hours_apart_write_one_history(postgres: Server, tmp_path: Path) -> None:
    clocks = [WrongClock(tmp_path / str(off), off) for off in (-2 * HOUR, 2 * HOUR)]
    with installed(postgres.database()) as installation:
        for clock in clocks:
            installation.evaluator(**clock.environment)
        installation.progress(500)
        assert installation.settled("two clocks 4 h apart").wrong == []
