"""Everybody at work on one pull request of a GitHub of its own: who looks, fixes, pushes and tells, over a real log.

async with stage(book, scene, tmp_path, model) as all_:
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": suggests("line X")}])
    await all_.goes()                   # until nobody owes anything any more
    assert scene.pull.waiting_for == ["bob"]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from amends.common.answers import Report
from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import (
    REACTIONS,
    AnyFact,
    Author,
    CommandGiven,
    CommandName,
    CycleFinished,
    Escalated,
    Judgement,
    PolicyChanged,
)
from amends.common.github.auth import PUBLISHING, TELLING
from amends.common.github.client import Client
from amends.common.identity import About
from amends.common.loop import Loop
from amends.common.policy import Overrides, Policy
from amends.common.redaction import Redactor
from amends.common.standing import Status, policy_for, status
from amends.doubles.model import ModelDouble
from amends.evaluator.batch import Said
from amends.notifier.tell import Teller
from amends.notifier.words import Words
from tests.support.book import Book
from tests.support.fixing import Bench, fixing
from tests.support.github import Scene
from tests.support.notifying import FAST, Notifying
from tests.support.publishing import Crew, crew_of

FactT = TypeVar("FactT", bound=AnyFact)
RULES = Overrides(repositories=("acme/widget",), settle_seconds=1)
US = "amends[bot]"


@dataclass
class Stage:
    """All of them, and what came of it."""

    bench: Bench
    crew: Crew
    scene: Scene
    teller: Teller
    told: int = 0
    put_off: list[Event] = field(default_factory=list)

    @property
    def book(self) -> Book:
        return self.bench.book

    @property
    def loop(self) -> Loop:
        return self.bench.desk.loop

    @property
    def status(self) -> Status:
        return status(self.loop, self.policy)

    @property
    def policy(self) -> Policy:
        repository = self.book.loop(f"{self.scene.repo.id}-policy")
        return policy_for(self.loop, self.book.loop("installation"), repository)

    # --- one after the other -----------------------------------------------------------------------------------------

    async def looks(self) -> None:
        """What people did is found, and who did it looked up; then it is quiet for a minute."""
        await self.bench.desk.ask()

    async def collects(self) -> None:
        await self.bench.desk.react()

    async def fixes(self) -> None:
        for owed in self.book.log.outstanding("fixer"):
            with suppress(Later):
                await self.bench.fix(self.book.event(owed.pos))

    async def pushes(self) -> None:
        with suppress(Later):
            await self.crew.publish()
        with suppress(Later):
            await self.crew.resolve()

    async def tells(self) -> None:
        """Everything that the notifier reacts to and has not heard is delivered, what it put off once more."""
        events = self.book.events()
        fresh = [event for event in events[self.told :] if event.type in REACTIONS["notifier"]]
        waiting, self.told, self.put_off = [*self.put_off, *fresh], len(events), []
        for event in waiting:
            try:
                await self.teller.tell(event)
            except Later:
                self.put_off.append(event)

    async def goes(self, most: int = 12) -> int:
        """All of them take turns until nothing happens any more; answers with how many rounds that took."""
        for number in range(1, most + 1):
            before = self.book.log.head().pos
            for step in (self.looks, self.collects, self.fixes, self.pushes, self.tells):
                await step()
            if self.book.log.head().pos == before:
                return number
        raise AssertionError(f"it is not at rest after {most} rounds")

    # --- what people do beside GitHub --------------------------------------------------------------------------------

    def commands(self, name: CommandName, loop: str = "") -> None:
        author = Author(id=0, login="panel", kind="token")
        fact = CommandGiven(id=f"req-{len(self.book.rows())}", name=name, author=author)
        self.book.record(Said("cli", Report(fact=fact, about=About(loop=loop or self.bench.desk.name))))

    def rules(self, **values: object) -> None:
        fact = PolicyChanged(request=f"later-{len(self.book.rows())}", values=Overrides.model_validate(values))
        self.book.record(Said("cli", Report(fact=fact, about=About())))

    # --- what came of it ---------------------------------------------------------------------------------------------

    def all(self, kind: type[FactT]) -> list[FactT]:
        return [event.fact for event in self.book.events() if isinstance(event.fact, kind)]

    def last(self, kind: type[FactT]) -> FactT:
        return self.all(kind)[-1]

    def runs(self) -> int:
        return len(self.all(CycleFinished))

    def escalations(self) -> list[str]:
        return [one.reason for one in self.all(Escalated)]

    def judged(self) -> Counter[Judgement]:
        return Counter(one.judgement for one in self.last(CycleFinished).verdicts)

    def ours(self) -> list[str]:
        """What we wrote: comments of the conversation, and in threads."""
        talk = [one.body for one in self.scene.pull.conversation if one.author == US]
        return talk + [one.body for thread in self.scene.pull.threads for one in thread.comments if one.author == US]

    def said(self, words: str) -> int:
        """In how many of our comments this stands."""
        return sum(words in body for body in self.ours())

    def card(self) -> str:
        return next((body for body in self.ours() if "/card -->" in body.partition("\n")[0]), "")

    def read(self, path: str) -> str:
        content = self.scene.repo.read(path, "feature")
        return "" if content is None else content.decode()


@asynccontextmanager
async def stage(
    book: Book,
    scene: Scene,
    folder: Path,
    double: ModelDouble | None = None,
    rules: Overrides = RULES,
    **settings: Any,
) -> AsyncIterator[Stage]:
    """They are all at work, under these rules; without a `double` there is no model."""
    ours = frozenset({scene.app.account_id})
    async with (
        fixing(book, scene, folder, double, rules, **settings) as bench,
        Client(scene.app_settings, PUBLISHING) as pushing,
        Client(scene.app_settings, TELLING, FAST) as telling,
    ):
        teller = Teller(telling, Notifying(book, "notifier"), Words(Redactor([]), scene.double.url), ours)
        teller.age = lambda _: 0.0
        yield Stage(bench, crew_of(bench.desk, pushing, folder / "publisher"), scene, teller)
