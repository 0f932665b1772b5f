"""PostgreSQL, and two evaluators with a relay each on one log and one mirror: whoever stops, sleeps or dies."""

import signal
from collections.abc import Iterator

import psutil
import pytest

from tests.faults.support.installation import Installation, installed
from tests.faults.support.processes import asleep
from tests.support.postgres import PrivateServer, private_server

LONG = pytest.mark.faults_long
pytestmark = [pytest.mark.faults, pytest.mark.connected]


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    with private_server() as started:
        yield started


@pytest.fixture(scope="module")
def installation(server: PrivateServer) -> Iterator[Installation]:
    with installed(server.database()) as one:
        one.evaluator()
        one.evaluator().ready()
        one.evaluators[0].ready()
        yield one


def crash(server: PrivateServer) -> None:
    server.stop(signal.SIGQUIT)
    server.start()


def family(server: PrivateServer) -> list[int]:
    parent = psutil.Process(server.process.pid)
    return [parent.pid, *(child.pid for child in parent.children())]


def test_two_evaluators_record_and_mirror_one_history(installation: Installation) -> None:
    installation.progress(300)
    assert installation.settled("two evaluators at once").wrong == []


def test_a_server_stopped_at_once_costs_nothing(installation: Installation, server: PrivateServer) -> None:
    installation.suffer(lambda: crash(server), times=2)
    assert installation.settled("PostgreSQL stopped at once", times=2).wrong == []


@LONG
def test_ended_connections_cost_nothing(installation: Installation, server: PrivateServer) -> None:
    everybody = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    installation.suffer(lambda: server.run(everybody), times=2)
    assert installation.settled("connections ended", times=2).wrong == []


@LONG
def test_a_paused_server_costs_nothing(installation: Installation, server: PrivateServer) -> None:
    installation.suffer(lambda: asleep(family(server), seconds=2))
    assert installation.settled("PostgreSQL paused 2 s").wrong == []


@pytest.mark.parametrize("seconds", [2, pytest.param(30, marks=LONG)])
def test_an_evaluator_that_slept_wakes_up_into_a_history_that_went_on(
    installation: Installation, seconds: float
) -> None:
    installation.suffer(lambda: asleep([installation.evaluators[0].pid], seconds))
    assert installation.settled(f"one of two paused {seconds} s").wrong == []


def test_an_evaluator_that_dies_leaves_the_work_to_the_other(installation: Installation) -> None:
    installation.suffer(installation.evaluators[0].kill)
    assert installation.settled("one of two killed").wrong == []
