"""Three nats-servers as one: the stream is kept by all of them, and everybody comes to each under his own name."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from amends.common.bus.client import SturdyClient
from amends.common.bus.consumers import DEFERRED, Consumers
from amends.common.bus.jetstream import Rejected, TooFewServers, ask
from amends.common.bus.link import Link, Unanswered
from amends.common.bus.mirror import STREAM, Mirror
from tests.support.asynchronous import asynchronous, until
from tests.support.chain import Chain
from tests.support.cluster import Cluster, cluster
from tests.support.nats import NatsServer, linked

pytestmark = pytest.mark.connected


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as servers:
        yield servers


async def made(link: Link, replicas: int) -> Mirror:
    """The mirror and the consumers, as soon as there is a server that may decide."""
    mirror, chain = Mirror(link, replicas, seconds=2), Chain()
    while True:
        try:
            if await mirror.state() is None:
                await mirror.create(1, chain.epoch)
            assert await Consumers(link, replicas).ensure({}, 1) == ()
            return mirror
        except (Unanswered, Rejected):
            await asyncio.sleep(0.1)


@asynchronous
async def test_all_three_keep_the_stream_its_consumers_and_the_notes(three: Cluster) -> None:
    async with linked(three.address("evaluator"), "evaluator") as link, linked(three.url) as operator:
        mirror = await made(link, 3)
        state = await mirror.state()
        assert state is not None
        assert state.drift == ()
        verbs = f"STREAM.INFO.{STREAM}", f"STREAM.INFO.{DEFERRED}", f"CONSUMER.INFO.{STREAM}.fixer"
        kept = [await ask(operator, verb) for verb in verbs]
        assert [len(info["cluster"]["replicas"]) for info in kept] == [2, 2, 2]


@asynchronous
async def test_who_is_told_of_another_server_comes_to_it_under_his_own_name(three: Cluster) -> None:
    client, said = SturdyClient(), list[str]()

    async def heard(error: Exception) -> None:
        said.append(str(error))

    one = three.address("fixer").split(",")[0]
    await client.connect(one, error_cb=heard, reconnect_time_wait=0.05, max_reconnect_attempts=-1)
    try:
        await until(lambda: len(client.discovered_servers) == 3)
        three.kill(0)
        three.kill(1)
        await until(lambda: client.is_connected and urlsplit(three.servers[2].url).netloc in str(client.connected_url))
    finally:
        await client.close()
    assert [one for one in said if "authorization" in one.lower()] == []


@pytest.mark.parametrize("replicas", [3, 5])
@asynchronous
async def test_one_server_alone_is_too_few_and_it_is_said_what_to_do(nats: NatsServer, replicas: int) -> None:
    async with linked(nats.url) as link:
        with pytest.raises(TooFewServers, match=f"EVENTS cannot be kept by {replicas} servers .* or lower `replicas`"):
            await Mirror(link, replicas).create(1, "epoch")


@asynchronous
async def test_three_servers_are_too_few_for_five(three: Cluster) -> None:
    async with linked(three.url) as link:
        await made(link, 3)
        await ask(link, f"STREAM.DELETE.{STREAM}")
        with pytest.raises(TooFewServers, match="no suitable peers"):
            await Mirror(link, 5).create(1, "epoch")
