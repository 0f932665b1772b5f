"""The comment-fetcher between the double of GitHub and a real log: the book records, time is only told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from amends.comment_fetcher.app import Answers
from amends.comment_fetcher.authors import Authors, Rules
from amends.comment_fetcher.collect import Collector
from amends.comment_fetcher.reconcile import Reconciler
from amends.common.answers import Answer, Followed, Go, Report, Stop
from amends.common.envelope import Event
from amends.common.events import (
    AnyFact,
    CommentsFailed,
    CommentsFetched,
    FixPrepared,
    FixStarted,
    Judgement,
    PolicyChanged,
    Reporter,
    Verdict,
)
from amends.common.feedback import Feedback, from_blob
from amends.common.github.client import Client
from amends.common.github.sightings import Ours
from amends.common.identity import About
from amends.common.loop import Loop
from amends.common.policy import Overrides
from amends.common.sections import Fetcher
from amends.common.worker import addressed
from amends.evaluator.batch import Said
from amends.evaluator.following import followed
from tests.support.book import Book, Books
from tests.support.github import Scene, github, set_scene

FactT = TypeVar("FactT", bound=AnyFact)
RULES = Overrides(
    repositories=("acme/widget",), triggers=("comments", "checks"), settle_seconds=1, max_cycles=100
)  # fmt: skip


@pytest.fixture
def scene() -> Iterator[Scene]:
    """A pull request on a GitHub of its own."""
    with github() as double:
        yield set_scene(double)


@pytest.fixture
def sqlite_book(sqlite_books: Books) -> Iterator[Book]:
    """An empty book: what is tested here is what goes into it."""
    with sqlite_books.open() as one:
        yield one


@dataclass
class BookRecorder:
    """The recorder as a service sees it, in front of a book."""

    book: Book
    service: Reporter = "comment-fetcher"
    said: list[AnyFact] = field(default_factory=list)

    async def report(self, report: Report) -> Answer:
        self.said.append(report.fact)
        return self.book.record(Said(self.service, report))[0]

    async def all(self, event: Event, said: Iterable[AnyFact | Report]) -> list[AnyFact]:
        """Record what was said of an event."""
        reports = [addressed(event, one) for one in said]
        for report in reports:
            await self.report(report)
        return [report.fact for report in reports]

    async def may(self, pos: int, run: str = "") -> Go | Stop:
        return self.book.may(pos, run)

    async def put(self, content: bytes) -> str:
        return self.book.put(content)

    async def get(self, sha: str) -> bytes | None:
        return self.book.log.blob(sha)

    async def followed(self) -> Sequence[Followed]:
        return followed(self.book.log)


@dataclass
class Desk:
    """The comment-fetcher at work on one pull request."""

    book: Book
    scene: Scene
    client: Client
    recorder: BookRecorder
    answers: Answers
    reconciler: Reconciler

    @property
    def name(self) -> str:
        return f"{self.scene.repo.id}-pr-{self.scene.pull.number}"

    @property
    def loop(self) -> Loop:
        return self.book.loop(self.name)

    def rules(self, rules: Overrides) -> None:
        fact = PolicyChanged(request=f"rules-{len(self.book.rows())}", values=rules)
        self.book.record(Said("gateway", Report(fact=fact, about=About())))

    async def react(self) -> None:
        """Work off what the log asks of the comment-fetcher."""
        for owed in self.book.log.outstanding("comment-fetcher"):
            await self.answer(self.book.event(owed.pos))

    async def answer(self, event: Event) -> list[AnyFact]:
        return await self.recorder.all(event, await self.answers.answer(event))

    async def cycle(self) -> CommentsFetched:
        """From what is open on GitHub to what was collected of it."""
        await self.ask()
        await self.react()
        return self.last(CommentsFetched)

    async def ask(self) -> None:
        """Look, let it settle, and have a cycle asked for."""
        await self.reconciler.look()
        await self.react()
        self.book.waits(60)

    def fix(self, fetched: CommentsFetched) -> None:
        """A fixer that has an answer for everything whose words it gets, and changes nothing."""
        n, k = fetched.n, fetched.k
        verdicts = tuple(
            Verdict(item=one.item, version=one.version, judgement=Judgement.ANSWERED) for one in self.words(fetched)
        )
        started = FixStarted(n=n, k=k, run="run-1", holder="fixer/0")
        for fact in (started, FixPrepared(n=n, k=k, run="run-1", base=fetched.head, verdicts=verdicts)):
            self.book.record(Said("fixer", Report(fact=fact, about=About(loop=self.name))))

    def last(self, kind: type[FactT]) -> FactT:
        return next(event.fact for event in reversed(self.book.events()) if isinstance(event.fact, kind))

    def failure(self) -> CommentsFailed:
        return self.last(CommentsFailed)

    def words(self, fetched: CommentsFetched) -> tuple[Feedback, ...]:
        content = self.book.log.blob(fetched.texts) if fetched.texts else None
        return from_blob(content) if content else ()

    def texts(self, fetched: CommentsFetched) -> list[str]:
        return [remark.text for one in self.words(fetched) for remark in one.remarks]


@asynccontextmanager
async def at_work(book: Book, scene: Scene, rules: Overrides = RULES, seconds: float = 5.0) -> AsyncIterator[Desk]:
    """The App reads, under these rules."""
    async with Client(scene.app_settings) as client:
        recorder = BookRecorder(book)
        ours = Ours(frozenset({scene.app.account_id}))
        collector = Collector(client, recorder, ours, seconds)
        answers = Answers(collector, Authors(client), Rules(client))
        settings = Fetcher(mode="poll")
        reconciler = Reconciler(client, recorder, recorder.followed, settings, ours, collector.reader, collector.lost)
        desk = Desk(book, scene, client, recorder, answers, reconciler)
        desk.rules(rules)
        yield desk
