"""What somebody with all rights can do to the mirror, and what can be seen of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar

from amends.common.bus.jetstream import NO_CONSUMER, NO_STREAM, Rejected, ask, look
from amends.common.bus.link import Link
from amends.common.bus.mirror import STREAM, Mirror
from amends.common.events import REACTIONS
from tests.support.nats import linked

Result = TypeVar("Result")


def through(nats_url: str, act: Callable[[Link], Awaitable[Result]]) -> Result:
    """What comes of a connection."""

    async def connected() -> Result:
        async with linked(nats_url) as link:
            return await act(link)

    return asyncio.run(connected())


def mirrored(nats_url: str) -> int:
    """How far the mirror reaches; 0 without one."""
    return through(nats_url, lambda link: Mirror(link).last_seq())


def consumers(nats_url: str) -> set[str]:
    """The services that have their durable."""

    async def named(link: Link) -> set[str]:
        infos = {name: await look(link, f"CONSUMER.INFO.{STREAM}.{name}", NO_CONSUMER) for name in REACTIONS}
        return {name for name, info in infos.items() if info}

    async def there(link: Link) -> set[str]:
        return await named(link) if await look(link, f"STREAM.INFO.{STREAM}", NO_STREAM) else set()

    return through(nats_url, there)


def forget_stream(nats_url: str) -> None:
    """Delete the mirror with all its consumers, if it is there."""
    _forget(nats_url, f"STREAM.DELETE.{STREAM}")


def forget_consumer(nats_url: str, service: str) -> None:
    """Delete one service's durable, if it is there."""
    _forget(nats_url, f"CONSUMER.DELETE.{STREAM}.{service}")


def _forget(nats_url: str, verb: str) -> None:
    async def ask_for_it(link: Link) -> None:
        with suppress(Rejected):
            await ask(link, verb)

    through(nats_url, ask_for_it)
