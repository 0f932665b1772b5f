"""Importing a tail: what only the mirror still has, and only if it continues the log."""

import pytest

from amends.common.bus.mirror import Mirror
from amends.evaluator.tail import NoTailError, continued, tail
from tests.support.asynchronous import asynchronous
from tests.support.chain import Chain
from tests.support.nats import NatsServer, linked


def grown(number: int, named: str = "c") -> Chain:
    chain = Chain()
    chain.grow(number, named)
    return chain


@asynchronous
async def test_the_mirror_gives_back_all_that_the_log_lost(nats: NatsServer) -> None:
    chain = grown(350)
    async with linked(nats.url) as link:
        mirror = Mirror(link)
        await mirror.create(1, chain.epoch)
        await mirror.publish(chain.kept)
        assert await tail(mirror, chain.until(120).head()) == chain.kept[120:]
        assert await tail(mirror, Chain(chain.epoch).head()) == chain.kept
        assert await tail(mirror, chain.head()) == []


@asynchronous
async def test_a_mirror_that_begins_behind_the_logs_end_cannot_help(nats: NatsServer) -> None:
    chain = grown(40)
    async with linked(nats.url) as link:
        mirror = Mirror(link)
        await mirror.create(30, chain.epoch)
        await mirror.publish(chain.kept[29:])
        with pytest.raises(NoTailError, match="does not hold position 20"):
            await tail(mirror, chain.until(20).head())


@asynchronous
async def test_without_a_mirror_of_this_log_there_is_no_tail(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        with pytest.raises(NoTailError, match="not there"):
            await tail(Mirror(link), grown(3).head())
        await Mirror(link).create(1, "epoch-2")
        with pytest.raises(NoTailError, match="of another log"):
            await tail(Mirror(link), grown(3).head())


def test_a_tail_of_a_log_that_went_another_way_is_refused() -> None:
    with pytest.raises(NoTailError, match="differ at position 5"):
        continued(grown(5, "other").head(), grown(9).kept[4:])


def test_a_changed_row_in_the_tail_is_found_by_its_hash() -> None:
    chain = grown(9)
    rows = chain.kept[4:]
    rows[2] = rows[2]._replace(data=b'{"id":"forged"}')
    with pytest.raises(NoTailError, match="position 7 does not follow"):
        continued(chain.until(5).head(), rows)


def test_a_tail_with_a_gap_is_refused() -> None:
    chain = grown(9)
    with pytest.raises(NoTailError, match="position 7 does not follow"):
        continued(chain.until(5).head(), [*chain.kept[4:6], *chain.kept[7:]])
