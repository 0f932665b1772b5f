"""An installation whose services are real: the crew works from the mirror's consumers, and people give it work."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nats.aio.msg import Msg

from amends.common.bus.consumers import Consumers
from amends.common.bus.jetstream import NANOSECONDS
from amends.common.bus.link import Link, status
from amends.common.bus.mirror import STREAM
from tests.connected.support.crew import ACK_SECONDS, Forge
from tests.faults.support.checks import Stored, stored
from tests.faults.support.installation import Installation, installed
from tests.faults.support.load import Crowd
from tests.faults.support.processes import Process, wait_for
from tests.faults.support.team import Pull
from tests.faults.support.wire import through

ROOT = Path(__file__).parents[3]
PEOPLE = Crowd(people=4, gossips=0, services=False)
STEPS = ("fix.prepared", "push.requested", "fix.pushed", "cycle.finished")  # there may be several attempts before these


class Crew(Process):
    """The services' process."""

    def __init__(self, folder: Path, nats_url: str, seconds: float) -> None:
        """`seconds` is how long a piece of work takes, and an effect before and after it is made."""
        self.forge = Forge(folder / "forge")
        module = "tests.connected.support.crew"
        super().__init__(folder, sys.executable, "-m", module, nats_url, str(self.forge.file), str(seconds))

    def begin(self) -> Crew:
        """Start it, and wait until it works."""
        self.start(PYTHONPATH=str(ROOT))
        wait_for(lambda: "crew: at work" in self.said(), f"the crew is at work: {self.said()}")
        return self


class Yard:
    """The installation and its crew."""

    def __init__(self, installation: Installation, seconds: float, seed: int) -> None:
        self.installation = installation
        self.crew = Crew(installation.folder / "crew", installation.nats.url, seconds)
        self._random = random.Random(seed)

    def kill_the_crew(self, times: int) -> None:
        """Kill it in the middle of whatever it does, and start it again."""
        for _ in range(times):
            self.installation.progress(15)
            time.sleep(self._random.random() * 0.2)
            self.crew.kill()
            self.crew.begin()

    def stranded(self) -> dict[str, int]:
        """How many events each consumer still believes to be in somebody's hands, and gives to nobody else."""
        return through(self.installation.nats.url, _kept)

    def amiss(self) -> list[str]:
        """What differs from a run in which nobody was killed: in the log for each cycle, and outside for everybody."""
        pulls = self.installation.load.pulls
        rows = stored(self.installation.database)
        steps = Counter(step for row in rows if (step := _step(row)))
        due = Counter(step for number, rounds in pulls.items() for step in _steps(number, rounds))
        done = Counter(self.crew.forge.file.read_text().split("\n")[:-1])
        owed = Counter(effect for number, rounds in pulls.items() for effect in _effects(number, rounds))
        return [*_unequal("the log", steps, due), *_unequal("the forge", done, owed)]


async def _kept(link: Link) -> dict[str, int]:
    """What was handed back comes to whoever asks next, long before its time for an acknowledgement is over."""
    standing = await Consumers(link).standing()
    in_hand = {service: number for service, (_, number, _) in standing.items() if number}
    handed = {service: await _handed(link, service, number) for service, number in in_hand.items()}
    return {service: number - handed[service] for service, number in in_hand.items() if number > handed[service]}


async def _handed(link: Link, service: str, number: int) -> int:
    """How many of the next so many deliveries are not the first of their event."""
    came: list[int] = []
    over = asyncio.Event()

    async def hear(message: Msg) -> None:
        if status(message):
            over.set()
        elif message.metadata.num_delivered > 1:
            came.append(message.metadata.sequence.stream)

    inbox = link.new_inbox()
    await link.subscribe(inbox, hear)
    request = {"batch": number, "expires": round(ACK_SECONDS / 2 * NANOSECONDS)}
    await link.publish(f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{service}", json.dumps(request).encode(), reply=inbox)
    with suppress(TimeoutError):
        async with asyncio.timeout(ACK_SECONDS / 2):
            await over.wait()
    return len(set(came))


def _step(row: Stored) -> str:
    """A step of a cycle's last attempt, without the number of the attempt; those before it ended in a crash."""
    said = json.loads(row.data)
    return f"{row.loop} {row.type} {said['n']}" if row.type in STEPS else ""


def _steps(number: int, rounds: int) -> list[str]:
    loop = Pull(number).loop
    return [f"{loop} {type_} {n}" for n in range(1, rounds + 1) for type_ in STEPS]


def _effects(number: int, rounds: int) -> list[str]:
    loop = Pull(number).loop
    cycles = [
        f"{what} {loop}/cycle/{n}{which}"
        for n in range(1, rounds + 1)
        for what, which in (("commit", ""), ("comment", "/finished"), ("comment", "/review"))
    ]
    return [*cycles, f"resolve {loop}/cycle/1", f"comment {loop}/finished/1"]


def _unequal(where: str, found: Counter[str], expected: Counter[str]) -> list[str]:
    keys = sorted(found.keys() | expected.keys())
    return [f"{where} has {key} {found[key]} times, not {expected[key]}" for key in keys if found[key] != expected[key]]


@contextmanager
def working(seconds: float = 0.02, seed: int = 1) -> Iterator[Yard]:
    """An installation with its crew at work; pieces of work take so many seconds."""
    with installed(crowd=PEOPLE, ack_seconds=ACK_SECONDS, policy_max_attempts=20) as installation:
        installation.evaluator().ready()
        yard = Yard(installation, seconds, seed)
        yard.crew.begin()
        try:
            yield yard
        finally:
            yard.crew.kill()
