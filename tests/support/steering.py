"""A pull request on the double, a gateway that hears its webhooks, a comment-fetcher, and a real log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from amends.comment_fetcher.app import Answers
from amends.comment_fetcher.authors import Authors, Rules
from amends.comment_fetcher.collect import Collector
from amends.common.answers import Report
from amends.common.envelope import Event, event_of
from amends.common.events import AnyFact, CommandAccepted, CommandGiven, CommandRefused, PolicyChanged
from amends.common.github.client import Client
from amends.common.github.sightings import Ours
from amends.common.identity import About
from amends.common.log import Log
from amends.common.loop import Loop
from amends.common.policy import Overrides
from amends.common.settings import Settings
from amends.common.state import load
from amends.common.worker import addressed
from amends.evaluator.recorder import LocalRecorder, Recorder
from amends.gateway.app import start
from tests.support.book import fired
from tests.support.gateway import SECRET, recording
from tests.support.github import Scene


@dataclass
class Steered:
    """The pull request's loop, and what people said to it."""

    scene: Scene
    log: Log
    recorder: Recorder
    answers: Answers

    @property
    def name(self) -> str:
        return f"{self.scene.repo.id}-pr-{self.scene.pull.number}"

    @property
    def loop(self) -> Loop:
        row = self.log.loop(self.name)
        return load(row.state) if row else Loop(self.name)

    def events(self) -> list[Event]:
        return [event_of(row) for row in self.log.history(self.name)]

    async def heard(self) -> None:
        """Every webhook has arrived, and the comment-fetcher has answered what it was asked."""
        await asyncio.to_thread(self.scene.double.webhooks.wait)
        done: set[int] = set()
        while owed := [one for one in self.log.outstanding("comment-fetcher") if one.pos not in done]:
            done |= {one.pos for one in owed}
            for one in owed:
                row = self.log.row(one.pos)
                assert row is not None
                await self._answer(event_of(row))

    async def _answer(self, event: Event) -> None:
        recorder = LocalRecorder(self.recorder, "comment-fetcher", self.log.blob)
        for said in await self.answers.answer(event):
            await recorder.report(addressed(event, said))

    def settles(self) -> None:
        """The settle windows are over."""
        for timer in self.log.timers():
            if timer.name.startswith("settle"):
                self.recorder.submit("evaluator", fired(timer).report).result()

    def says(self, fact: AnyFact) -> None:
        """A service reports this about the pull request."""
        report = Report(fact=fact, about=About(loop=self.name))
        self.recorder.submit(fact.by[0], report).result()

    def rules(self, **values: object) -> None:
        fact = PolicyChanged(request=f"rules-{self.log.head().pos}", values=Overrides.model_validate(values))
        self.recorder.submit("cli", Report(fact=fact, about=About())).result()

    def given(self) -> list[tuple[str, str]]:
        """The commands that were heard, with their texts."""
        facts = (event.fact for event in self.events())
        return [(fact.name, fact.text) for fact in facts if isinstance(fact, CommandGiven)]

    def answered(self) -> list[str]:
        """What the loop made of them."""
        facts = (event.fact for event in self.events())
        return [
            f"accepted {fact.name}" if isinstance(fact, CommandAccepted) else f"refused {fact.name} {fact.reason}"
            for fact in facts
            if isinstance(fact, CommandAccepted | CommandRefused)
        ]


@asynccontextmanager
async def steered(url: str, scene: Scene, known: tuple[int, ...] | None = None) -> AsyncIterator[Steered]:
    """Everybody is there, and the pull request is known. `known`: our accounts in the settings, and they may ask."""
    ours = Ours(frozenset({scene.app.account_id}))
    said: dict[str, object] = {
        "database": url,
        "our_accounts": tuple(ours.alone),
        "gateway": {"webhook_secrets": (SECRET,)},
    }
    if known is not None:
        said |= {"our_accounts": known, "github": scene.app_settings}
    settings = Settings.model_validate(said)
    with recording(url, "acme/widget") as recorder:
        running = await start(settings, LocalRecorder(recorder, "gateway", lambda _sha: None))
        scene.double.webhooks.to(f"{running.address}/webhooks/github", SECRET, scene.app)
        try:
            async with Client(scene.app_settings) as client:
                reading = LocalRecorder(recorder, "comment-fetcher", running.log.blob)
                collector = Collector(client, reading, ours, 5.0)
                one = Steered(scene, running.log, recorder, Answers(collector, Authors(client), Rules(client)))
                one.rules(settle_seconds=0)
                scene.pull.edit(title="Seen")
                await one.heard()
                yield one
        finally:
            await running.stop()
