"""Two notifiers at once: what one is about to write, the other does not."""

import asyncio

from amends.common.delivery import Later
from amends.common.events import FixRequested
from tests.support.asynchronous import asynchronous, until
from tests.support.book import Book
from tests.support.github import Scene
from tests.support.nats import NatsServer
from tests.support.notifying import Desk, at_work
from tests.support.seats import furnished, rivals


async def both(*desks: Desk) -> list[object]:
    """They hear of it at the same time, and look before either has written."""
    desks[0].scene.double.faults.next("GET", "/issues/1/comments", delay=0.5, times=2)
    return list(await asyncio.gather(*(desk.hear(FixRequested) for desk in desks), return_exceptions=True))


@asynchronous
async def test_whose_turn_it_is_writes_the_card_and_the_other_comes_later(
    scene: Scene, sqlite_book: Book, guarded: NatsServer
) -> None:
    await furnished(guarded)
    async with (
        at_work(sqlite_book, scene) as one,
        at_work(sqlite_book, scene, None) as other,
        rivals(guarded, 2, "notifier") as seats,
    ):
        one.teller.turn, other.teller.turn = seats
        one.rejects()
        await until(lambda: any(seat.ours.is_set() for seat in seats))
        found = await both(one, other)
        assert {type(end) for end in found} == {type(None), Later}
        assert len(one.talk()) == 1
