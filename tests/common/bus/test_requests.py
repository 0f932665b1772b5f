"""Reports over request and reply: the same meaning as in one process, whatever happens on the way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

import pytest

from amends.common.answers import Already, Go, Malformed, Recorded, Refused, Report, Stop, Unavailable, parse
from amends.common.bus import wire
from amends.common.bus.mirror import Mirror
from amends.common.bus.reporter import NatsRecorder
from amends.common.bus.requests import Requests
from amends.common.delivery import Later
from amends.common.identity import About
from amends.common.patience import report_until_answered
from tests.support.asynchronous import asynchronous, until
from tests.support.chain import command
from tests.support.desk import MemoryDesk
from tests.support.nats import NatsServer, linked, reconnecting


def report(id_: str) -> Report:
    return Report(fact=command(id_), about=About(repo=7, number=1), actor="ann")


@asynccontextmanager
async def served(nats: NatsServer) -> AsyncIterator[tuple[MemoryDesk, NatsRecorder]]:
    async with serving(nats.url) as (desk, _), linked(nats.url, "fixer") as link:
        yield desk, NatsRecorder(link, "fixer", seconds=2)


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[tuple[MemoryDesk, Requests]]:
    desk = MemoryDesk()
    requests = Requests(url, desk)
    await requests.join()
    try:
        yield desk, requests
    finally:
        await requests.leave(patience=0.1)


@asynchronous
async def test_a_report_is_recorded_and_the_same_again_is_known_already(nats: NatsServer) -> None:
    async with served(nats) as (desk, recorder):
        assert await recorder.report(report("c-1")) == Recorded(1)
        assert await recorder.report(report("c-1")) == Already(1, command("c-1"))
        assert desk.services == {"fixer"}


@asynchronous
async def test_256_reports_in_flight_meet_at_the_desk(nats: NatsServer) -> None:
    async with served(nats) as (desk, recorder):
        desk.open.clear()
        asked = [asyncio.create_task(recorder.report(report(f"c-{n}"))) for n in range(256)]
        await until(lambda: desk.waiting == 256)
        desk.open.set()
        assert sorted(str(answer) for answer in await asyncio.gather(*asked)) == sorted(
            str(Recorded(n)) for n in range(1, 257)
        )


HOSTILE = {
    "nothing": b"",
    "a NUL": b"\0",
    "half a character": b"\xff\xfe{",
    "deep": b"[" * 100_000,
    "huge number": b'{"fact":{"type":"fix.pushed","n":' + b"9" * 5_000 + b"}}",
    "a lone surrogate": b'{"fact":{"type":"command.given","id":"\\ud800"}}',
    "escaped NUL": b'{"actor":"\\u0000"}',
    "an unknown type": b'{"fact":{"type":"coffee.made"}}',
    "not an object": b'"fact"',
    "oversized": b'{"actor":"' + b"x" * 300_000 + b'"}',
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
@asynchronous
async def test_hostile_bytes_get_a_refusal_and_the_queue_goes_on(nats: NatsServer, raw: bytes) -> None:
    async with serving(nats.url), linked(nats.url, "fixer") as link:
        answer = wire.answer_from((await link.request("report.fixer", raw)).data)
        assert isinstance(answer, Refused)
        assert answer.detail
        assert await NatsRecorder(link, "fixer").report(report("c-1")) == Recorded(1)


STRANGE = [b"_INBOX.\xff\xfe", b"events.7-pr-1.fix.pushed", b"$JS.API.STREAM.DELETE.EVENTS", b"_INBOX.>", b"_INBOX.a.*"]


@pytest.mark.parametrize("reply", STRANGE)
@asynchronous
async def test_an_answer_goes_to_an_inbox_and_nowhere_else(nats: NatsServer, reply: bytes) -> None:
    async with served(nats) as (_, recorder), linked(nats.url, "evaluator") as link:
        await Mirror(link).create(1, "epoch-1")
        _, stranger = await asyncio.open_connection("127.0.0.1", nats.port)
        stranger.write(b"CONNECT {}\r\nPUB report.fixer " + reply + b" 2\r\n{}\r\nPING\r\n")
        await stranger.drain()
        assert await recorder.report(report("c-1")) == Recorded(1)
        assert await Mirror(link).last_seq() == 0
        stranger.close()


HEADS = [b"x", b"NATS/1.0", b"NATS/1.0 \xff\r\n\r\n", b"NATS/1.0 200 \xff\r\n\r\n", b"NATS/1.0\r\n\xff: \xff\r\n\r\n"]


@pytest.mark.parametrize("head", HEADS)
@asynchronous
async def test_a_request_whose_headers_cannot_be_read_keeps_nobody_from_being_heard(
    nats: NatsServer, head: bytes
) -> None:
    async with served(nats) as (_, recorder):
        reader, stranger = await asyncio.open_connection("127.0.0.1", nats.port)
        sizes = f" {len(head)} {len(head) + 2}\r\n".encode()
        stranger.write(b'CONNECT {"headers":true}\r\nHPUB report.fixer _INBOX.a' + sizes + head + b"{}\r\nPING\r\n")
        await reader.readuntil(b"PONG")
        assert await recorder.report(report("c-1")) == Recorded(1)
        stranger.close()


@pytest.mark.parametrize("subject", ["ask.may", "ask.requeue", "blob.put", "blob.get"])
@asynchronous
async def test_every_question_answers_hostile_bytes(nats: NatsServer, subject: str) -> None:
    async with serving(nats.url), linked(nats.url, "fixer") as link:
        for raw in (*HOSTILE.values(), b'{"pos":-1}', b'{"sha":"../../etc","n":0}\n'):
            assert (await link.request(subject, raw)).data.startswith((b'{"stop": "malformed', b'{"refused"'))


@asynchronous
async def test_a_report_that_is_too_large_is_refused_here_as_it_would_be_there(nats: NatsServer) -> None:
    async with served(nats) as (desk, recorder):
        large = Report.model_construct(
            fact=command("c-1"), version=1, about=About(repo=7), actor="x" * 300_000, cause=None
        )
        answer = await recorder.report(large)
        with pytest.raises(Malformed) as there:
            parse(large.model_dump_json(by_alias=True).encode())
        assert answer == there.value.refused
        assert desk.services == set()


@asynchronous
async def test_a_desk_that_fails_is_unavailable_and_the_next_report_is_served(nats: NatsServer) -> None:
    async with served(nats) as (desk, recorder):
        desk.keys = None  # type: ignore[assignment]  # it breaks
        assert await recorder.report(report("c-1")) == Unavailable("the evaluator failed to answer (TypeError)")
        desk.keys = []
        assert await recorder.report(report("c-1")) == Recorded(1)


@asynchronous
async def test_without_an_evaluator_a_report_is_unavailable_at_once(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        assert await NatsRecorder(link, "fixer", seconds=20).report(report("c-1")) == Unavailable(
            "nobody serves report.fixer"
        )


@asynchronous
async def test_a_slow_evaluator_is_unavailable_and_the_same_report_again_is_safe(nats: NatsServer) -> None:
    async with serving(nats.url) as (desk, _), linked(nats.url) as link:
        desk.open.clear()
        hasty = NatsRecorder(link, "fixer", seconds=0.05)
        assert isinstance(await hasty.report(report("c-1")), Unavailable)
        desk.open.set()
        await until(lambda: desk.keys)
        assert await NatsRecorder(link, "fixer").report(report("c-1")) == Already(1, command("c-1"))


@asynchronous
async def test_reporting_goes_on_until_somebody_answers(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        asking = asyncio.create_task(report_until_answered(NatsRecorder(link, "fixer"), report("c-1")))
        await asyncio.sleep(0)
        async with serving(nats.url):
            assert await asking == Recorded(1)


@asynchronous
async def test_reporting_ends_with_its_time(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        answer = await report_until_answered(NatsRecorder(link, "fixer"), report("c-1"), seconds=0.2)
        assert isinstance(answer, Unavailable)


@asynchronous
async def test_an_evaluator_that_leaves_answers_what_it_has_in_hand_and_hears_no_more(nats: NatsServer) -> None:
    async with serving(nats.url) as (desk, requests), linked(nats.url) as link:
        recorder = NatsRecorder(link, "fixer")
        desk.open.clear()
        asked = [asyncio.create_task(recorder.report(report(f"c-{n}"))) for n in range(50)]
        await until(lambda: desk.waiting == 50)
        leaving = asyncio.create_task(requests.leave())
        await until(lambda: not requests.joined)
        desk.open.set()
        await leaving
        assert {type(answer) for answer in await asyncio.gather(*asked)} == {Recorded}
        assert await recorder.report(report("late")) == Unavailable("nobody serves report.fixer")


@asynchronous
async def test_an_evaluator_may_leave_the_queue_group_and_join_again(nats: NatsServer) -> None:
    async with serving(nats.url) as (_, requests), linked(nats.url) as link:
        await requests.leave()
        assert requests.health() == "not in the queue group"
        await requests.join()
        assert requests.health() == "ok"
        assert await NatsRecorder(link, "fixer").report(report("c-1")) == Recorded(1)


@asynchronous
async def test_an_evaluator_may_leave_while_the_server_is_away(nats: NatsServer) -> None:
    async with serving(nats.url) as (_, requests):
        nats.kill()
        await until(lambda: requests.health().startswith("not connected: "))
        await requests.leave()
        assert not requests.joined


@asynchronous
async def test_of_two_evaluators_the_one_that_stays_gets_every_report(nats: NatsServer) -> None:
    async with serving(nats.url) as (_, leaver), serving(nats.url) as (desk, _), linked(nats.url) as link:
        recorder = NatsRecorder(link, "fixer")
        asked = [asyncio.create_task(recorder.report(report(f"c-{n}"))) for n in range(200)]
        await leaver.leave()
        assert {type(answer) for answer in await asyncio.gather(*asked)} == {Recorded}
        assert await recorder.report(report("late")) == Recorded(len(desk.keys))


@asynchronous
async def test_requests_are_served_again_after_the_server_was_killed(nats: NatsServer) -> None:
    async with served(nats) as (_, recorder), linked(nats.url) as link:
        async with reconnecting(link):
            nats.restart()
        assert await report_until_answered(recorder, report("c-1"), seconds=5) == Recorded(1)


@asynchronous
async def test_leave_is_asked_of_the_evaluator_and_no_answer_is_no_leave(nats: NatsServer) -> None:
    async with served(nats) as (_, recorder):
        assert await recorder.may(7, "run-1") == Go()
        assert await recorder.may(7, "run-2") == Stop("superseded")
        assert await recorder.requeue(wire.Requeued(parked=5)) == Recorded(5)
    async with linked(nats.url) as link:
        assert isinstance(await NatsRecorder(link, "fixer").may(7, "run-1"), Unavailable)


@pytest.mark.parametrize("size", [0, 1_000, wire.CHUNK, 900_000])
@asynchronous
async def test_a_blob_comes_back_as_it_was_put(nats: NatsServer, size: int) -> None:
    async with served(nats) as (_, recorder):
        content = b"0123456789abcdef" * (size // 16) + b"x" * (size % 16)
        sha = await recorder.put(content)
        assert (sha, await recorder.get(sha)) == (sha256(content).hexdigest(), content)


@asynchronous
async def test_a_blob_that_nobody_put_is_none_and_a_wrong_one_is_not_taken(nats: NatsServer) -> None:
    async with served(nats) as (desk, recorder):
        assert await recorder.get("0" * 64) is None
        desk.blobs["0" * 64, 0] = wire.Chunk("0" * 64, 0, 1, 3, b"bad")
        with pytest.raises(Later, match="something else"):
            await recorder.get("0" * 64)


@asynchronous
async def test_a_blob_without_an_evaluator_is_for_later(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        with pytest.raises(Later, match=r"nobody serves blob\.put"):
            await NatsRecorder(link, "fixer").put(b"x")
