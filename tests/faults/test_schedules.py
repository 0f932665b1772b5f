"""The story under schedules at random: webhooks, messages and effects doubled, late and in another order, and deaths.

AMENDS_SEED="17 4" tells these again; AMENDS_SCHEDULES is how many, if not as many as usual.
"""

import os
import random

import pytest

from tests.faults.support.enumeration import clean
from tests.faults.support.schedules import each

pytestmark = [pytest.mark.faults, pytest.mark.connected, pytest.mark.faults_long]
SOME = 25  # after which it is said how many there were
MANY = int(os.environ.get("AMENDS_SCHEDULES", "200"))
SEEDS = [int(seed) for seed in os.environ.get("AMENDS_SEED", "").split()] or random.sample(range(1_000_000), MANY)


def test_under_any_schedule_nothing_is_lost_and_nothing_is_done_twice() -> None:
    expected, deaths, wrong = clean().outcome, 0, []
    for number, told in enumerate(each(SEEDS, expected), 1):
        deaths += len(told.deaths)
        if number % SOME == 0:
            print(f"{number} of {len(SEEDS)}", flush=True)
        if told.wrong:
            wrong.append(told.seed)
            print(f"AMENDS_SEED={told.seed}", *told.wrong, sep="\n    ")
    print(f"{len(SEEDS)} schedules, {deaths} deaths")
    assert wrong == []
    assert deaths > len(SEEDS) // 2
