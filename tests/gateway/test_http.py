"""HTTP read strictly: what two readers could read in two ways is refused, however the bytes are cut."""

from __future__ import annotations

from http import HTTPStatus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.gateway.http import heads
from amends.gateway.http.answers import Answer
from amends.gateway.http.heads import Refused
from amends.gateway.http.house import Bounds, House, Request, Route
from amends.gateway.http.incoming import Incoming

HEAD = b"POST /in HTTP/1.1\r\nHost: a\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


async def _nothing(_request: Request) -> Answer:
    raise NotImplementedError


def incoming(**bounds: int) -> Incoming:
    return Incoming(House({"/in": Route("POST", _nothing, 1_000)}, Bounds(**bounds)))


def taken(*parts: bytes) -> list[bytes]:
    """The bodies of the requests in these bytes, as they come."""
    reading, bodies = incoming(), []
    for part in parts:
        reading.add(part)
        while True:
            if not reading.in_body:
                reading.begin()
            if not (found := reading.take()):
                break
            bodies.append(found[1].body)
    return bodies


def refused(*parts: bytes) -> int:
    with pytest.raises(Refused) as caught:
        taken(*parts)
    return caught.value.status


def head(*fields: bytes) -> bytes:
    return b"".join([HEAD, *(field + b"\r\n" for field in fields), b"\r\n"])


# --- what is taken -------------------------------------------------------------------------------------------------


def test_a_body_of_so_many_bytes_is_taken() -> None:
    assert taken(head(b"Content-Length: 5") + b"hello") == [b"hello"]


def test_a_request_without_a_body_is_taken() -> None:
    assert taken(head()) == [b""]


def test_chunks_are_put_together() -> None:
    assert taken(CHUNKED + b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n") == [b"hello world"]


def test_requests_that_come_together_are_taken_one_by_one() -> None:
    one = head(b"Content-Length: 1")
    assert taken(one + b"a" + CHUNKED + b"1\r\nb\r\n0\r\n\r\n" + one + b"c") == [b"a", b"b", b"c"]


@given(st.lists(st.binary(min_size=1, max_size=60), max_size=5), st.lists(st.integers(1, 400), max_size=8))
def test_however_they_are_cut_chunks_are_the_same(chunks: list[bytes], cuts: list[int]) -> None:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    whole, places = CHUNKED + body, sorted({0, *cuts})
    parts = [whole[start:end] for start, end in zip(places, [*places[1:], None], strict=True)]
    assert taken(*parts) == [b"".join(chunks)]


def test_names_of_fields_are_the_same_in_any_case() -> None:
    read = heads.read(b"POST /in HTTP/1.1\r\nhOsT: a\r\nX-GITHUB-Event:\tping ")
    assert read.text(b"x-github-event") == "ping"


def test_the_query_is_read_apart_from_the_path() -> None:
    read = heads.read(b"POST /in?pull=a/b%2342&review=7 HTTP/1.1\r\nHost: a")
    assert (read.path, read.asked()) == ("/in", {"pull": "a/b#42", "review": "7"})


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [(b"HTTP/1.1\r\nHost: a", True), (b"HTTP/1.1\r\nHost: a\r\nConnection: Close", False), (b"HTTP/1.0", False)],
)
def test_a_connection_is_kept_when_both_know_how(line: bytes, goes_on: bool) -> None:
    assert heads.read(b"POST /in " + line).goes_on is goes_on


# --- what is refused -----------------------------------------------------------------------------------------------

SMUGGLED = [
    head(b"Content-Length: 5", b"Transfer-Encoding: chunked"),
    head(b"Content-Length: 5", b"Content-Length: 5"),
    head(b"Content-Length: 5", b"content-length: 6"),
    head(b"Content-Length: 5, 5"),
    head(b"Content-Length: +5"),
    head(b"Content-Length: -1"),
    head(b"Content-Length: 0x5"),
    head(b"Content-Length: 5 5"),
    head(b"Content-Length: \xb2"),
    head(b"Content-Length:"),
    head(b"Content-Length: 9999999999999"),
    head(b"Transfer-Encoding: gzip, chunked"),
    head(b"Transfer-Encoding: chunked, identity"),
    head(b"Transfer-Encoding: xchunked"),
    head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
    head(b"Transfer-Encoding:\x0bchunked"),
    head(b"Transfer-Encoding : chunked"),
    head(b" Transfer-Encoding: chunked"),
    head(b"X: a", b"\tfolded: yes"),
    head(b"X: a\nY: b"),
    head(b"X: a\rY: b"),
    head(b"X: \x00"),
    head(b"X\x80: a"),
    head(b"no colon"),
    head(b": no name"),
    head(b"Host: b"),
    head(b"Authorization: a", b"Authorization: b"),
    head(b"X-Hub-Signature-256: a", b"X-Hub-Signature-256: b"),
    b"POST /in HTTP/1.1\r\n\r\n",
    b"POST /in HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST  /in HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /in HTTP/1.1 \r\nHost: a\r\n\r\n",
    b"POST /i\xc3\xa4 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST http://a/in HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"post /in HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /in HTTP/2.0\r\nHost: a\r\n\r\n",
    b"POST /in HTTP/1.2\r\nHost: a\r\n\r\n",
    b"POST /in\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    CHUNKED + b"5;name=value\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"0x5\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b" 5\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"5 \r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"5\nhello\r\n0\r\n\r\n" + b" " * 20,
    CHUNKED + b"5\r\nhelloXX0\r\n\r\n",
    CHUNKED + b"4\r\nhello\r\n0\r\n\r\n",
    CHUNKED + b"\r\n",
    CHUNKED + b"g\r\n",
    CHUNKED + b"fffffffff\r\n",
    CHUNKED + b"0\r\nTrailer: x\r\n\r\n",
    CHUNKED + b"0" * 100,
]


@pytest.mark.parametrize("sent", SMUGGLED)
def test_what_could_be_read_in_two_ways_is_refused(sent: bytes) -> None:
    assert refused(sent) == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head(b"Content-Length: 1001"), 413),
        (CHUNKED + b"3e9\r\n", 413),
        (CHUNKED + b"3e8\r\n" + b"a" * 1_000 + b"\r\n1\r\n", 413),
        (HEAD + b"X: " + b"a" * 20_000, 431),
        (head(*(b"X-%d: a" % n for n in range(101))), 431),
        (b"POST /" + b"a" * 3_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (head(b"Expect: tea"), 417),
        (b"POST /other HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        (b"POST /in/../in HTTP/1.1\r\nHost: a\r\n\r\n", 404),
        (b"GET /in HTTP/1.1\r\nHost: a\r\n\r\n", 405),
    ],
)
def test_inv_04_every_bound_has_its_status(sent: bytes, status: int) -> None:
    assert refused(sent) == status


def test_a_field_of_the_query_that_stands_there_twice_is_refused() -> None:
    with pytest.raises(Refused, match="twice"):
        heads.read(b"POST /in?a=1&a=2 HTTP/1.1\r\nHost: a").asked()


def test_inv_04_large_bodies_need_one_of_a_few_places() -> None:
    house = House({"/in": Route("POST", _nothing, 1_000)}, Bounds(small_bytes=10, large_at_once=1))
    first, second = Incoming(house), Incoming(house)
    first.add(head(b"Content-Length: 11"))
    first.begin()
    second.add(CHUNKED + b"b\r\n")
    second.begin()
    with pytest.raises(Refused, match="too many large bodies"):
        second.take()
    first.clear()
    assert house.large == 0


# --- anything at all -----------------------------------------------------------------------------------------------

PIECES = [
    b"POST ", b"GET ", b"/in", b" HTTP/1.1", b"\r\n", b"\r\n\r\n", b"\n", b"\r", b"Host: a\r\n",
    b"Content-Length: 3\r\n", b"Content-Length: 4\r\n", b"Transfer-Encoding: chunked\r\n", b"3\r\nabc\r\n", b"0\r\n\r\n",
    b"abc", b" ", b":", b"\0",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=6), max_size=14), st.integers(1, 40))
def test_anything_is_read_or_refused_and_nothing_else(pieces: list[bytes], size: int) -> None:
    whole = b"".join(pieces)
    _, status = _read(*(whole[start : start + size] for start in range(0, len(whole), size)))
    assert status == 0 or 400 <= status < 500


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.integers(1, 40))
def test_how_bytes_are_cut_changes_nothing(pieces: list[bytes], size: int) -> None:
    whole = b"".join(pieces)
    assert _read(whole) == _read(*(whole[start : start + size] for start in range(0, len(whole), size)))


def _read(*parts: bytes) -> tuple[list[bytes], int]:
    """What is taken of these bytes, and the status that ends it."""
    reading, bodies = incoming(), []
    try:
        for part in parts:
            reading.add(part)
            while (reading.in_body or reading.begin() or reading.in_body) and (found := reading.take()):
                bodies.append(found[1].body)
    except Refused as refusal:
        return bodies, refusal.status
    return bodies, 0


# --- answers -------------------------------------------------------------------------------------------------------


def test_an_answer_says_how_long_it_is_and_whether_the_connection_goes_on() -> None:
    answer = Answer(HTTPStatus.ACCEPTED, {"recorded": [1]}, {"Retry-After": "5"})
    assert answer.raw(goes_on=False) == (
        b"HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nContent-Length: 18\r\nRetry-After: 5\r\n"
        b'Connection: close\r\n\r\n{"recorded": [1]}\n'
    )
