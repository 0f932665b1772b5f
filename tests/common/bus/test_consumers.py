"""The durables: who makes them, where they start, what becomes of a changed one."""

from typing import Any

import pytest

from amends.common.bus.consumers import Consumers
from amends.common.bus.jetstream import ask
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from amends.common.events import REACTIONS
from tests.support.asynchronous import asynchronous, eventually
from tests.support.chain import Chain, fetched, push
from tests.support.nats import NatsServer, linked


async def mirrored(link: Link, chain: Chain, first: int = 1) -> None:
    await Mirror(link).create(first, chain.epoch)
    if chain.kept[first - 1 :]:
        await Mirror(link).publish(chain.kept[first - 1 :])


async def info(link: Link, service: str) -> dict[str, Any]:
    return await ask(link, f"CONSUMER.INFO.EVENTS.{service}")


async def waiting(link: Link, service: str, number: int) -> None:
    """So many events wait for the service; the server counts them a moment after it stored them."""

    async def counted() -> bool:
        return bool((await info(link, service))["num_pending"] == number)

    await eventually(counted)


def pushes(number: int) -> Chain:
    chain = Chain()
    for n in range(1, number + 1):
        chain.record(push(n))
    return chain


@asynchronous
async def test_every_service_that_reacts_gets_a_durable_filtered_to_its_reactions(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await mirrored(link, Chain())
        assert await Consumers(link).ensure({}, 1) == ()
        for service, types in REACTIONS.items():
            config = (await info(link, service))["config"]
            found = set(config.get("filter_subjects", [])) | {config.get("filter_subject", "")} - {""}
            assert found == {f"events.*.{type_}" for type_ in types}


@asynchronous
async def test_a_missing_durable_starts_at_the_oldest_request_of_its_service(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await mirrored(link, pushes(10))
        await Consumers(link).ensure({"publisher": 4, "fixer": 2}, 11)
        await waiting(link, "publisher", 7)


@asynchronous
async def test_without_outstanding_requests_history_is_not_worked_through_again(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        chain = pushes(10)
        await mirrored(link, chain)
        await Consumers(link).ensure({}, 11)
        await waiting(link, "publisher", 0)
        await Mirror(link).publish([chain.record(push(11))])
        await waiting(link, "publisher", 1)


@asynchronous
async def test_a_durable_may_be_made_before_its_first_event_is_mirrored(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        chain = pushes(10)
        await mirrored(link, Chain())
        await Consumers(link).ensure({}, 8)
        await Mirror(link).publish(chain.kept)
        await waiting(link, "publisher", 3)


@asynchronous
async def test_a_durable_that_exists_goes_on_where_it_was(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await mirrored(link, pushes(10))
        await Consumers(link).ensure({"publisher": 3}, 11)
        before = await info(link, "publisher")
        await Consumers(link).ensure({"publisher": 9}, 11)
        assert (await info(link, "publisher"))["created"] == before["created"]


@asynchronous
async def test_a_changed_durable_is_mended_where_it_stands(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await mirrored(link, pushes(10))
        await Consumers(link, ack_wait=1).ensure({"publisher": 3}, 11)
        assert await Consumers(link).ensure({}, 11) == ()
        found = await info(link, "publisher")
        assert (found["config"]["ack_wait"], found["config"]["opt_start_seq"]) == (60_000_000_000, 3)


@asynchronous
async def test_a_shrunk_filter_is_mended_too(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        chain = Chain()
        await mirrored(link, chain)
        await Consumers(link).ensure({}, 1)
        config = {**(await info(link, "publisher"))["config"], "filter_subjects": ["events.*.cycle.finished"]}
        verb = "CONSUMER.CREATE.EVENTS.publisher"
        await ask(link, verb, stream_name="EVENTS", config=config, action="update")
        await Consumers(link).ensure({}, 1)
        await Mirror(link).publish([chain.record(push(1)), chain.record(fetched(1))])
        await waiting(link, "publisher", 1)


HARM = {
    "headers_only": True,
    "backoff": [1_000_000_000],
    "max_bytes": 100,
    "max_expires": 1_000_000_000,
    "inactive_threshold": 1_000_000_000,
}


@pytest.mark.parametrize("name", HARM)
@asynchronous
async def test_what_keeps_events_from_coming_whole_is_mended_too(nats: NatsServer, name: str) -> None:
    async with linked(nats.url) as link:
        await mirrored(link, Chain())
        await Consumers(link).ensure({}, 1)
        config = (await info(link, "publisher"))["config"]
        verb, changed = "CONSUMER.CREATE.EVENTS.publisher", {**config, name: HARM[name]}
        await ask(link, verb, stream_name="EVENTS", config=changed, action="update")
        await Consumers(link).ensure({}, 1)
        assert (await info(link, "publisher"))["config"] == config


@asynchronous
async def test_what_cannot_be_mended_is_said(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await mirrored(link, Chain())
        config = {"name": "fixer", "durable_name": "fixer", "ack_policy": "none"}
        verb = "CONSUMER.CREATE.EVENTS.fixer"
        await ask(link, verb, stream_name="EVENTS", config=config, action="create")
        (wrong,) = await Consumers(link).ensure({}, 1)
        assert wrong.startswith("consumer fixer: ")
        assert "ack_policy is none, not explicit" in wrong
