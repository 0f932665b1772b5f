"""HTTP over bare sockets: what two readers could read in two ways is refused, and every bound has its status."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from amends.gateway.exchange import Answer, Request, Route, head_of
from amends.gateway.routing import Places, Routing
from amends.gateway.server import Bounds, Server
from tests.support.asynchronous import asynchronous
from tests.support.gateway import line

HEAD = b"POST /in HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def head(*fields: bytes) -> bytes:
    return b"".join([HEAD, *(field + b"\r\n" for field in fields), b"\r\n"])


async def _echo(request: Request) -> Answer:
    return Answer(HTTPStatus.OK, {"body": request.body.decode("latin-1")})


async def statuses(*sent: bytes) -> dict[bytes, int]:
    """What each of these, sent on a connection of its own, is answered with."""
    server = Server({"/in": Route("POST", _echo, 1_000)}, Bounds(head=0.5, body=0.5))
    address = await server.start("127.0.0.1", 0)

    async def status(one: bytes) -> int:
        async with line(address) as connection:
            await connection.send(one)
            return int((await connection.reader.readline()).split()[1])

    try:
        return dict(zip(sent, await asyncio.gather(*map(status, sent)), strict=True))
    finally:
        await server.stop(1)


TAKEN = [
    head(b"Content-Length: 5") + b"hello",
    head(b"content-LENGTH: 5") + b"hello",
    CHUNKED + b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    b"\r\n" + head(b"Content-Length: 0"),
    b"POST /in HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello",  # as nginx speaks to those behind it
    head(b"Content-Length: 1000") + b"x" * 1_000,
]
TWO_WAYS = [
    head(b"Content-Length: 5", b"Transfer-Encoding: chunked"),
    head(b"Content-Length: 5", b"Content-Length: 5"),
    head(b"Content-Length: 5", b"content-length: 6"),
    head(b"Content-Length: 5, 5"),
    head(b"Content-Length: +5"),
    head(b"Content-Length: -1"),
    head(b"Content-Length: 0x5"),
    head(b"Content-Length: \xb2"),
    head(b"Content-Length:"),
    head(b"Transfer-Encoding: gzip, chunked"),
    head(b"Transfer-Encoding: chunked, identity"),
    head(b"Transfer-Encoding: xchunked"),
    head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    head(b"Transfer-Encoding:\x0bchunked"),
    head(b"Transfer-Encoding : chunked"),
    head(b" Transfer-Encoding: chunked"),
    b"POST /in HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    head(b"X: a", b"\tfolded: yes"),
    head(b"X: a\nY: b"),
    head(b"X: a\rY: b"),
    head(b"X: \x00"),
    head(b"X\x80: a"),
    head(b"no colon"),
    head(b": no name"),
    head(b"Host: b"),
    head(b"Authorization: a", b"Authorization: b"),
    head(b"X-Hub-Signature-256: a", b"x-hub-signature-256: b"),
    head(b"X-GitHub-Event: ping", b"X-GitHub-Event: push"),
    head(b"X-GitHub-Delivery: 1", b"X-GitHub-Delivery: 2"),
    head(b"Idempotency-Key: 1", b"Idempotency-Key: 2"),
    b"post /in HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /in HTTP/1.2\r\nHost: a\r\n\r\n",
    b"POST /in\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"5\nhello\r\n0\r\n\r\n",
    CHUNKED + b"5\r\nhelloXX0\r\n\r\n",
    CHUNKED + b"4\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"g\r\n",
]
BOUNDED = {
    head(b"Content-Length: 1001"): 413,
    head(b"Content-Length: 9999999999999"): 413,
    CHUNKED + b"3e8\r\n" + b"a" * 1_000 + b"\r\n1\r\nb\r\n": 413,
    CHUNKED + b"3e9\r\n" + b"a" * 1_001 + b"\r\n0\r\n\r\n": 413,
    HEAD + b"X: " + b"a" * 60_000: 431,
    head(b"X: " + b"a" * 17_000): 431,
    head(*(b"X-%d: a" % n for n in range(101))): 431,
    CHUNKED + b"1;" + b"x" * 60_000: 431,
    CHUNKED + b"0\r\nTrailer: " + b"x" * 60_000: 431,
    b"POST /other HTTP/1.1\r\nHost: a\r\n\r\n": 404,
    b"POST /in/../in HTTP/1.1\r\nHost: a\r\n\r\n": 404,
    b"POST /%69n HTTP/1.1\r\nHost: a\r\n\r\n": 404,
    b"GET /in HTTP/1.1\r\nHost: a\r\n\r\n": 405,
    CHUNKED + b"3e8\r\n": 408,
    HEAD + b"X: ": 408,
}


@asynchronous
async def test_bodies_are_taken_whole_or_in_chunks() -> None:
    assert await statuses(*TAKEN) == dict.fromkeys(TAKEN, 200)


@asynchronous
async def test_inv_02_what_could_be_read_in_two_ways_is_refused() -> None:
    assert await statuses(*TWO_WAYS) == dict.fromkeys(TWO_WAYS, 400)


@asynchronous
async def test_inv_04_every_bound_has_its_status() -> None:
    assert await statuses(*BOUNDED) == BOUNDED


def test_a_field_after_the_last_chunk_is_no_part_of_the_head() -> None:
    signed = Route("POST", _echo, 1_000, lambda head: Answer(HTTPStatus.OK, {}) if b"late" in head.fields else None)
    trailed = CHUNKED + b"1\r\nx\r\n0\r\nLate: yes\r\n\r\n"
    assert asyncio.run(_answered(signed, trailed)) == b'{"body": "x"}\n'


async def _answered(route: Route, sent: bytes) -> bytes:
    server = Server({"/in": route})
    address = await server.start("127.0.0.1", 0)
    async with line(address) as connection:
        await connection.send(sent)
        head_ = await connection.reader.readuntil(b"\r\n\r\n")
        body = await connection.reader.readexactly(int(head_.lower().split(b"content-length: ")[1].split()[0]))
    await server.stop(1)
    return body


# --- anything at all -----------------------------------------------------------------------------------------------

PIECES = [
    b"POST ", b"GET ", b"/in", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"Host: a\r\n",
    b"Content-Length: 3\r\n", b"Content-Length: 4\r\n", b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n",
    b"0\r\n\r\n", b"abc", b" ", b":", b"\0",
    b"Upgrade: h2c\r\n", b"Connection: Upgrade\r\n", b"Expect: 100-continue\r\n",
]  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), min_size=1, max_size=14), max_size=20))
def test_inv_03_whatever_comes_is_answered_with_no_500(sent: list[list[bytes]]) -> None:
    assert not {status for status in asyncio.run(_heard([b"".join(pieces) for pieces in sent])) if status >= 500}


async def _heard(sent: list[bytes]) -> list[int]:
    server = Server({"/in": Route("POST", _echo, 1_000)}, Bounds(head=0.05, body=0.05))
    address = await server.start("127.0.0.1", 0)

    async def status(one: bytes) -> int:
        async with line(address) as connection:
            await connection.send(one)
            first = await connection.reader.readline()
            return int(first.split()[1]) if first else 0

    try:
        return await asyncio.gather(*map(status, sent))
    finally:
        await server.stop(1)


@given(st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9))))
def test_fields_that_decide_nothing_may_come_twice(fields: list[tuple[bytes, bytes]]) -> None:
    read = head_of([(b"x" + name, value) for name, value in fields])
    assert set(read.fields) == {b"x" + name for name, _ in fields}


# --- the callable, without a socket --------------------------------------------------------------------------------


@asynchronous
async def test_who_hangs_up_is_not_answered() -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "raw_path": b"/in", "query_string": b"", "headers": []}
    routing = Routing({"/in": Route("POST", _echo, 1_000)}, Places(10, 1), 1.0)
    await routing({**scope, "http_version": "1.1"}, receive, send)
    assert sent == []
