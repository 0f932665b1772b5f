"""The seat: of several processes of a service one has it, whatever becomes of that one or of NATS."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from time import monotonic

from amends.common.bus.inbox import BusInbox, Watch
from amends.common.bus.seat import Seat, SeatedInbox, seated
from amends.common.delivery import Later
from tests.support.asynchronous import asynchronous, until
from tests.support.chain import push
from tests.support.nats import NatsServer, linked, reconnecting
from tests.support.seats import SILENT, asleep, furnished, one_of, publish, rivals

QUICK = Watch(expires=1.0, heartbeat=0.2, look=0.2, pause=0.05)


def having(seats: Sequence[Seat]) -> list[Seat]:
    return [seat for seat in seats if seat.ours.is_set()]


async def may_act(seat: Seat, term: int | None = None) -> bool:
    with suppress(Later):
        await seat.confirm(seat.term if term is None else term)
        return True
    return False


@asynccontextmanager
async def one_of_two(server: NatsServer) -> AsyncIterator[tuple[Seat, Seat]]:
    """Who has it, and who waits."""
    await furnished(server)
    async with rivals(server) as seats:
        await until(lambda: having(seats))
        (first,) = having(seats)
        yield first, next(seat for seat in seats if seat is not first)


@asynchronous
async def test_one_of_them_has_it_and_goes_on_having_it(guarded: NatsServer) -> None:
    async with one_of_two(guarded) as (first, second):
        await asyncio.sleep(2 * SILENT)
        assert await may_act(first)
        assert not await may_act(second)
        assert (first.term, second.term) == (1, 0)
        assert first.health() == second.health() == "ok"


@asynchronous
async def test_who_leaves_is_followed_at_the_next_look(guarded: NatsServer) -> None:
    await furnished(guarded)
    patient = 10 * SILENT
    async with linked(one_of(guarded), "publisher") as one, linked(one_of(guarded), "publisher") as other:
        async with seated(one, "publisher", "old", SILENT) as old:
            await until(old.ours.is_set)
            waiting = Seat(other, "publisher", "new", patient)
            keeping = asyncio.create_task(waiting.keep())
            await until(lambda: waiting.health() == "ok")
            assert not waiting.ours.is_set()
        await until(waiting.ours.is_set, patient / 2)
        keeping.cancel()


@asynchronous
async def test_who_dies_is_followed_when_he_was_silent_for_long_enough(guarded: NatsServer) -> None:
    async with one_of_two(guarded) as (first, second):
        await first.link.close()  # as if it had been killed: nothing is said any more
        last = monotonic()
        await until(second.ours.is_set)
        assert monotonic() - last >= SILENT * 0.7
        assert await may_act(second)


@asynchronous
async def test_who_was_stopped_and_wakes_up_too_late_may_not_act(guarded: NatsServer) -> None:
    await furnished(guarded)
    async with asleep(guarded) as sleeper, rivals(guarded, 1) as (awake,):
        await until(awake.ours.is_set)
        assert sleeper.ours.is_set()  # as far as it knows
        assert not await may_act(sleeper)
        assert sleeper.lost.is_set()
        assert await may_act(awake)


@asynchronous
async def test_what_was_looked_at_in_an_earlier_term_is_not_acted_on(guarded: NatsServer) -> None:
    await furnished(guarded)
    async with rivals(guarded, 1) as (seat,):
        await until(seat.ours.is_set)
        term = seat.term
        await seat.leave()
        await until(lambda: seat.term > term)
        assert not await may_act(seat, term)
        assert await may_act(seat)


@asynchronous
async def test_who_had_it_has_it_again_when_nats_was_wiped(guarded: NatsServer) -> None:
    async with one_of_two(guarded) as (first, second):
        term = first.term
        await asyncio.sleep(SILENT / 2)  # the other one has seen whose it is
        async with reconnecting(first.link, second.link):
            guarded.wipe()
        assert not await may_act(first, term)
        await furnished(guarded)
        await until(lambda: first.term > term)
        assert not second.ours.is_set()


@asynchronous
async def test_an_answer_that_was_lost_is_no_lost_seat_for_long(guarded: NatsServer) -> None:
    async with one_of_two(guarded) as (first, second):
        guarded.pause()
        acting = asyncio.create_task(may_act(first))
        await asyncio.sleep(0.1)
        acting.cancel()  # what was asked is with the server, and nobody hears its answer
        guarded.resume()
        await until(lambda: first.term == 2 or first.ours.is_set())
        await asyncio.sleep(SILENT)
        assert having([first, second]) == [first]
        assert await may_act(first)


@asynchronous
async def test_events_come_only_to_who_has_it(guarded: NatsServer) -> None:
    await furnished(guarded, 6)
    async with rivals(guarded) as seats:
        inboxes = [SeatedInbox(BusInbox(seat.link, "publisher", QUICK), seat) for seat in seats]
        for inbox in inboxes:
            await inbox.open()
        waiting = {asyncio.create_task(inbox.next()): seat for inbox, seat in zip(inboxes, seats, strict=True)}
        done, idle = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        (came,) = done
        assert waiting[came].ours.is_set()
        first = came.result()
        assert first is not None
        await first.done()
        for inbox in inboxes:
            assert (inbox.health()["seat"], inbox.health()["subscription"]) == ("ok", "ok")
        await waiting[came].link.close()
        (late,) = idle
        event = await late
        assert event is not None
        assert waiting[late].ours.is_set()
        for inbox in inboxes:
            await inbox.close()


@asynchronous
async def test_who_lost_it_takes_nothing_from_who_has_it(guarded: NatsServer) -> None:
    chain = await furnished(guarded)
    async with asleep(guarded) as sleeper, rivals(guarded, 1) as (awake,):
        theirs, ours = (SeatedInbox(BusInbox(seat.link, "publisher", QUICK), seat) for seat in (sleeper, awake))
        for inbox in (theirs, ours):
            await inbox.open()
        never = asyncio.create_task(theirs.next())
        await until(awake.ours.is_set)
        assert not await may_act(sleeper)
        for n in (1, 2, 3):
            await publish(guarded, chain.record(push(n)))
            came = await ours.next()
            assert came is not None
            await came.done()
        assert not never.done()
        for inbox in (theirs, ours):
            await inbox.close()
        assert await never is None
