"""The server on real sockets: bounds of time, connections and memory, pipelines, and a stop in good order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from http import HTTPStatus

import pytest

from amends.gateway.exchange import Answer, Request, Route
from amends.gateway.server import Bounds, Server
from tests.support.asynchronous import asynchronous, until
from tests.support.gateway import exchange, line, request

QUICK = Bounds(head=0.4, body=0.4, answer=0.4, idle=1, connections=8, small_bytes=50_000, large_at_once=1)


class Echo:
    """Answers with the length of what it was sent, when it may."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.may.set()
        self.in_hand = 0
        self.seen: list[bytes] = []

    async def handle(self, asked: Request) -> Answer:
        if asked.body == b"fail":
            raise ValueError("a secret detail")
        self.in_hand += 1
        await self.may.wait()
        self.in_hand -= 1
        self.seen.append(asked.body)
        return Answer(HTTPStatus.OK, {"length": len(asked.body)})


@asynccontextmanager
async def serving(bounds: Bounds = QUICK) -> AsyncIterator[tuple[str, Echo, Server]]:
    echo = Echo()
    server = Server({"/echo": Route("POST", echo.handle, 200_000)}, bounds)
    address = await server.start("127.0.0.1", 0)
    try:
        yield address, echo, server
    finally:
        echo.may.set()
        await server.stop(2)


def echo_of(body: bytes) -> bytes:
    return request("/echo", body)


@asynchronous
async def test_a_connection_is_used_again() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        for body in (b"a", b"bc", b""):
            await connection.send(echo_of(body))
            assert (await connection.reply()).said == {"length": len(body)}


@asynchronous
async def test_requests_that_are_sent_at_once_are_answered_in_their_order() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        await connection.send(b"".join(echo_of(b"x" * n) for n in range(50)))
        assert [(await connection.reply()).said["length"] for _ in range(50)] == list(range(50))


@asynchronous
async def test_answers_are_not_held_back_by_the_network() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        began = asyncio.get_running_loop().time()
        for _ in range(30):
            await connection.send(echo_of(b"a"))
            await connection.reply()
        assert asyncio.get_running_loop().time() - began < 30 * 0.02


@asynchronous
async def test_a_request_may_come_byte_by_byte() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        await connection.send(*(bytes([byte]) for byte in echo_of(b"hello")))
        assert (await connection.reply()).said == {"length": 5}


@asynchronous
async def test_who_asks_whether_he_may_send_is_told() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        await connection.send(request("/echo", b"hello", Expect="100-continue")[:-5])
        assert (await connection.reply()).status == 100
        await connection.send(b"hello")
        assert (await connection.reply()).said == {"length": 5}


@asynchronous
async def test_a_failure_inside_is_no_500_and_tells_nothing() -> None:
    async with serving() as (address, _, _server):
        reply = await exchange(address, echo_of(b"fail"))
    assert (reply.status, reply.fields["retry-after"]) == (503, "5")
    assert "secret" not in str(reply.said)


@asynchronous
async def test_a_refusal_reaches_one_who_has_not_finished_sending() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        await connection.send(request("/echo", b"x" * 10, Content_Length="200001"))
        await connection.send(b"y" * 150_000)
        assert (await connection.reply()).status == 413


# --- time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "status"), [(b"POST /echo HTTP/1.1\r\nHo", 408), (echo_of(b"hello")[:-1], 408)])
@asynchronous
async def test_inv_04_who_is_too_slow_is_told(sent: bytes, status: int) -> None:
    async with serving() as (address, _, _server):
        assert (await exchange(address, sent)).status == status


@asynchronous
async def test_inv_04_one_byte_now_and_then_does_not_keep_a_head_open() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        dripping = asyncio.create_task(connection.drip(echo_of(b""), 0.05))
        assert (await connection.reply()).status == 408
        dripping.cancel()


@asynchronous
async def test_inv_04_an_idle_connection_is_closed_without_a_word() -> None:
    async with serving() as (address, _, _server), line(address) as connection:
        await connection.send(echo_of(b""))
        await connection.reply()
        assert await connection.ended()


@asynchronous
async def test_an_answer_that_takes_too_long_is_try_again() -> None:
    async with serving() as (address, echo, _server):
        echo.may.clear()
        assert (await exchange(address, echo_of(b"a"))).status == 503


# --- connections and memory ----------------------------------------------------------------------------------------


@asynchronous
async def test_inv_04_a_good_request_is_answered_while_others_hold_every_connection() -> None:
    async with serving() as (address, _, _server), AsyncExitStack() as others:
        for _ in range(20):
            slow = await others.enter_async_context(line(address))
            await slow.send(b"POST /echo HT")
        async with asyncio.timeout(2):
            assert (await exchange(address, echo_of(b"good"))).said == {"length": 4}


@asynchronous
async def test_inv_04_nobody_is_thrown_out_who_waits_for_his_answer() -> None:
    async with serving() as (address, echo, _server), AsyncExitStack() as others:
        echo.may.clear()
        waiting = [await others.enter_async_context(line(address)) for _ in range(8)]
        for connection in waiting:
            await connection.send(echo_of(b"a"))
        await until(lambda: echo.in_hand == 8)
        assert (await exchange(address, echo_of(b"b"))).status == 503
        echo.may.set()
        assert [(await connection.reply()).status for connection in waiting] == [200] * 8


@asynchronous
async def test_inv_04_a_large_body_that_does_not_come_keeps_out_large_ones_alone() -> None:
    async with serving() as (address, _, _server), line(address) as slow:
        await slow.send(echo_of(b"x" * 100_000)[:60_000])
        assert (await exchange(address, echo_of(b"x" * 60_000))).status == 503
        assert (await exchange(address, echo_of(b"small"))).status == 200
        assert (await slow.reply()).status == 408
        assert (await exchange(address, echo_of(b"x" * 60_000))).status == 200


# --- stopping ------------------------------------------------------------------------------------------------------


@asynchronous
async def test_a_stop_finishes_what_is_in_hand_and_takes_nothing_new() -> None:
    async with serving(Bounds()) as (address, echo, server), line(address) as busy, line(address) as idle:
        echo.may.clear()
        await busy.send(echo_of(b"last"))
        await until(lambda: echo.in_hand == 1)
        stopping = asyncio.create_task(server.stop(5))
        await asyncio.sleep(0.05)
        with pytest.raises(OSError, match=r"refused|failed"):
            await exchange(address, echo_of(b"new"))
        echo.may.set()
        assert (await busy.reply()).fields["connection"] == "close"
        assert await idle.ended()
        await stopping


@asynchronous
async def test_a_stop_does_not_wait_for_ever() -> None:
    async with serving(Bounds()) as (address, echo, server), line(address) as busy:
        echo.may.clear()
        await busy.send(echo_of(b"last"))
        await until(lambda: echo.in_hand == 1)
        async with asyncio.timeout(2):
            await server.stop(1)
