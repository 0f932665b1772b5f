"""The publisher between the double of GitHub and a real log: the book records, and what a fixer would say is told.

async with publishing(book, scene, tmp_path) as crew:
    push = await crew.fix({"app.py": b"..."})      # a review, collected, and a fix of its items: push.requested
    await crew.publish()
    assert scene.pull.head == crew.last(FixPushed).sha
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pydantic import SecretStr

from amends.common.answers import Recorded, Report
from amends.common.envelope import Event
from amends.common.events import (
    AnyFact,
    Change,
    CommentsFetched,
    FixPrepared,
    FixStarted,
    Judgement,
    PushRequested,
    ResolveRequested,
    Verdict,
)
from amends.common.gate import hunks
from amends.common.git import Access, Repositories
from amends.common.github.auth import PUBLISHING, PUSHING
from amends.common.github.client import Client
from amends.common.identity import About
from amends.common.sections import GitHub
from amends.common.sections import Publisher as Section
from amends.evaluator.batch import Said
from amends.publisher.app import Answers
from amends.publisher.push import Publisher
from amends.publisher.resolve import Resolver
from amends.publisher.watch import Watcher
from tests.support.book import Book
from tests.support.fetching import BookRecorder, Desk, at_work
from tests.support.github import Scene

FactT = TypeVar("FactT", bound=AnyFact)
Files = Mapping[str, bytes | None]
WHAT = b"".join(b"line %d\n" % n for n in range(1, 21)).replace(b"line 10\n", b"line 10!\n")


@dataclass
class Crew:
    """The comment-fetcher, somebody who fixes, and the publisher."""

    desk: Desk
    scene: Scene
    book: Book
    recorder: BookRecorder
    answers: Answers

    @property
    def loop(self) -> str:
        return self.desk.name

    async def asked(self) -> CommentsFetched:
        """Bob rejects with one comment, which is collected."""
        self.scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Louder."}])
        return await self.desk.cycle()

    async def fix(self, files: Files, **more: object) -> PushRequested:
        """A review, collected, and a fix of everything in it: what is asked of the publisher then."""
        return self.prepare(await self.asked(), files, **more)

    def prepare(self, fetched: CommentsFetched, files: Files, **more: object) -> PushRequested:
        """What a fixer says: these files, for all items, each of which lays claim to all of it."""
        changes, claims = self.changed(files)
        verdicts = tuple(
            Verdict(item=one.item, version=one.version, judgement=Judgement.FIXED, hunks=claims)
            for one in self.desk.words(fetched)
        )
        n, k = fetched.n, fetched.k
        prepared = FixPrepared(n=n, k=k, run="run-1", base=fetched.head, changes=changes, verdicts=verdicts)
        self.say(FixStarted(n=n, k=k, run="run-1", holder="fixer/0"), prepared.model_copy(update=more))
        return self.last(PushRequested)

    def changed(self, files: Files) -> tuple[tuple[Change, ...], tuple[str, ...]]:
        changes, claims = [], list[str]()
        for path, content in files.items():
            old = self.scene.repo.read(path.rstrip("*"), "feature")
            blob = None if content is None else self.book.put(content)
            before = None if old is None else sha256(old).hexdigest()
            mode = "100755" if path.endswith("*") else "100644"
            changes.append(
                Change.model_validate({"path": path.rstrip("*"), "mode": mode, "blob": blob, "before": before})
            )
            claims += [hunk.name for hunk in hunks(path.rstrip("*"), old, content)]
        return tuple(changes), tuple(claims)

    def say(self, *facts: AnyFact) -> None:

        for fact in facts:
            answer = self.book.record(Said("fixer", Report(fact=fact, about=About(loop=self.loop))))[0]
            assert isinstance(answer, Recorded), answer

    async def publish(self) -> list[AnyFact]:
        """Work off the pushes that the log asks of the publisher."""
        return await self.work_off(PushRequested)

    async def resolve(self) -> list[AnyFact]:
        """Work off the threads."""
        return await self.work_off(ResolveRequested)

    async def work_off(self, kind: type[AnyFact]) -> list[AnyFact]:
        """What the log asks of the publisher, of this kind."""
        return [fact for event in self.owed(kind) for fact in await self.answer(event)]

    def owed(self, kind: type[AnyFact]) -> list[Event]:
        """What of this kind the publisher has not answered."""
        asked = [self.book.event(owed.pos) for owed in self.book.log.outstanding("publisher")]
        return [event for event in asked if isinstance(event.fact, kind)]

    async def answer(self, event: Event) -> list[AnyFact]:
        return await self.recorder.all(event, await self.answers.answer(event))

    def last(self, kind: type[FactT]) -> FactT:
        return self.desk.last(kind)

    def count(self, kind: type[AnyFact]) -> int:
        return sum(isinstance(event.fact, kind) for event in self.book.events())

    @property
    def keys(self) -> list[str]:
        """The keys on the branch."""
        if "feature" not in self.scene.repo.branches:
            return []
        lines = [line for commit in self.scene.repo.log("feature") for line in commit.message.split("\n")]
        return [line.removeprefix("Amends-Key: ") for line in lines if line.startswith("Amends-Key: ")]


def crew_of(desk: Desk, client: Client, folder: Path, secrets: Sequence[str] = ()) -> Crew:
    """The publisher beside a comment-fetcher that is at work; as after a restart, it knows nothing yet."""
    recorder = BookRecorder(desk.book, "publisher")
    publisher = Publisher(client, Access(client, PUSHING), Repositories(folder), recorder, Section(), tuple(secrets))
    return Crew(desk, desk.scene, desk.book, recorder, Answers(publisher, Resolver(publisher), Watcher(desk.client)))


@asynccontextmanager
async def publishing(
    book: Book, scene: Scene, folder: Path, github: GitHub | None = None, secrets: Sequence[str] = ()
) -> AsyncIterator[Crew]:
    """All of them at work, as the App unless told otherwise."""
    async with at_work(book, scene) as desk, Client(github or scene.app_settings, PUBLISHING) as client:
        yield crew_of(desk, client, folder / "publisher", secrets)


def token_of(scene: Scene, login: str) -> GitHub:
    """Settings of somebody else, with a token."""
    return scene.token_settings.model_copy(update={"token": SecretStr(scene.double.token(login))})
