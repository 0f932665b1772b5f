"""The story on three nats-servers, PostgreSQL and two of each service, while one of each is killed on the way.

AMENDS_SEED="17 4" tells these again.
"""

import os
import random
from collections import Counter
from functools import partial

import pytest

from tests.faults.support.outcome import Outcome, outcome, wrong
from tests.faults.support.schedules import amiss
from tests.faults.support.tale import TALE, answer
from tests.faults.support.town import Town, town
from tests.support.command import ran
from tests.support.postgres import Server

pytestmark = [pytest.mark.faults, pytest.mark.connected, pytest.mark.faults_long]
SEEDS = [int(seed) for seed in os.environ.get("AMENDS_SEED", "").split()] or random.sample(range(1_000_000), 3)
LONGEST = 90.0


def told(home: Town) -> Outcome:
    """The whole story; whoever is missed is back before its end."""
    home.outside.model.always = answer
    for part, facts in TALE:
        part(home)
        home.until(partial(home.rests, *facts), f"what comes of {part.__name__}", LONGEST)
        home.until(home.healed, "all are there again")
        home.until(home.rests, "all rests", LONGEST)
    return outcome(home)


def counted(home: Town) -> str:
    """What there is to say of it."""
    types = Counter(event.type for event in home.events())
    commits, pull = home.outside.scene.repo.log("feature"), home.outside.scene.pull
    ours = [one for one in pull.conversation if one.author == home.outside.scene.app.login]
    return (
        f"{sum(types.values())} events, {types['cycle.finished']} cycles, {types['fix.requested']} attempts, "
        f"{types['fix.pushed']} pushes, {len(commits)} commits on the branch, {len(ours)} comments of ours"
    )


@pytest.fixture(scope="module")
def clean(postgres: Server) -> Outcome:
    """The story while nobody dies."""
    with town(postgres) as home:
        home.open()
        expected = told(home)
        print(f"\nnobody dies: {counted(home)}")
        assert [*wrong(home), *home.deaths] == []
        return expected


@pytest.mark.parametrize("seed", SEEDS)
def test_one_of_each_dies_and_nothing_is_lost_and_nothing_is_done_twice(
    clean: Outcome, postgres: Server, seed: int
) -> None:
    with town(postgres) as home:
        home.open()
        home.doomed(seed)
        told(home)
        print(f"\nAMENDS_SEED={seed}, killed {', '.join(home.deaths)}: {counted(home)}")
        assert home.spared == []
        assert [*wrong(home), *amiss(home, clean)] == [], home.standing()
        assert looked(home) == (0, 0)


def looked(home: Town) -> tuple[int, int]:
    """What `amends` itself says of the log, the mirror, and the views."""
    where = ("--database", home.database)
    (home.folder / "amends.toml").write_text("replicas = 3\n")
    doctor = ran("doctor", "--log", "--deep", *where, "--nats", home.nats.address("evaluator"), cwd=home.folder)
    replay = ran("replay", "--verify", *where, cwd=home.folder)
    said = [line for line in doctor.stdout.splitlines() if '"audit"' in line or '"fail"' in line]
    print(*said, replay.stdout.rstrip(), sep="\n")
    return doctor.returncode, replay.returncode
