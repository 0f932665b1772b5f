"""An evaluator in this process, for tests of those who have nothing but the bus in common with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from amends.common.settings import Settings
from amends.evaluator.app import Evaluator, run


@asynccontextmanager
async def evaluating(known: Settings, nats_url: str) -> AsyncIterator[Evaluator]:
    """One that accepts reports, for the length of a block."""
    stop, up = asyncio.Event(), asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def ready(evaluator: Evaluator, _address: str) -> AsyncIterator[None]:
        up.set_result(evaluator)
        yield

    running = asyncio.create_task(run(known, nats_url, stop, ready))
    try:
        yield await up
    finally:
        stop.set()
        await running
