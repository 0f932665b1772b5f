"""The product grown out of one machine: PostgreSQL, three nats-servers as one, each service one process or two.

Each is the very command an operator runs, with its own NATS user, its own role in the database, and of the settings
what its service needs and nothing else.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from amends.common.bus.consumers import DEFERRED
from amends.common.bus.jetstream import ask
from amends.common.bus.link import Link
from amends.common.events import FixStarted
from amends.evaluator.migrate import grant
from tests.faults.support.house import House, Outside, outside
from tests.faults.support.processes import Amends
from tests.faults.support.watched import Plan
from tests.faults.support.wire import through
from tests.support.cluster import SIZE, Cluster, cluster
from tests.support.gateway import SECRET
from tests.support.postgres import Server

ONE, TWO = ("gateway",), ("evaluator", "comment-fetcher", "fixer", "publisher", "notifier")
MEMBERS = (*(f"{service}-{number}" for service in TWO for number in (1, 2)), *(f"{service}-1" for service in ONE))
RECORDER, READER = "amends_town_recorder", "amends_town_reader"
AWAY = 4.0  # seconds for which who was killed is missed
# What each is given, by the beginnings of the names of settings; `docs/operations.md` has the same as a table.
_ALL = ("nats", "data_dir", "holder", "log_level", "ack", "answer")
_GIVEN = {
    "evaluator": ("database", "replicas", "grace", "policy"),
    "gateway": ("database", "gateway", "our_accounts"),
    "comment-fetcher": ("github", "fetcher", "our_accounts"),
    "fixer": ("github", "model"),
    "publisher": ("github",),
    "notifier": ("github", "notifier", "slack", "smtp", "our_accounts"),
}
# What is going on when one of them dies.
_WORK = {
    "evaluator": "comments.fetched",
    "comment-fetcher": "fix.requested",
    "fixer": "fix.started",
    "publisher": "push.requested",
    "notifier": "cycle.finished",
    "nats": "fix.requested",
}
_TIMES = 2  # cycles that there are in any case


@dataclass(frozen=True)
class Command:
    """`amends run ...`."""

    process: Amends

    @property
    def over(self) -> bool:
        return not self.process.running

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()


@dataclass(frozen=True)
class Death:
    """Who dies in the middle of what: so many seconds after its n-th time."""

    service: str
    work: str
    nth: int
    late: float


class Town(House):
    """All of it, and who dies. Whoever is dead is missed for a while: the others have to do without."""

    members = MEMBERS

    def __init__(self, folder: Path, outside: Outside, nats: Cluster, database: str) -> None:
        self.nats = nats
        super().__init__(folder, outside, database=database)
        grant(database, RECORDER, READER)
        self._missing: dict[str, float] = {}
        self._due: list[tuple[float, Death]] = []
        self._to_come: list[Death] = []
        self._random = random.Random(0)

    def _born(self, service: str, plan: Plan | None) -> Command:
        name = service.rpartition("-")[0]
        said = {**self._said(), **self._own(service, name)}
        given = {key: value for key, value in said.items() if key.startswith((*_ALL, *_GIVEN[name]))}
        return Command(Amends(self.folder / service, "run", name, **given).start())

    def _own(self, member: str, service: str) -> dict[str, object]:
        role = RECORDER if service == "evaluator" else READER
        return {
            "database": f"{self.database}{'&' if '?' in self.database else '?'}options=-crole%3D{role}",
            "nats_url": self.nats.plain, "nats_user": service, "nats_password": service, "replicas": SIZE,
            "data_dir": self.folder / member / "data", "holder": member, "notifier_silent_seconds": AWAY / 2,
        }  # fmt: skip

    # --- its life ----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Start all of it at once."""
        for member in self.members:
            self.start(member)
        self.until(lambda: all(map(self._is_up, self.members)), "all are up", 120)
        hook = f"http://127.0.0.1:{self._port}/webhooks/github"
        self.outside.github.webhooks.to(hook, SECRET, self.outside.scene.app)
        self.until(self._looked_around, "the comment-fetcher has looked around")

    def _is_up(self, member: str) -> bool:
        said = self.folder / member / "stderr"
        return said.exists() and "amends: " in said.read_text(errors="replace")

    def doomed(self, seed: int) -> None:
        """From now on one of each will die: which, and in the middle of which cycle, follows from the seed."""
        self._random = random.Random(seed)
        self._to_come = [
            Death(service, work, self._random.randint(1, _TIMES), self._random.choice([0.0, 0.05, 0.2, 0.5]))
            for service, work in _WORK.items()
        ]
        self.befalls = self._fate

    @property
    def spared(self) -> list[str]:
        """Who should have died and did not."""
        return [death.service for death in (*self._to_come, *(death for _, death in self._due))]

    def healed(self) -> bool:
        """Whether nobody is missing any more, and nobody will be."""
        return not self._missing and not self._due

    def _fate(self) -> None:
        now = time.monotonic()
        counted = Counter(event.type for event in self.events())
        for death in [death for death in self._to_come if counted[death.work] >= death.nth]:
            self._to_come.remove(death)
            self._due.append((now + death.late, death))
        for when, death in [one for one in self._due if one[0] <= now]:
            self._due.remove((when, death))
            self._dies(death.service)
        for member in [member for member, until in self._missing.items() if until <= now]:
            del self._missing[member]
            self.nats.revive() if member == "nats" else self.start(member)

    def _dies(self, service: str) -> None:
        if service == "nats":
            number = self._random.randrange(SIZE)
            self.nats.kill(number)
            self.deaths.append(f"nats-{number}")
            self._missing["nats"] = time.monotonic() + AWAY
            return
        member = self._at_work(service)
        self._lives.pop(member).kill()
        self.deaths.append(member)
        self._missing[member] = time.monotonic() + AWAY

    def _at_work(self, service: str) -> str:
        """The one that is known to be, else one of them."""
        if service == "fixer":
            holders = [event.fact.holder for event in self.events() if isinstance(event.fact, FixStarted)]
            return holders[-1].partition("/")[0]
        if service == "notifier":
            return through(self.nats.url, _seated)
        return self._random.choice([member for member in self.members if member.startswith(service)])


async def _seated(link: Link) -> str:
    """Which notifier has the seat, as an operator finds out."""
    found = await ask(link, f"STREAM.MSG.GET.{DEFERRED}", last_by_subj="deferred.notifier.seat")
    return b64decode(found["message"]["data"]).decode().partition("/")[0]


@contextmanager
def town(postgres: Server) -> Iterator[Town]:
    """A town of which nothing runs yet."""
    folder = Path(tempfile.mkdtemp(prefix="amends-town-"))
    database = postgres.database()
    roles = (RECORDER, READER)
    for role in roles:
        postgres.run(f"CREATE ROLE {role} LOGIN")
    try:
        with cluster(folder) as servers, outside(servers) as everything:
            made = Town(folder, everything, servers, database)
            try:
                yield made
            finally:
                made.close()
    finally:
        postgres.drop(database)
        for role in roles:
            postgres.run(f"DROP ROLE {role}")
        shutil.rmtree(folder, ignore_errors=True)
