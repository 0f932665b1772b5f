"""Processes of one service, of which one has the seat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from amends.common.bus.consumers import Consumers
from amends.common.bus.mirror import Mirror
from amends.common.bus.seat import Seat, seated
from amends.common.envelope import Row
from amends.common.events import Reporter
from tests.support.asynchronous import until
from tests.support.chain import Chain, push
from tests.support.nats import NatsServer, linked

SILENT = 2.0


def one_of(server: NatsServer) -> str:
    """The address of a user who has a seat."""
    return server.address("publisher")


async def furnished(server: NatsServer, events: int = 0) -> Chain:
    """What the evaluator makes of an empty NATS."""
    chain = Chain()
    for n in range(1, events + 1):
        chain.record(push(n))
    async with linked(server.address("evaluator"), "evaluator") as link:
        await Mirror(link).create(1, chain.epoch)
        if chain.kept:
            await Mirror(link).publish(chain.kept)
        await Consumers(link).ensure({}, 1)
    return chain


async def publish(server: NatsServer, row: Row) -> None:
    async with linked(server.address("evaluator"), "evaluator") as link:
        await Mirror(link).publish([row])


@asynccontextmanager
async def asleep(server: NatsServer) -> AsyncIterator[Seat]:
    """A process that has the seat, and is stopped."""
    async with linked(one_of(server), "publisher") as link:
        seat = Seat(link, "publisher", "sleeper", SILENT)
        keeping = asyncio.create_task(seat.keep())
        await until(seat.ours.is_set)
        keeping.cancel()
        yield seat


@asynccontextmanager
async def rivals(server: NatsServer, number: int = 2, service: Reporter = "publisher") -> AsyncIterator[Sequence[Seat]]:
    """Processes of one service."""
    async with AsyncExitStack() as stack:
        links = [await stack.enter_async_context(linked(server.address(service), service)) for _ in range(number)]
        yield [await stack.enter_async_context(seated(link, service, f"p{n}", SILENT)) for n, link in enumerate(links)]
