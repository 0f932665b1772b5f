"""The fixer's wiring: what it reads GitHub with, its model, its sandbox, and its slots on the bus."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from amends.common import alone
from amends.common.answers import Recorder
from amends.common.bus.link import Link
from amends.common.bus.work import worker
from amends.common.delivery import pull_of
from amends.common.events import Reporter
from amends.common.git import Access, Repositories
from amends.common.git.tidying import MEGABYTE, Shelf, Tidying
from amends.common.github.auth import CLONING, FIXING
from amends.common.github.client import Client, Lender, Nobody
from amends.common.owned import alone_as, owned
from amends.common.settings import Settings
from amends.common.working import Working, at_work
from amends.fixer.attempt import Means
from amends.fixer.commanded import Outside
from amends.fixer.dialogue import Model
from amends.fixer.fixing import Slot
from amends.fixer.record import Records
from amends.fixer.sandbox import SandboxUnavailable
from amends.fixer.walls import Walled
from amends.fixer.workspaces import Workspaces

SERVICE: Reporter = "fixer"


@asynccontextmanager
async def thinker(settings: Settings) -> AsyncIterator[Model | Outside | None]:
    """Whoever is to think: our own agent's model, the operator's command, or nobody."""
    if not settings.model.known:
        yield None
    elif settings.agent.command:
        from amends.fixer.endpoint import Endpoint  # noqa: PLC0415 - as below

        async with Endpoint(settings.model) as endpoint:
            yield Outside(settings.agent.command, endpoint)
    else:
        from amends.fixer.model import Claude  # noqa: PLC0415 - 80 MB that nobody needs without a model

        async with Claude(settings.model) as model:
            yield model


def means(
    settings: Settings, client: Client, recorder: Recorder, walls: Walled, thinks: Model | Outside | None
) -> Means:
    """What a fixer of these settings works with."""
    root = _root(settings)
    return Means(
        recorder=recorder, client=client, access=Access(client, CLONING),
        repositories=Repositories(root / "repositories"), workspaces=Workspaces(root / "workspaces"),
        spare=Workspaces(root / "base"), records=Records(root / "attempts", recorder.put),
        sandbox=walls, trouble=walls.tried, secrets=settings.secrets,
        requirements=settings.fixer.requirements,
        model=None if isinstance(thinks, Outside) else thinks, outside=thinks if isinstance(thinks, Outside) else None,
    )  # fmt: skip


def _root(settings: Settings) -> Path:
    return settings.fixer.directory or settings.data_dir / "fixer"


def tidy(settings: Settings, around: Means) -> Tidying:
    """Who looks after the disk; what is kept for workspaces is theirs as long as they are there."""
    most, copies = settings.fixer.disk_mb * MEGABYTE, around.repositories
    spaces = (around.workspaces, around.spare)
    shelves = [_shelf(one, most // len(spaces)) for one in spaces]
    shelves.append(Shelf("repositories", most, copies.size, copies.collect))

    def kept(repo: int) -> Sequence[str]:
        places = (pull_of(loop) for one in spaces for loop in one.loops())
        return [f"refs/amends/pull/{at.number}/" for at in places if at.repo == repo]

    return Tidying(SERVICE, copies, tuple(shelves), settings.fixer.tidy_seconds, kept)


def _shelf(spaces: Workspaces, most: int) -> Shelf:
    async def collect(limit: int) -> Sequence[str]:
        return await asyncio.to_thread(spaces.collect, limit)

    return Shelf("workspaces", most, spaces.size, collect)


@asynccontextmanager
async def fixing(
    settings: Settings, recorder: Recorder, link: Link, lender: Lender | None = None
) -> AsyncIterator[Working]:
    """At work for the length of a block; with tokens that are lent, where the key is somebody else's.

    Without a sandbox it still takes suggestions over.
    """
    walls = Walled(settings.sandbox)
    await walls.tried()
    async with AsyncExitStack() as stack:
        stack.enter_context(owned(_root(settings), "give each fixer a data_dir, or a fixer.directory, of its own"))
        stack.enter_context(alone_as(settings.holder, settings.nats_url))
        client = await stack.enter_async_context(Client(settings.github, FIXING, lender=lender))
        around = means(settings, client, recorder, walls, await stack.enter_async_context(thinker(settings)))
        run = f"{os.getpid()}-{time.time_ns()}"
        holders = [f"{settings.holder}/{number}" for number in range(settings.fixer.slots)]
        slots = [Slot(around, one, run, beside=tuple({*holders} - {one})) for one in holders]
        workers = [worker(settings, link, SERVICE, slot.fix, recorder) for slot in slots]
        yield await stack.enter_async_context(at_work(SERVICE, workers, tidy(settings, around).run()))


def serve(settings: Settings, lender: Lender | None = None) -> int:
    """`amends run fixer`: alone, on a NATS that somebody else runs; answers the exit code."""
    return alone.serve(settings, SERVICE, partial(fixing, settings, lender=lender), (Nobody, SandboxUnavailable))
