"""A service at work: its workers, what runs beside them, and whether all is well with both."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from amends.common.events import Reporter
from amends.common.worker import Worker

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Working:
    """A service, at work."""

    service: Reporter
    workers: Sequence[Worker]
    tasks: Sequence[asyncio.Task[None]]

    def checks(self) -> dict[str, str]:
        """What has to be right for it to be of use, one key each."""
        troubles = [said for worker in self.workers for said in worker.health().values() if said != "ok"]
        ended = [repr(task.exception()) for task in self.tasks if task.done() and not task.cancelled()]
        return {self.service: (ended or troubles or ["ok"])[0]}


@asynccontextmanager
async def at_work(
    service: Reporter, workers: Sequence[Worker], *beside: Coroutine[object, object, None]
) -> AsyncIterator[Working]:
    """At work for the length of a block; what is in hand then is finished or handed back, what runs beside is cut."""
    tasks = [asyncio.create_task(worker.run()) for worker in workers]
    cut = [asyncio.create_task(one) for one in beside]
    for task in (*tasks, *cut):
        task.add_done_callback(_ended)
    try:
        yield Working(service, workers, (*tasks, *cut))
    finally:
        for task in cut:
            task.cancel()
        await asyncio.gather(*(worker.stop() for worker in workers))
        await asyncio.gather(*tasks, *cut, return_exceptions=True)


def _ended(task: asyncio.Task[None]) -> None:
    """Nothing of it ends by itself: whoever reads logs is told, and `/readyz` has the short word."""
    if not task.cancelled() and (error := task.exception()):
        _LOG.error("it died, and does no more", exc_info=error)
