"""The publisher's wiring: the client it looks with, the repositories it commits in, the events it answers."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from amends.common.answers import Recorder, Report
from amends.common.bus.inbox import BusInbox
from amends.common.bus.link import Link
from amends.common.bus.reporter import NatsRecorder
from amends.common.envelope import Event
from amends.common.events import AnyFact, CycleFinished, PushRequested, Reporter
from amends.common.git import Access, GitMissing, Repositories
from amends.common.git.process import executable
from amends.common.github.auth import PUBLISHING, PUSHING
from amends.common.github.client import Client, Nobody
from amends.common.logs import set_up
from amends.common.ops import Ops, OpsNotServed
from amends.common.settings import Settings
from amends.common.worker import Worker
from amends.publisher.push import Publisher
from amends.publisher.resolve import Resolver

SERVICE: Reporter = "publisher"
OK, USAGE, UNREACHABLE = 0, 2, 3
AT_ONCE = 2  # events in hand; a large repository does not keep the others waiting


@dataclass(frozen=True)
class Answers:
    """What the publisher does about each event that it reacts to."""

    publisher: Publisher
    resolver: Resolver

    async def answer(self, event: Event) -> Sequence[AnyFact | Report]:
        """The facts that answer an event."""
        match event.fact:
            case PushRequested():
                return await self.publisher.publish(event)
            case CycleFinished():
                return await self.resolver.resolve(event)
            case _:
                return []


@dataclass
class Publishing:
    """A publisher, at work."""

    workers: Sequence[Worker]
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def checks(self) -> dict[str, str]:
        """What has to be right for it to be of use."""
        troubles = [said for worker in self.workers for said in worker.health().values() if said != "ok"]
        ended = [repr(task.exception()) for task in self.tasks if task.done() and not task.cancelled()]
        return {"publisher": (ended or troubles or ["ok"])[0]}


def answers(settings: Settings, client: Client, recorder: Recorder) -> Answers:
    """The handler of events, connected to nothing yet."""
    folder = settings.publisher.folder or settings.data_dir / "publisher"
    publisher = Publisher(
        client, Access(client, PUSHING), Repositories(folder), recorder, settings.publisher, settings.secrets
    )
    return Answers(publisher, Resolver(publisher))


@asynccontextmanager
async def publishing(settings: Settings, recorder: Recorder, link: Link) -> AsyncIterator[Publishing]:
    """At work for the length of a block. The link is there to hear events on, and comes back by itself."""
    executable()
    async with Client(settings.github, PUBLISHING) as client:
        handling = answers(settings, client, recorder)
        workers = [Worker(SERVICE, handling.answer, recorder, BusInbox(link, SERVICE)) for _ in range(AT_ONCE)]
        working = Publishing(workers)
        working.tasks += [asyncio.create_task(worker.run()) for worker in workers]
        try:
            yield working
        finally:
            await asyncio.gather(*(worker.stop() for worker in workers))
            await asyncio.gather(*working.tasks, return_exceptions=True)


def serve(settings: Settings) -> int:
    """`amends run publisher`: alone, on a NATS that somebody else runs; answers the exit code."""
    set_up(settings.log_level, settings.secrets)
    if not settings.nats_url:
        sys.stderr.write("amends: nats_url is not set: give --nats, or AMENDS_NATS_URL, or use `amends up`\n")
        return USAGE
    try:
        asyncio.run(_alone(settings))
    except (Nobody, GitMissing) as error:
        sys.stderr.write(f"amends: {error}\n")
        return USAGE
    except OpsNotServed as error:
        sys.stderr.write(f"amends: {error}\n")
        return UNREACHABLE
    return OK


async def _alone(settings: Settings) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    link = Link(settings.nats_address, SERVICE)
    running: list[Publishing] = []

    def checks() -> dict[str, str]:
        working = running[0].checks() if running else {"publisher": "not at work yet"}
        return {**working, "nats": link.health()}

    ops = Ops(settings.ops_host, settings.ops_port, checks)
    sys.stderr.write(f"amends: publisher, health and metrics {ops.start()}\n")
    sys.stderr.flush()
    stopping = asyncio.create_task(stop.wait())
    opening = asyncio.create_task(link.open())
    try:
        await asyncio.wait({stopping, opening}, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            async with publishing(settings, NatsRecorder(link, SERVICE), link) as working:
                running.append(working)
                await stopping
    finally:
        opening.cancel()
        await link.close()
        ops.stop()
