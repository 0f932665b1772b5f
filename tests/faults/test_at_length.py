"""What takes minutes: the mirror lost ten times, a long sleep, and faults at random. AMENDS_SEED=n tells one again."""

import os
import random
from collections.abc import Iterator

import pytest

from tests.faults.support.installation import Installation, installed
from tests.faults.support.processes import asleep
from tests.faults.support.schedule import Schedule
from tests.support.postgres import PrivateServer, private_server

pytestmark = [pytest.mark.faults, pytest.mark.faults_long]
SEEDS = [int(seed) for seed in os.environ.get("AMENDS_SEED", "").split()] or random.sample(range(1_000_000), 3)


@pytest.fixture
def installation() -> Iterator[Installation]:
    with installed() as one:
        yield one


@pytest.fixture
def server() -> Iterator[PrivateServer]:
    with private_server() as started:
        yield started


def test_a_mirror_that_is_lost_ten_times_under_load_costs_nothing(installation: Installation) -> None:
    installation.evaluator().ready()
    installation.suffer(installation.nats.wipe, times=10)
    assert installation.settled("nats-server's store wiped", times=10).wrong == []


def test_one_of_two_on_one_file_sleeps_for_half_a_minute(installation: Installation) -> None:
    first, _ = installation.evaluator().ready(), installation.evaluator().ready()
    installation.suffer(lambda: asleep([first.pid], seconds=30))
    assert installation.settled("one of two paused 30 s").wrong == []


@pytest.mark.parametrize("seed", SEEDS)
def test_faults_at_random_cost_nothing_on_sqlite(installation: Installation, seed: int) -> None:
    happens_at_random(Schedule(seed, installation, None), installation, seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_faults_at_random_cost_nothing_on_postgresql(server: PrivateServer, seed: int) -> None:
    with installed(server.database()) as installation:
        happens_at_random(Schedule(seed, installation, server), installation, seed)


def happens_at_random(schedule: Schedule, installation: Installation, seed: int, rounds: int = 4) -> None:
    print(f"AMENDS_SEED={seed}")
    for _ in range(rounds):
        schedule.happen(times=8)
        assert installation.settled(f"at random, seed {seed}", times=8).wrong == []
