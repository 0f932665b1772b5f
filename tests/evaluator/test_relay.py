"""Log to mirror, through everything that can happen to either."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

import pytest

from amends.common.bus.consumers import Consumers
from amends.common.bus.jetstream import ask
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from amends.common.envelope import Row
from amends.evaluator.fork import ForeignMirrorError, ForkError, MirrorAheadError
from amends.evaluator.relay import GapError, Pace, Relay
from tests.support.asynchronous import asynchronous, until
from tests.support.chain import Chain, command
from tests.support.nats import NatsServer, linked, reconnecting

WHOLE = {"fixer": 1}  # somebody owes an answer to the first event, so a mirror begins there
QUICK = Pace(poll=0.02, look=0.1, retry=0.02, batch=100)
PATIENT = Pace(poll=300, look=300)


def relay_of(chain: Chain, link: Link, pace: Pace = QUICK) -> Relay:
    relay = Relay(chain, Mirror(link, seconds=0.5), Consumers(link), pace)
    link.when_restored(relay.look_again)
    return relay


@asynccontextmanager
async def running(relay: Relay) -> AsyncIterator[None]:
    task = asyncio.create_task(relay.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def reached(relay: Relay, goal: int) -> bool:
    return relay.mirrored >= goal


async def everything(mirror: Mirror) -> list[Row | None]:
    state = await mirror.state()
    assert state is not None
    return [await mirror.row_at(seq) for seq in range(state.first, state.last + 1)]


@asynchronous
async def test_after_the_handshake_the_mirror_equals_the_log(nats: NatsServer) -> None:
    chain = Chain(owed=WHOLE)
    chain.grow(1_200)
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        await relay.handshake()
        assert (relay.standing, relay.mirrored, relay.lag, relay.error) == ("mirroring", 1_200, 0, "")
        assert await everything(Mirror(link)) == chain.kept


@asynchronous
async def test_a_new_installation_mirrors_from_the_first_position_on(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        await relay_of(chain, link).handshake()
        chain.grow(3)
        await relay_of(chain, link).handshake()
        assert await everything(Mirror(link)) == chain.kept


@asynchronous
async def test_before_it_ends_the_rest_is_published(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        relay = relay_of(chain, link, PATIENT)
        async with running(relay):
            await until(lambda: relay.standing == "mirroring")
        chain.grow(7)
        await relay.finish()
        assert await everything(Mirror(link)) == chain.kept


@asynchronous
async def test_it_ends_in_time_although_nats_hangs(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        await relay.handshake()
        chain.grow(1)
        nats.pause()
        async with asyncio.timeout(2):
            await relay.finish(0.2)
        nats.resume()


@asynchronous
async def test_a_wake_publishes_at_once(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        relay = relay_of(chain, link, PATIENT)
        async with running(relay):
            await until(lambda: relay.standing == "mirroring")
            chain.grow(1)
            await asyncio.to_thread(relay.wake)
            await until(lambda: relay.mirrored == 1)


@asynchronous
async def test_what_another_evaluator_recorded_is_mirrored_without_a_wake(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.standing == "mirroring")
            chain.grow(1)
            await until(lambda: relay.mirrored == 1)


@asynchronous
async def test_two_relays_at_once_only_waste_work(nats: NatsServer, caplog: pytest.LogCaptureFixture) -> None:
    chain = Chain(owed=WHOLE)
    async with linked(nats.url) as link, linked(nats.url) as other:
        one, two = relay_of(chain, link), relay_of(chain, other)
        async with running(one), running(two):
            for _ in range(60):
                chain.grow(20)
                one.wake()
                two.wake()
                await asyncio.sleep(0)
            await until(lambda: one.mirrored == two.mirrored == 1_200)
        assert await everything(Mirror(link)) == chain.kept
    # That is what it is, and no failure.
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@asynchronous
async def test_a_fork_stops_the_relay_loudly_and_nothing_is_merged(nats: NatsServer) -> None:
    chain, other = Chain(), Chain()
    chain.grow(10)
    other.grow(9)
    other.record(command("elsewhere"))
    async with linked(nats.url) as link:
        await relay_of(chain, link).handshake()
        relay = relay_of(other, link)
        with pytest.raises(ForkError, match=r"at position 10 .*'command/elsewhere' and 'command/c-10'"):
            await relay.run()
        assert (relay.standing, await Mirror(link).last_seq()) == ("forked", 10)


@asynchronous
async def test_a_log_restored_from_an_older_copy_meets_its_newer_mirror_and_names_the_remedy(nats: NatsServer) -> None:
    chain = Chain()
    chain.grow(30)
    async with linked(nats.url) as link:
        await relay_of(chain, link).handshake()
        relay = relay_of(chain.until(20), link)
        with pytest.raises(MirrorAheadError, match=r"position 30, the log only 20.*amends restore --import-tail"):
            await relay.handshake()
        assert relay.standing == "ahead"


@asynchronous
async def test_a_restored_log_that_went_its_own_way_is_a_fork(nats: NatsServer) -> None:
    chain = Chain(owed=WHOLE)
    chain.grow(30)
    async with linked(nats.url) as link:
        await relay_of(chain, link).handshake()
        strayed = chain.until(20)
        strayed.grow(3, named="other")
        with pytest.raises(ForkError, match="at position 23"):
            await relay_of(strayed, link).handshake()


@asynchronous
async def test_the_stream_of_another_log_is_left_alone(nats: NatsServer) -> None:
    chain, other = Chain(), Chain(epoch="epoch-2")
    chain.grow(3)
    async with linked(nats.url) as link:
        await relay_of(chain, link).handshake()
        with pytest.raises(ForeignMirrorError, match="of log epoch-1, this log is epoch-2"):
            await relay_of(other, link).handshake()


@asynchronous
async def test_a_foreign_message_behind_the_last_event_is_a_fork(nats: NatsServer) -> None:
    chain = Chain()
    chain.grow(3)
    async with linked(nats.url) as link:
        await relay_of(chain, link).handshake()
        await link.request("events.7-pr-1.fix.pushed", b"{}")
        chain.grow(1)
        with pytest.raises(ForkError, match="no event of a log"):
            await relay_of(chain, link).handshake()


@asynchronous
async def test_a_gap_in_the_log_stops_the_relay(nats: NatsServer) -> None:
    chain = Chain(owed=WHOLE)
    chain.grow(3)
    del chain.kept[1]
    async with linked(nats.url) as link:
        with pytest.raises(GapError, match="behind position 0"):
            await relay_of(chain, link).handshake()


@asynchronous
async def test_a_wiped_mirror_starts_at_the_oldest_outstanding_of_all(nats: NatsServer) -> None:
    chain = Chain(owed={"fixer": 71, "publisher": 64})
    chain.grow(80)
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.mirrored == 80)
            async with reconnecting(link):
                nats.wipe()
            chain.grow(20)
            await until(lambda: relay.mirrored == 100)
        assert await everything(Mirror(link)) == chain.kept[63:]


@asynchronous
async def test_a_wiped_mirror_of_a_log_at_rest_holds_one_event_to_know_the_log_by(nats: NatsServer) -> None:
    chain = Chain()
    chain.grow(80)
    async with linked(nats.url) as link:
        await relay_of(chain, link).handshake()
        async with reconnecting(link):
            nats.wipe()
        await relay_of(chain, link).handshake()
        assert await everything(Mirror(link)) == chain.kept[79:]


@asynchronous
async def test_a_mirror_wiped_while_away_begins_with_what_nobody_has_seen(nats: NatsServer) -> None:
    chain = Chain()
    chain.grow(50)
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.mirrored == 50)
            nats.kill()
            chain.grow(20)
            await until(lambda: relay.lag == 20)
            nats.wipe()
            await until(lambda: relay.lag == 0)
        assert await everything(Mirror(link)) == chain.kept[50:]


@asynchronous
async def test_a_deleted_stream_is_made_again_while_running(nats: NatsServer) -> None:
    chain = Chain()
    chain.grow(5)
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.mirrored == 5)
            await ask(link, "STREAM.DELETE.EVENTS")
            chain.grow(5)
            await until(lambda: relay.mirrored == 10)
        assert (await everything(Mirror(link)))[-1] == chain.kept[-1]


@asynchronous
async def test_a_server_that_lost_its_newest_messages_gets_them_again_with_the_same_sequence(nats: NatsServer) -> None:
    chain = Chain(owed=WHOLE)
    chain.grow(10)
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.mirrored == 10)
            nats.remember()
            chain.grow(10)
            await until(lambda: relay.mirrored == 20)
            async with reconnecting(link):
                nats.rewind()
            chain.grow(1)
            await until(lambda: relay.mirrored == 21)
        assert await everything(Mirror(link)) == chain.kept


@asynchronous
async def test_a_server_killed_again_and_again_while_publishing_ends_up_equal_to_the_log(nats: NatsServer) -> None:
    chain = Chain(owed=WHOLE)
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            for goal in (200, 1_200, 2_300, 3_100):
                chain.grow(900)
                await until(partial(reached, relay, goal))
                nats.restart()
            await until(lambda: relay.mirrored == 3_600)
        assert await everything(Mirror(link)) == chain.kept


@asynchronous
async def test_while_the_server_is_away_the_lag_shows_and_afterwards_it_is_made_up(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.standing == "mirroring")
            nats.kill()
            chain.grow(7)
            await until(lambda: relay.lag == 7 and relay.standing == "failing")
            nats.start()
            await until(lambda: relay.lag == 0 and relay.standing == "mirroring")


@asynchronous
async def test_what_the_server_does_not_take_it_says_however_much_there_is_to_mirror(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.standing == "mirroring")
            config = (await ask(link, "STREAM.INFO.EVENTS"))["config"]
            await ask(link, "STREAM.UPDATE.EVENTS", **{**config, "max_msgs": 5, "discard": "new"})
            chain.grow(150)
            await until(lambda: "maximum messages exceeded" in relay.error)
            await ask(link, "STREAM.UPDATE.EVENTS", **config)
            await until(lambda: (relay.mirrored, relay.error) == (150, ""))


@asynchronous
async def test_a_paused_server_does_not_hold_the_relay_for_ever(nats: NatsServer) -> None:
    chain = Chain()
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.standing == "mirroring")
            nats.pause()
            chain.grow(3)
            await until(lambda: relay.standing == "failing" and "not answered" in relay.error)
            nats.resume()
            await until(lambda: relay.mirrored == 3)


class Flaky(Chain):
    """A log that cannot be read for a while."""

    away = True

    def rows(self, after: int, limit: int) -> list[Row]:
        if self.away:
            raise OSError("the database went away")
        return super().rows(after, limit)


@asynchronous
async def test_a_log_that_cannot_be_read_for_a_while_stops_nothing_for_good(nats: NatsServer) -> None:
    chain = Flaky()
    chain.grow(2)
    async with linked(nats.url) as link:
        relay = relay_of(chain, link)
        async with running(relay):
            await until(lambda: relay.error == "the database went away")
            chain.away = False
            await until(lambda: (relay.mirrored, relay.error) == (2, ""))


@asynchronous
async def test_the_handshake_waits_for_a_server(nats: NatsServer) -> None:
    chain = Chain()
    chain.grow(2)
    async with linked(nats.url) as link:
        nats.kill()
        await until(lambda: not link.connected)
        handshake = asyncio.create_task(relay_of(chain, link).handshake())
        await asyncio.sleep(0)
        nats.start()
        await handshake
        assert await Mirror(link).last_seq() == 2
