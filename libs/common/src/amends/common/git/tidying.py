"""Keeps the disk of a service within its bounds: every so often, at no time that everybody else has chosen too."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter as Counts
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Literal

from prometheus_client import Counter, Gauge

from amends.common.events import Reporter
from amends.common.git.process import GitFailed
from amends.common.git.repositories import Repositories
from amends.common.metrics import REGISTRY

log = logging.getLogger(__name__)
MEGABYTE = 1_000_000
_SIZE = Gauge(
    "amends_disk_bytes", "What a service keeps on disk, when it was last looked at.", ["service", "what"],
    registry=REGISTRY,
)  # fmt: skip
_REMOVED = Counter(
    "amends_disk_removed", "What was removed because there was too much of it.", ["service", "what"], registry=REGISTRY
)
_TIDIED = Counter(
    "amends_repositories_tidied", "Copies of repositories that were packed.", ["service"], registry=REGISTRY
)
What = Literal["repositories", "workspaces"]


@dataclass(frozen=True)
class Shelf:
    """Something that grows: how much there is, at most how much there may be, and how it is made less."""

    what: What
    most: int
    size: Callable[[], int]
    collect: Callable[[int], Awaitable[Collection[object]]]


@dataclass(frozen=True)
class Tidying:
    """Of one service. `kept` says of a repository which refs its workspaces need."""

    service: Reporter
    repositories: Repositories
    shelves: tuple[Shelf, ...]
    seconds: float
    kept: Callable[[int], Collection[str]] = lambda _: ()

    async def run(self) -> None:
        """Until cancelled. What goes wrong is told, and tried again next time."""
        while True:
            await asyncio.sleep(random.uniform(0.5, 1.5) * self.seconds)  # noqa: S311 - spreads a herd, guards nothing
            try:
                await self.once()
            except (OSError, GitFailed) as error:
                log.warning("tidying up failed", extra={"service": self.service, "error": str(error)[:400]})

    async def once(self) -> None:
        """Remove what is too much, then pack what was used since the last time, one repository after the other."""
        for shelf in self.shelves:
            removed = await shelf.collect(shelf.most)
            _REMOVED.labels(self.service, shelf.what).inc(len(removed))
            if removed:
                said = {"service": self.service, "what": shelf.what, "removed": [str(one) for one in removed][:50]}
                log.info("there was too much on disk", extra=said)
        for repo, repository in self.repositories.all().items():
            try:
                if await repository.tidy(self.kept(repo)):
                    _TIDIED.labels(self.service).inc()
            except (
                FileNotFoundError,
                GitFailed,
            ) as error:  # taken away, or broken: whoever works with it makes it anew
                log.warning("a copy was not tidied", extra={"repo": repo, "error": str(error)[:400]})
        sizes: Counts[str] = Counts()
        for shelf in self.shelves:
            sizes[shelf.what] += await asyncio.to_thread(shelf.size)
        for what, size in sizes.items():
            _SIZE.labels(self.service, what).set(size)
