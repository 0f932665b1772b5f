"""The story again, with much going wrong at once: what, and at which fact or effect, follows from a seed.

Webhooks come twice, late and in another order; processes are slow, some for so long that their event is given to
somebody else, and die; nats-server dies, and forgets. What is the same in the end whatever the order: every word has
its answer, each cycle one commit, each thing is said once.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from amends.common.events import CycleFinished
from amends.doubles.github.webhooks.disorder import Mishap
from tests.faults.support.enumeration import nursery, spread
from tests.faults.support.house import SERVICES, House, house
from tests.faults.support.outcome import Outcome, as_found, differences, wrong
from tests.faults.support.processes import TookTooLong
from tests.faults.support.tale import TALE, answer
from tests.faults.support.watched import Plan
from tests.support.nats import NatsServer

LIVES = 3  # of one service; the last is quiet
LONGEST = 150.0
_MARK = re.compile(r"<!-- (amends:[^ ]+) -->")
_KEY = re.compile(r"^Amends-Key: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Told:
    """How the story went under one seed."""

    seed: int
    seconds: float
    deaths: tuple[str, ...]
    wrong: list[str] = field(default_factory=list)


class Schedule:
    """All that happens under a seed."""

    def __init__(self, seed: int, home: House) -> None:
        self._random = random.Random(seed)
        self._home = home
        self._seeds = {service: self._random.getrandbits(32) for service in SERVICES}
        self._nats = sorted(self._random.sample(range(6, 60), self._random.choice([0, 1, 2])))
        self._forgetful = self._random.random() < 0.3
        self._slow, self._fatal = self._random.choice([0.0, 0.02, 0.05]), self._random.choice([0.002, 0.005, 0.01])

    def plan(self, service: str) -> Plan:
        """The next life of a service."""
        life = self._home.deaths.count(service)
        quiet = life >= LIVES - 1
        said = Plan(service, str(self._home.folder / "trace"), seed=self._seeds[service] + life)
        return said if quiet else Plan(**{**vars(said), "slow": self._slow, "fatal": self._fatal})

    def webhooks(self) -> None:
        """What becomes of the next few."""
        for _ in range(self._random.randrange(6)):
            event = self._random.choice(["pull_request*", "pull_request_review", "pull_request_review_comment", "*"])
            late, copies = self._random.choice([0.0, 0.1, 0.5, 1.5]), self._random.randrange(3)
            mishap = Mishap(event, copies=copies, new_ids=self._random.random() < 0.5, seconds=late)
            self._home.outside.github.webhooks.add(mishap)

    def disorder(self) -> int:
        """In which order."""
        return self._random.getrandbits(32)

    def befalls(self) -> None:
        """Whatever is due by what is in the log."""
        if self._nats and len(self._home.events()) >= self._nats[0]:
            self._nats.pop(0)
            nats = self._home.outside.nats
            assert isinstance(nats, NatsServer)
            (nats.wipe if self._forgetful else nats.restart)()
            self._home.deaths.append("nats-server")


def each(seeds: Sequence[int], expected: Outcome) -> Iterator[Told]:
    """How it goes under each, as they come."""
    return spread(told, seeds, expected)


def told(seed: int, expected: Outcome) -> Told:
    """The whole story under this seed."""
    began = time.monotonic()
    with house(nursery()) as home:
        schedule = Schedule(seed, home)
        home.reborn = schedule.plan
        try:
            home.begin(schedule.plan)
            home.befalls = schedule.befalls
            home.outside.model.always = answer
            for part, facts in TALE:
                schedule.webhooks()
                with home.outside.github.webhooks.reordered(schedule.disorder()):
                    part(home)
                home.until(partial(home.rests, *facts), f"what comes of {part.__name__}", LONGEST)
            home.end()
            found = [*wrong(home), *amiss(home, expected)]
        except TookTooLong as late:
            return Told(seed, time.monotonic() - began, tuple(home.deaths), [str(late)])
        said = [*found, home.standing()] if found else []
        return Told(seed, time.monotonic() - began, tuple(home.deaths), said)


def amiss(home: House, expected: Outcome) -> Iterator[str]:
    """What is lost or doubled; how many cycles it took is a matter of the order."""
    scene, loop = home.outside.scene, home.loop
    keys = Counter(key for commit in scene.repo.log("feature") for key in _KEY.findall(commit.message))
    pushed = [
        one.fact.n for one in home.events() if isinstance(one.fact, CycleFinished) and one.fact.outcome == "pushed"
    ]
    wanted = Counter(f"{loop.id}/cycle/{n}" for n in pushed)
    yield from (
        f"{key}: {keys[key]} commits, not {wanted[key]}" for key in {*keys, *wanted} if keys[key] != wanted[key]
    )
    talk = [*scene.pull.conversation, *(one for thread in scene.pull.threads for one in thread.comments)]
    marks = Counter(mark for one in talk if one.author == scene.app.login for mark in _MARK.findall(one.body)[:1])
    yield from (f"{mark} was said {times} times" for mark, times in marks.items() if times > 1)
    found, expected = as_found(home, expected)
    for what in ("slack", "mail"):
        yield from differences(found[what], expected[what], what)
    [one], [other] = (said["github"]["acme/widget"]["issues"].values() for said in (found, expected))
    for what in ("labels", "reviewers", "reviews", "threads", "open"):
        yield from differences(one[what], other[what], f".{what}")
    yield from differences(found["files"], expected["files"], ".files")
    for what in ("phase", "finished", "items", "asks", "human", "live"):
        yield from differences(found["loop"][what], expected["loop"][what], f".{what}")
