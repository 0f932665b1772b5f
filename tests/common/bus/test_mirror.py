"""The mirror: sequence = position, and nothing that is not so."""

from pathlib import Path

import pytest

from amends.common.bus.jetstream import Rejected, ask
from amends.common.bus.link import Link
from amends.common.bus.mirror import Conflict, Mirror, NotOurs
from amends.common.envelope import rehashed
from tests.support.asynchronous import asynchronous
from tests.support.chain import Chain, command
from tests.support.nats import NatsServer, linked, reconnecting


async def mirrored(link: Link, number: int, first: int = 1) -> tuple[Mirror, Chain]:
    chain, mirror = Chain(), Mirror(link)
    chain.grow(number)
    await mirror.create(first, chain.epoch)
    await mirror.publish(chain.kept[first - 1 :])
    return mirror, chain


@asynchronous
async def test_the_event_at_position_n_is_the_message_at_sequence_n_byte_for_byte(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, chain = await mirrored(link, 700)
        assert await mirror.last_seq() == 700
        assert [await mirror.row_at(pos) for pos in (1, 500, 700)] == [chain.row(1), chain.row(500), chain.row(700)]
        assert await mirror.row_at(701) is None


@asynchronous
async def test_a_row_read_from_the_mirror_still_has_its_place_in_the_hash_chain(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, chain = await mirrored(link, 2)
        second = await mirror.row_at(2)
        assert second is not None
        assert second.hash == rehashed(second, chain.kept[0].hash)


@asynchronous
async def test_a_mirror_may_begin_at_any_position(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, _ = await mirrored(link, 120, first=101)
        state = await mirror.state()
        assert state is not None
        assert (state.first, state.last, state.drift) == (101, 120, ())


@asynchronous
async def test_without_a_stream_there_is_no_state_and_nothing_mirrored(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        assert await Mirror(link).state() is None
        assert await Mirror(link).last_seq() == 0


@asynchronous
async def test_a_copy_a_gap_and_a_late_rival_are_refused_and_leave_no_trace(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, chain = await mirrored(link, 10)
        chain.grow(5)
        for wrong in (chain.kept[9:10], chain.kept[12:15], chain.kept[5:10]):
            with pytest.raises(Conflict):
                await mirror.publish(wrong)
        await mirror.publish(chain.kept[10:])
        assert await mirror.last_seq() == 15


@asynchronous
async def test_large_events_are_confirmed_in_windows_and_all_arrive(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, chain = Mirror(link), Chain()
        for number in range(60):
            chain.record(command(f"c-{number}").model_copy(update={"text": "x" * 200_000}))
        await mirror.create(1, chain.epoch)
        await mirror.publish(chain.kept)
        assert await mirror.row_at(60) == chain.row(60)


@asynchronous
async def test_a_stream_that_somebody_configured_otherwise_says_where(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await ask(link, "STREAM.CREATE.EVENTS", name="EVENTS", subjects=["events.>"], max_age=60_000_000_000)
        state = await Mirror(link).state()
        assert state is not None
        assert "max_age is 60000000000, not None" in state.drift
        assert "deny_purge is None, not True" in state.drift


@asynchronous
async def test_a_server_that_takes_no_large_messages_is_not_as_it_must_be(tmp_path: Path) -> None:
    (tmp_path / "nats.conf").write_text("max_payload: 64KB")
    server = NatsServer(tmp_path, tmp_path / "nats.conf").start()
    async with linked(server.url) as link:
        state = await Mirror(link).create(1, "epoch-1")
        assert state.drift == ("NATS takes messages of 65536 bytes, not of 524288: raise its max_payload",)
    server.kill()


@asynchronous
async def test_nobody_can_delete_or_purge_what_is_mirrored(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, _ = await mirrored(link, 3)
        for verb, fields in (("STREAM.PURGE.EVENTS", {}), ("STREAM.MSG.DELETE.EVENTS", {"seq": 2})):
            with pytest.raises(Rejected):
                await ask(link, verb, **fields)
        assert await mirror.row_at(2) is not None


@asynchronous
async def test_a_message_that_somebody_else_published_is_recognised_as_such(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, _ = await mirrored(link, 1)
        await link.request("events.7-pr-1.fix.pushed", b'{"pos":"2"}')
        with pytest.raises(NotOurs):
            await mirror.row_at(2)


@asynchronous
async def test_publishing_goes_on_where_a_killed_server_left_off(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        mirror, chain = await mirrored(link, 100)
        async with reconnecting(link):
            nats.restart()
        chain.grow(100)
        await mirror.publish(chain.kept[100:])
        assert await mirror.row_at(200) == chain.row(200)
