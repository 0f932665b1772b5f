"""A whole installation of real processes under load: a nats-server, a log, evaluators, and everybody who reports."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from amends.common.events import REACTIONS
from amends.common.log import Log
from tests.faults.support.checks import Findings, examined, stored
from tests.faults.support.load import Crowd, Load
from tests.faults.support.processes import LONGEST, Amends, TookTooLong, page, wait_for
from tests.faults.support.reflection import compared
from tests.faults.support.report import LINES, Line
from tests.faults.support.wire import consumers, mirrored
from tests.support.command import nats_url
from tests.support.facts import FULL_NAME
from tests.support.nats import NatsServer

# Short waits, and nothing that would stop the load: neither fixers nor money nor comments run out.
SETTINGS = {
    "grace_seconds": 0,
    "log_level": "warning",
    "policy_repositories": f'["{FULL_NAME}"]',
    "policy_settle_seconds": 0,
    "policy_max_fixers": 1_000,
    "policy_budget_day_usd": 1_000_000,
    "policy_budget_comments_per_hour": 1_000_000,
}
USUAL = Crowd()


class Installation:
    """Everything that can be killed, and the load that must not notice."""

    def __init__(self, folder: Path, database: str, nats: NatsServer, crowd: Crowd, **settings: object) -> None:
        self.folder = folder
        self.database = database
        self.nats = nats
        self.where = database.partition(":")[0]
        self.evaluators: list[Amends] = []
        self._crowd = crowd
        self.load = Load(nats.url, database, crowd)
        self._settings = SETTINGS | {"database": database, "nats_url": nats.url} | settings

    def evaluator(self, **environment: str) -> Amends:
        """Start one more."""
        folder = self.folder / f"evaluator-{len(self.evaluators)}"
        self.evaluators.append(Amends(folder, "run", "evaluator", **self._settings))
        self.evaluators[-1].start(**environment)
        return self.evaluators[-1]

    def run(self, *arguments: str) -> int:
        """Run one of amends' commands to its end; answers its exit code."""
        return Amends(self.folder / arguments[0], *arguments, **self._settings).start().ended()

    def settle(self, seconds: float = LONGEST) -> None:
        """Everything that was begun comes to its end, and the mirror catches up: nothing was lost on the way."""
        self.load.rest()
        try:
            wait_for(lambda: self.load.resting, "what was begun comes to its end", seconds)
            wait_for(lambda: self._nothing_is_owed() and self.load.resting, "all is answered", seconds)
            wait_for(self._mirrored, "the mirror catches up", seconds)
        except TookTooLong as error:
            raise TookTooLong(f"{error}; {self.load}\n{self._standing()}") from None

    def settled(self, fault: str, times: int = 1) -> Findings:
        """What is found once everything has settled; then the load goes on."""
        self.settle()
        found = self.examine(fault, times, twice=True)
        self.load.go_on()
        return found

    def _standing(self) -> str:
        """For who has to find out what went wrong."""
        running = [evaluator for evaluator in self.evaluators if evaluator.running]
        said = "\n".join(evaluator.said()[-2_000:] + page(f"{evaluator.ops}/readyz")[1] for evaluator in running)
        with closing(Log(self.database)) as log:
            waits = "\n".join(map(str, (*log.timers(limit=20), *log.outstanding()[:20])))
            return f"the log ends at {log.head()}, now is {log.now()}\n{waits}\nthe evaluators that run said:\n{said}"

    def _nothing_is_owed(self) -> bool:
        with closing(Log(self.database)) as log:
            return log.outstanding() == []

    def _mirrored(self) -> bool:
        with closing(Log(self.database)) as log:
            return mirrored(self.nats.url) == log.head().pos

    def examine(self, fault: str, times: int = 1, *, twice: bool = False) -> Findings:
        """Every promise, at this moment; the line goes into the table. `twice` folds the log in both ways we have."""
        found = examined(self.database, self.load.ledger, twice=twice)
        found.mirrored, found.differing = compared(stored(self.database), self.database, self.nats.url)
        LINES.append(Line(fault, self.where, times, found))
        return found

    def progress(self, events: int = 100, seconds: float = LONGEST) -> None:
        """So many more events are answered."""
        goal = self.load.ledger.acknowledged + events
        wait_for(lambda: self.load.ledger.acknowledged >= goal, f"{events} more answers", seconds)

    def suffer(self, fault: Callable[[], object], times: int = 1, work: int = 100) -> None:
        """Something happens so many times, in the middle of work each time."""
        for _ in range(times):
            self.progress(work)
            fault()
        self.progress(work)

    def upgraded(self) -> None:
        """Another evaluator joins, and the one before it is asked to end, as a rolling upgrade does."""
        before = self.evaluators[-1]
        self.evaluator().ready()
        assert before.stop() == 0

    def stands_still(self, seconds: float) -> None:
        """For so long nothing is acknowledged, once the answers that were under way have arrived."""

        def still() -> bool:
            before = self.load.ledger.acknowledged
            time.sleep(seconds)
            return self.load.ledger.acknowledged == before

        wait_for(still, "it acknowledges nothing more")

    def wait_for_unready(self, why: str) -> None:
        """The evaluator says itself what is wrong."""
        health = f"{self.evaluators[-1].ops}/readyz"
        wait_for(lambda: why in page(health)[1], f"it says {why!r}")

    def wait_for_consumers(self) -> None:
        """The relay looks now and then whether all services have their durable."""
        wait_for(lambda: consumers(self.nats.url) == set(REACTIONS), "every service has its consumer")

    def power_cut(self) -> None:
        """Reporters and evaluators are gone, in the middle of everything."""
        self.load.stop()
        for evaluator in self.evaluators:
            evaluator.kill()

    def again(self) -> None:
        """The same reporters come back and begin with the same facts: what they say must be known already."""
        self.load = Load(self.nats.url, self.database, self._crowd, self.load.ledger).start()

    def end(self) -> None:
        """End all that was started."""
        self.power_cut()


@contextmanager
def installed(database: str = "", crowd: Crowd = USUAL, **settings: object) -> Iterator[Installation]:
    """An installation for the length of a block, with its load under way and no evaluator yet."""
    with (
        tempfile.TemporaryDirectory(prefix="amends-faults-") as folder,
        installation_on(Path(folder), database, crowd, **settings) as installation,
    ):
        yield installation


@contextmanager
def installation_on(
    mirror: Path, database: str = "", crowd: Crowd = USUAL, **settings: object
) -> Iterator[Installation]:
    """The same, with nats-server's store in a place of its own."""
    with tempfile.TemporaryDirectory(prefix="amends-faults-") as name:
        folder = Path(name)
        nats = NatsServer(mirror).start()
        installation = Installation(folder, database or f"sqlite:///{folder}/log.db", nats, crowd, **settings)
        installation.load.start()
        try:
            yield installation
        finally:
            installation.end()
            nats.kill()


@contextmanager
def up_at(data_dir: Path, database: str) -> Iterator[Amends]:
    """`amends up` for the length of a block, with somebody who reports to it as much as it takes."""
    process = Amends(data_dir, "up", "--data-dir", str(data_dir), **SETTINGS | {"database": database})
    process.start().ready()
    gossips = Crowd(people=0, gossips=2, services=False)
    load = Load(nats_url(data_dir, "gateway"), database, gossips).start()
    try:
        yield process
    finally:
        process.kill()
        load.stop()
