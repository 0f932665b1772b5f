"""A lone evaluator, a log to look at, and a way to tell it things: for tests in which every fact counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from amends.common.answers import Recorded, Report
from amends.common.bus.link import Link
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import AnyFact
from tests.faults.support.checks import Stored, stored
from tests.faults.support.installation import SETTINGS
from tests.faults.support.processes import Amends
from tests.faults.support.team import Pull, looked_up
from tests.faults.support.wire import mirrored, through
from tests.support.nats import NatsServer

SECOND = 1_000_000
PULL = Pull(1)


class Desk:
    """What a test does with it."""

    def __init__(self, evaluator: Amends, database: str, nats: NatsServer) -> None:
        self.evaluator = evaluator
        self._database = database
        self._nats = nats

    def tell(self, *facts: AnyFact) -> None:
        """Report facts about the pull request, each by the first who may, and have them recorded."""
        through(self._nats.url, lambda link: self._tell(link, facts))

    async def _tell(self, link: Link, facts: Sequence[AnyFact]) -> None:
        for fact in facts:
            answer = await NatsRecorder(link, fact.by[0]).report(Report(fact=fact, about=PULL.about))
            assert isinstance(answer, Recorded), answer

    def keys(self, start: str) -> list[str]:
        """The keys in the pull request's loop that begin like this."""
        return [row.key for row in self._rows(start)]

    def time_of(self, start: str) -> float:
        """When the only one of them was recorded."""
        [row] = self._rows(start)
        return row.time / SECOND

    def mirrored(self) -> bool:
        """Whether the mirror has all that the log has."""
        return mirrored(self._nats.url) == len(stored(self._database))

    def _rows(self, start: str) -> list[Stored]:
        return [row for row in stored(self._database) if row.loop == PULL.loop and row.key.startswith(start)]


def rejected(n: int) -> list[AnyFact]:
    """Maria, who may write, has asked for changes for the n-th time."""
    review = PULL.rejected(n)
    return [PULL.observed(n - 1), review, looked_up(review)]


@contextmanager
def desk_at(folder: Path, nats: NatsServer, **settings: object) -> Iterator[Desk]:
    """An evaluator for the length of a block."""
    database = f"sqlite:///{folder}/log.db"
    known = SETTINGS | {"database": database, "nats_url": nats.url} | settings
    evaluator = Amends(folder / "evaluator", "run", "evaluator", **known)
    evaluator.start().ready()
    try:
        yield Desk(evaluator, database, nats)
    finally:
        evaluator.kill()
