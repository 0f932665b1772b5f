"""What an evaluator does beside recording, so that a recorder that is measured has it, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from amends.evaluator.writer import CHECKPOINT_SECONDS, Writer


@asynccontextmanager
async def tended(writer: Writer) -> AsyncIterator[None]:
    """For the length of a block the write-ahead log is moved into the database as often as `amends up` does it."""
    tending = asyncio.create_task(_tended(writer))
    yield
    tending.cancel()
    await asyncio.gather(tending, return_exceptions=True)


async def _tended(writer: Writer) -> None:
    while True:
        await asyncio.sleep(CHECKPOINT_SECONDS)
        await asyncio.to_thread(writer.checkpoint)
