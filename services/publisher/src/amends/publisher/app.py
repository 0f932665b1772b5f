"""The publisher's wiring: the client it looks with, the repositories it commits in, the events it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from amends.common import alone
from amends.common.answers import Recorder, Report
from amends.common.bus.link import Link
from amends.common.bus.work import worker
from amends.common.envelope import Event
from amends.common.events import AnyFact, ChecksRequested, PushRequested, Reporter, ResolveRequested
from amends.common.git import Access, GitMissing, Repositories
from amends.common.git.process import executable
from amends.common.git.tidying import MEGABYTE, Shelf, Tidying
from amends.common.github.auth import PUBLISHING, PUSHING, WATCHING
from amends.common.github.client import Client, Nobody
from amends.common.owned import owned
from amends.common.settings import Settings
from amends.common.working import Working, at_work
from amends.publisher.push import Publisher
from amends.publisher.resolve import Resolver
from amends.publisher.watch import Watcher

SERVICE: Reporter = "publisher"
AT_ONCE = 2  # events in hand; a large repository does not keep the others waiting


@dataclass(frozen=True)
class Answers:
    """What the publisher does about each event that it reacts to."""

    publisher: Publisher
    resolver: Resolver
    watcher: Watcher

    async def answer(self, event: Event) -> Sequence[AnyFact | Report]:
        """The facts that answer an event."""
        match event.fact:
            case PushRequested():
                return await self.publisher.publish(event)
            case ChecksRequested():
                return await self.watcher.watch(event)
            case ResolveRequested():
                return await self.resolver.resolve(event)
            case _:
                return []


def answers(settings: Settings, client: Client, watching: Client, recorder: Recorder) -> Answers:
    """The handler of events, connected to nothing yet; `watching` only reads."""
    publisher = Publisher(
        client, Access(client, PUSHING), Repositories(_folder(settings)), recorder, settings.publisher, settings.secrets
    )
    return Answers(publisher, Resolver(publisher), Watcher(watching))


def _folder(settings: Settings) -> Path:
    return settings.publisher.folder or settings.data_dir / "publisher"


def tidy(settings: Settings, handling: Answers) -> Tidying:
    """Who looks after the disk."""
    copies, limits = handling.publisher.repositories, settings.publisher
    shelf = Shelf("repositories", limits.disk_mb * MEGABYTE, copies.size, copies.collect)
    return Tidying(SERVICE, copies, (shelf,), limits.tidy_seconds)


@asynccontextmanager
async def publishing(settings: Settings, recorder: Recorder, link: Link) -> AsyncIterator[Working]:
    """At work for the length of a block. The link is there to hear events on, and comes back by itself."""
    executable()
    with owned(_folder(settings), "give each publisher a data_dir, or a publisher.folder, of its own"):
        async with _publishing(settings, recorder, link) as working:
            yield working


@asynccontextmanager
async def _publishing(settings: Settings, recorder: Recorder, link: Link) -> AsyncIterator[Working]:
    async with Client(settings.github, PUBLISHING) as client, Client(settings.github, WATCHING) as watching:
        handling = answers(settings, client, watching, recorder)
        workers = [worker(settings, link, SERVICE, handling.answer, recorder) for _ in range(AT_ONCE)]
        async with at_work(SERVICE, workers, tidy(settings, handling).run()) as working:
            yield working


def serve(settings: Settings) -> int:
    """`amends run publisher`: alone, on a NATS that somebody else runs; answers the exit code."""
    return alone.serve(settings, SERVICE, partial(publishing, settings), (Nobody, GitMissing))
