"""The connection: requests that nobody answers, reconnects, denials."""

import asyncio
import socket

import pytest
from nats.aio.msg import Msg

from amends.common.bus.link import Link, Unanswered
from tests.support.asynchronous import asynchronous, until
from tests.support.nats import NatsServer, linked, reconnecting


async def echo(link: Link, subject: str) -> None:
    async def heard(message: Msg) -> None:
        await link.publish(message.reply, message.data)

    await link.subscribe(subject, heard)


@asynchronous
async def test_a_request_is_answered_after_the_server_was_killed_and_came_back(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await echo(link, "echo")
        assert (await link.request("echo", b"once")).data == b"once"
        async with reconnecting(link):
            nats.restart()
        assert (await link.request("echo", b"again")).data == b"again"


@asynchronous
async def test_a_request_that_nobody_serves_fails_at_once_and_says_so(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        with pytest.raises(Unanswered, match="nobody serves nowhere"):
            await link.request("nowhere", seconds=10)


@asynchronous
async def test_a_request_under_way_fails_when_the_connection_breaks(nats: NatsServer) -> None:
    async with linked(nats.url) as link, linked(nats.url) as silent:
        heard = asyncio.Event()

        async def listen(_: Msg) -> None:
            heard.set()

        await silent.subscribe("silence", listen)
        request = asyncio.create_task(link.request("silence", seconds=10))
        await heard.wait()
        nats.kill()
        with pytest.raises(Unanswered, match="connection broke"):
            await request


@asynchronous
async def test_without_a_server_a_request_fails_at_once_and_is_not_sent_later(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        nats.kill()
        await until(lambda: not link.connected)
        with pytest.raises(Unanswered, match="not connected"):
            await link.request("echo", seconds=10)
        assert link.health().startswith("not connected")


@asynchronous
async def test_a_server_that_is_paused_leaves_a_request_unanswered_in_its_time(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        await echo(link, "echo")
        nats.pause()
        with pytest.raises(Unanswered, match=r"within 0\.05 s"):
            await link.request("echo", seconds=0.05)
        nats.resume()
        assert (await link.request("echo", b"back")).data == b"back"


@asynchronous
async def test_a_connection_can_be_closed_although_the_server_is_gone(nats: NatsServer) -> None:
    link = await Link(nats.url, "test").open()
    await echo(link, "echo")
    nats.kill()
    await link.close()
    assert link.health().startswith("closed for good")


@asynchronous
async def test_who_stops_while_it_is_connecting_is_heeded_whenever_that_is() -> None:
    """Each try fails at once: sooner or later somebody stops just as one does, or before the first."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
        for number in range(400):
            link = Link(f"nats://127.0.0.1:{taken.getsockname()[1]}", "impatient")
            opening = asyncio.create_task(link.open())
            for _ in range(number % 20):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait({opening}, timeout=10)
            assert opening.cancelled(), f"after {number % 20} turns of the loop it goes on"
            await link.close()


@asynchronous
async def test_what_is_subscribed_to_while_the_server_goes_away_is_heard_when_it_is_back(nats: NatsServer) -> None:
    heard: list[str] = []

    async def hear(message: Msg) -> None:
        heard.append(message.subject)

    async with linked(nats.url) as link:
        async with reconnecting(link):
            nats.kill()
            await link.subscribe("news", hear, seconds=1)
            nats.start()
        await link.publish("news")
        await until(lambda: heard == ["news"])
