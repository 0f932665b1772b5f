"""The comment-fetcher's wiring: the client it reads with, the events it answers, the timer it looks around on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from amends.comment_fetcher.authors import Authors, Rules
from amends.comment_fetcher.collect import Collector, Said
from amends.comment_fetcher.reconcile import Following, Reconciler
from amends.common import alone
from amends.common.answers import Recorder
from amends.common.bus.errands import Errands, Look, Looked
from amends.common.bus.link import Link
from amends.common.bus.work import worker
from amends.common.envelope import Event
from amends.common.events import (
    CommandGiven,
    FixRequested,
    PrObserved,
    Reporter,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
)
from amends.common.github.client import Client, Nobody
from amends.common.github.ourselves import our_accounts
from amends.common.github.sightings import NOBODY, Ours
from amends.common.settings import Settings
from amends.common.working import Working, at_work

SERVICE: Reporter = "comment-fetcher"
AT_ONCE = 4  # events in hand; a pull request that keeps one waiting does not keep the others
_MOST_MISSED = 100


@dataclass(frozen=True)
class Answers:
    """What the comment-fetcher does about each event that it reacts to."""

    collector: Collector
    authors: Authors
    rules: Rules

    async def answer(self, event: Event) -> Sequence[Said]:
        """The facts that answer an event."""
        match event.fact:
            case FixRequested():
                return await self.collector.collect(event)
            case ReviewRejected() | ReviewApproved() | ReviewCommented() | CommandGiven() as fact:
                return await self.authors.checked(event, fact)
            case PrObserved():
                return await self.rules.looked_up(event)
            case _:
                return []


@dataclass(frozen=True)
class Fetcher:
    """A comment-fetcher, at work."""

    working: Working
    reconciler: Reconciler

    def checks(self) -> dict[str, str]:
        """What has to be right for it to be of use, one key each."""
        return {**self.working.checks(), "reconcile": self.reconciler.health()}


def answers(settings: Settings, client: Client, recorder: Recorder, ours: Ours = NOBODY) -> Answers:
    """The handler of events, connected to nothing yet; `ours` are the accounts that we write under."""
    ours = replace(ours, alone=ours.alone | frozenset(settings.our_accounts))
    collector = Collector(client, recorder, ours, settings.fetcher.collect_seconds)
    return Answers(collector, Authors(client), Rules(client))


@asynccontextmanager
async def fetching(settings: Settings, recorder: Recorder, followed: Following, link: Link) -> AsyncIterator[Fetcher]:
    """At work for the length of a block. The link is there to hear events on, and comes back by itself."""
    async with Client(settings.github) as client:
        handling = answers(settings, client, recorder, await our_accounts(settings))
        reader, lost = handling.collector.reader, handling.collector.lost
        ours = handling.collector.ours
        reconciler = Reconciler(client, recorder, followed, settings.fetcher, ours, reader, lost)
        errands = Errands(link, _looking(reconciler))
        workers = [worker(settings, link, SERVICE, handling.answer, recorder) for _ in range(AT_ONCE)]
        await errands.open()
        async with at_work(SERVICE, workers, reconciler.run()) as working:
            try:
                yield Fetcher(working, reconciler)
            finally:
                await errands.close()


def _looking(reconciler: Reconciler) -> Look:
    async def look(repository: str) -> Looked:
        tally = await reconciler.look(repository, asked=True)
        missed = tuple(one[:400] for one in tally.missed[:_MOST_MISSED])
        return Looked(repositories=tally.repositories, pulls=tally.pulls, found=tally.found, missed=missed)

    return look


def serve(settings: Settings) -> int:
    """`amends run comment-fetcher`: alone, on a NATS that somebody else runs; answers the exit code."""
    return alone.serve(
        settings, SERVICE, lambda recorder, link: fetching(settings, recorder, recorder.followed, link), (Nobody,)
    )
