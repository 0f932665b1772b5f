"""Tests that are coroutines: each runs in an event loop of its own, and never for ever."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps

LONGEST = 120.0
PATIENCE = 100.0  # of a machine with a load of twenty; a test that fails may take its time


def asynchronous(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run the test to its end, or fail after a time no test needs."""

    @wraps(test)
    def run(**given: object) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(LONGEST):
                await test(**given)

        asyncio.run(bounded())

    return run


async def until(reached: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Return as soon as something is so; it must be so before the deadline."""
    async with asyncio.timeout(seconds):
        while not reached():  # noqa: ASYNC110 - what tests wait for has no event
            await asyncio.sleep(0.002)


async def eventually(reached: Callable[[], Awaitable[bool]]) -> None:
    """As `until`, for what has to be asked of a server."""
    async with asyncio.timeout(PATIENCE):
        while not await reached():  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
