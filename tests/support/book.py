"""A log for property tests: written by the real Batch in a real database, on a clock that only the test moves."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol

import pytest

from amends.common.answers import Answer, Go, Report, Stop
from amends.common.envelope import Event, Row, event_of
from amends.common.events import AnyFact, PolicyChanged, PolicyObserved, Reporter, TimerFired
from amends.common.identity import INSTALLATION, About, policy_loop
from amends.common.log import ClaimRow, Head, Log, LoopRow, OutstandingRow, TimerRow
from amends.common.loop import EPOCH, Loop, evolve
from amends.common.policy import Policy
from amends.common.standing import policy_for
from amends.common.state import load
from amends.evaluator.admission import may
from amends.evaluator.batch import Batch, Held, Said
from amends.evaluator.code import CODE
from amends.evaluator.decider import Decisions, decide
from amends.evaluator.migrate import migrate
from amends.evaluator.projections import project
from amends.evaluator.writer import Writer
from tests.support.logs import empty
from tests.support.postgres import Server

SECOND = 1_000_000
OPENED = (datetime(2024, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
Decider = Callable[[Loop, Policy], Decisions]
CONTENTS = (b"one", b"two", b"three")  # of the blobs that every book has


@dataclass
class Views:
    """All that is kept beside the log of its loops."""

    loops: dict[str, LoopRow] = field(default_factory=dict)
    timers: set[TimerRow] = field(default_factory=set)
    outstanding: set[OutstandingRow] = field(default_factory=set)
    claims: dict[tuple[str, int, int], ClaimRow] = field(default_factory=dict)


class Book:
    """Reports go in, batch by batch; a second passes after each. A model of the double may report from its thread."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.turn = Lock()  # who has it may use the writer
        self.writer = Writer(url)
        self.log = Log(url)
        self.now = OPENED
        self.cache: dict[str, Held] = {}
        self.sure: set[str] = set()
        self.head: Head | None = None
        self.blobs = [self.writer.put_blob(content) for content in CONTENTS]

    def close(self) -> None:
        self.writer.close()
        self.log.close()

    def record(self, *said: Said, decider: Decider = decide, code: str = CODE) -> list[Answer]:
        """One transaction, of this program or of another that decides like that."""
        with self.turn, self.writer.transaction() as tx:
            tx.now = max(self.now, tx.head.time)
            sure = self.sure if tx.head == self.head else set[str]()  # as the recorder: else somebody else has written
            batch = Batch(tx, self.cache, sure=sure, decider=decider, code=code)
            answers = batch.record(list(said))
        self.cache.update(batch.held)
        self.sure, self.head = sure | batch.held.keys(), tx.head
        self.now += SECOND
        return answers

    def says(self, *facts: AnyFact, number: int = 7) -> list[Answer]:
        """Report facts about one pull request, each by the first of those who may and in a transaction of its own."""
        return [self.record(reported(fact, number))[0] for fact in facts]

    def waits(self, seconds: float) -> None:
        """Time goes by, and what falls due in it fires."""
        until = self.now + round(seconds * SECOND)
        while due := [timer for timer in self.log.timers() if timer.due <= until]:
            self.now = max(self.now, due[0].due)
            self.record(fired(due[0]))
        self.now = max(self.now, until)

    def put(self, content: bytes) -> str:
        with self.turn:
            return self.writer.put_blob(content)

    def may(self, pos: int, run: str = "") -> Go | Stop:
        with self.turn, self.writer.transaction() as tx:
            event = self.event(pos)
            batch = Batch(tx, self.cache)
            loop = batch.look(event.loop).loop
            return may(loop, batch.policy(loop), event, run)

    def forget(self) -> None:
        """As after a restart: every state is read from its row again."""
        self.cache.clear()
        self.head = None

    def rows(self) -> list[Row]:
        return self.log.rows(0, 100_000)

    def events(self) -> list[Event]:
        return [event_of(row) for row in self.rows()]

    def event(self, pos: int) -> Event:
        row = self.log.row(pos)
        assert row is not None
        return event_of(row)

    def loop(self, name: str) -> Loop:
        row = self.log.loop(name)
        return load(row.state) if row else Loop(name)

    def policy(self, loop: Loop) -> Policy:
        return policy_for(loop, self.loop(INSTALLATION), self.loop(policy_loop(loop.id)))

    def views(self) -> Views:
        names = [row.loop for row in self.log.loops()]
        return Views(
            {name: row for name in names if (row := self.log.loop(name))},
            set(self.log.timers(limit=10_000)),
            set(self.log.outstanding()),
            {(claim.loop, claim.n, claim.k): claim for claim in self.log.claims()},
        )


def broken(loop: Loop, _policy: Policy) -> Decisions:
    """A decider with a mistake in it, which shows in the changes only."""
    if loop.kind == "change":
        raise KeyError(loop.id)
    return []


def reported(fact: AnyFact, number: int = 7, service: Reporter | None = None) -> Said:
    """A report of a fact about a pull request of repository 1, or about what holds its settings."""
    about = About(repo=1, number=number)
    if isinstance(fact, PolicyChanged):
        about = About()
    if isinstance(fact, PolicyObserved):
        about = About(repo=1)
    return Said(service or fact.by[0], Report(fact=fact, about=about))


def fired(timer: TimerRow, actor: str = "") -> Said:
    """The report that a timer has fired; of an `operator`, before it is due."""
    fact = TimerFired(name=timer.name, generation=timer.generation)
    return Said("evaluator", Report(fact=fact, about=About(loop=timer.loop), actor=actor))


def rebuilt(rows: Sequence[Row]) -> Views:
    """The views of a log, from nothing: fold every event, and look at each loop as it was after its last."""
    loops: dict[str, Loop] = {}
    views = Views()
    last = {row.loop: row.pos for row in rows}
    waits: dict[str, tuple[TimerRow, ...]] = {}
    owed: dict[str, tuple[OutstandingRow, ...]] = {}
    for event in map(event_of, rows):
        name = event.loop
        loops[name] = loop = evolve(loops.get(name, Loop(name)), event)
        own = loop if loop.kind == "policy" else loops.get(policy_loop(name), Loop(""))
        seen = project(loop, policy_for(loop, loops.get(INSTALLATION, Loop("")), own), event.version)
        views.claims.update({(claim.loop, claim.n, claim.k): claim for claim in seen.claims})
        if event.pos == last[name]:
            views.loops[name], waits[name], owed[name] = seen.row, seen.timers, seen.outstanding
    views.timers = {timer for timers in waits.values() for timer in timers}
    views.outstanding = {request for requests in owed.values() for request in requests}
    return views


class Written(NamedTuple):
    """What must be the same of two rows that say the same at different times."""

    pos: int
    loop: str
    version: int
    key: str
    type: str
    cause: int | None
    policy: str
    data: bytes


def written(row: Row) -> Written:
    return Written(row.pos, row.loop, row.version, row.key, row.type, row.cause, row.policy, row.data)


def timeless(views: Views) -> Views:
    """The same views without what was read off the log's clock."""
    return Views(
        {
            name: row._replace(updated=0, state=json.dumps(_timeless(json.loads(row.state)), sort_keys=True).encode())
            for name, row in views.loops.items()
        },
        {timer._replace(due=0) for timer in views.timers},
        {request._replace(due=0) for request in views.outstanding},
        {step: claim._replace(day=0) for step, claim in views.claims.items()},
    )


def _timeless(value: object) -> object:
    match value:
        case dict():
            return {name: 0 if name == "day" else _timeless(part) for name, part in value.items()}
        case list():
            return [_timeless(part) for part in value]
        case int() if value >= OPENED:
            return 0
        case _:
            return value


# --- where books come from -----------------------------------------------------------------------------------------


class Shelf(Protocol):
    """Where the logs of books are."""

    def take(self) -> str:
        """The address of an empty log."""
        ...

    def give_back(self, url: str) -> None: ...


class SqliteShelf:
    """Copies of an empty log in a directory."""

    def __init__(self, template: Path, directory: Path) -> None:
        self._template = template
        self._directory = directory

    def take(self) -> str:
        file = Path(tempfile.mkdtemp(dir=self._directory), "log.db")
        return f"sqlite:///{shutil.copy(self._template, file)}"

    def give_back(self, url: str) -> None:
        shutil.rmtree(Path(url.removeprefix("sqlite:///")).parent)


class PostgresShelf:
    """A few databases, which are emptied and used again."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._free: list[str] = []

    def take(self) -> str:
        if self._free:
            url = self._free.pop()
            empty(url)
        else:
            url = self._server.database()
            migrate(url)
        return url

    def give_back(self, url: str) -> None:
        self._free.append(url)


class Books:
    """New books, each open for the length of a block."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    @contextmanager
    def open(self) -> Iterator[Book]:
        url = self._shelf.take()
        book = Book(url)
        try:
            yield book
        finally:
            book.close()
            self._shelf.give_back(url)


@pytest.fixture
def book(database_url: str) -> Iterator[Book]:
    """An empty book, in each of the databases in turn."""
    opened = Book(database_url)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def sqlite_books(sqlite_template: Path) -> Iterator[Books]:
    """Books in SQLite; in memory where there is a disk for that, since nobody pulls a plug here."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="amends-books-", dir=memory if memory.is_dir() else None) as directory:
        yield Books(SqliteShelf(sqlite_template, Path(directory)))


@pytest.fixture(scope="session")
def postgres_books(postgres: Server) -> Books:
    """Books in PostgreSQL."""
    return Books(PostgresShelf(postgres))
