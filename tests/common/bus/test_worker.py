"""The worker shell on a real bus: every event is worked off, put off or parked; none is lost, none is done twice."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from nats.aio.msg import Msg

from amends.common.answers import Answer, Refused
from amends.common.bus.consumers import Consumers
from amends.common.bus.inbox import BusInbox, Watch
from amends.common.bus.jetstream import ask
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from amends.common.bus.work import worker as worker_of
from amends.common.delivery import Later, Never
from amends.common.settings import Settings
from amends.common.worker import Handler, Pace, Worker
from tests.support.asynchronous import asynchronous, eventually, until
from tests.support.chain import Chain, push
from tests.support.nats import NatsServer, linked, reconnecting
from tests.support.service import ACK_WAIT, PACE, WATCH, Publisher


@asynccontextmanager
async def mirrored(nats: NatsServer, number: int, ack_wait: float = ACK_WAIT) -> AsyncIterator[tuple[Link, Chain]]:
    chain = Chain()
    async with linked(nats.url, "evaluator") as link:
        await Mirror(link).create(1, chain.epoch)
        consumers = Consumers(link, ack_wait=ack_wait)
        await consumers.ensure({}, 1)
        await consumers.serve()
        for n in range(1, number + 1):
            chain.record(push(n))
        if number:
            await Mirror(link).publish(chain.kept)
        yield link, chain


@asynccontextmanager
async def working(
    nats: NatsServer, service: Publisher, handler: Handler | None = None, pace: Pace = PACE, watch: Watch = WATCH
) -> AsyncIterator[Worker]:
    """A worker that is stopped in good order at the end of the block."""
    async with linked(nats.url, "publisher") as link:
        worker = Worker(
            "publisher", handler or service.publish, service.recorder, BusInbox(link, "publisher", watch), pace
        )
        running = asyncio.create_task(worker.run())
        yield worker
        await worker.stop()
        await running


async def crashing(nats: NatsServer, service: Publisher, times: int) -> None:
    """Workers that die one after the other, without a word to anybody, while they have their event in hand."""
    for number in range(1, times + 1):
        async with linked(nats.url, "publisher") as link:
            worker = Worker("publisher", service.hold, service.recorder, BusInbox(link, "publisher", WATCH), PACE)
            running = asyncio.create_task(worker.run())
            await until(partial(more, service.seen, number))
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def handing_back(nats: NatsServer, service: Publisher, times: int) -> None:
    """Workers that are stopped one after the other while they have their event in hand; each has it at once."""
    for number in range(1, times + 1):
        async with working(nats, service, service.hold, replace(PACE, grace=0.01)):
            await until(partial(more, service.seen, number), seconds=ACK_WAIT / 2)


async def stopping_at(nats: NatsServer, service: Publisher, *goals: int) -> None:
    """Workers that are stopped one after the other in the middle of it all."""
    for goal in goals:
        async with working(nats, service):
            await until(partial(more, service.seen, goal))


async def heartbeats(link: Link) -> list[bytes]:
    """Those of all workers from now on."""
    beats: list[bytes] = []

    async def hear(message: Msg) -> None:
        beats.extend([message.data] if message.data == b"+WPI" else [])

    await link.subscribe("$JS.ACK.EVENTS.>", hear)
    return beats


def more(seen: Sequence[object], number: int) -> bool:
    return len(seen) >= number


async def consumer(link: Link) -> dict[str, Any]:
    return await ask(link, "CONSUMER.INFO.EVENTS.publisher")


async def settled(link: Link, floor: int) -> None:
    """All up to here is acknowledged or dropped."""

    async def reached() -> bool:
        found = await consumer(link)
        return bool(found["ack_floor"]["stream_seq"] >= floor and found["num_ack_pending"] == 0)

    await eventually(reached)


@asynchronous
async def test_an_event_is_handled_reported_and_acknowledged_in_that_order(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 3) as (link, _):
        async with working(nats, service):
            await settled(link, 3)
        assert (service.seen, service.pushed) == ([1, 2, 3], [1, 2, 3])


@asynchronous
async def test_a_new_event_reaches_a_waiting_worker(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 0) as (link, chain), working(nats, service) as worker:
        await until(lambda: worker.health() == {"bus": "ok", "consumer": "ok", "subscription": "ok", "work": "ok"})
        await Mirror(link).publish([chain.record(push(1))])
        await until(lambda: service.pushed == [1])


@asynchronous
async def test_a_worker_has_one_event_in_hand_and_asks_for_no_other(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 3) as (link, _), working(nats, service, service.hold):
        await until(lambda: service.seen == [1])
        found = await consumer(link)
        assert (found["num_ack_pending"], found["num_waiting"], found["num_pending"]) == (1, 0, 2)
        service.free.set()
        await settled(link, 3)


@asynchronous
async def test_a_failed_event_comes_again_and_does_not_hold_up_the_others(nats: NatsServer) -> None:
    service = Publisher(script=[OSError("disk"), None, None, None])
    async with mirrored(nats, 3) as (link, _), working(nats, service, pace=replace(PACE, backoff=0.1)):
        await settled(link, 3)
        assert (service.seen, service.parked) == ([1, 2, 3, 1], [])


@asynchronous
async def test_a_poison_event_is_parked_on_its_last_attempt_and_the_queue_moves(nats: NatsServer) -> None:
    service = Publisher()
    poison = OSError("poison")
    service.script = [poison, None, poison, poison]
    async with mirrored(nats, 2) as (link, _), working(nats, service):
        await settled(link, 2)
        (parked,) = service.parked
        assert (parked.of, parked.service, parked.error, parked.deliveries) == (1, "publisher", "OSError: poison", 3)
        assert service.pushed == [2]


@asynchronous
async def test_whatever_an_error_says_its_event_can_be_parked(nats: NatsServer) -> None:
    words = "no \udcff, no\0NUL,\nand ghp_0123456789abcdefghij"
    service = Publisher(script=[Never(words), *[OSError(words)] * 3])
    async with mirrored(nats, 2) as (link, _), working(nats, service):
        await settled(link, 2)
        assert [fact.error for fact in service.parked] == [
            "Never: no , noNUL, and [redacted]",
            "OSError: no , noNUL, and [redacted]",
        ]


@asynchronous
async def test_what_is_never_possible_is_parked_at_once(nats: NatsServer) -> None:
    service = Publisher(script=[Never("no such branch")])
    async with mirrored(nats, 1) as (link, _), working(nats, service):
        await settled(link, 1)
        assert [fact.error for fact in service.parked] == ["Never: no such branch"]


@asynchronous
async def test_an_event_that_is_put_off_however_often_is_not_parked(nats: NatsServer) -> None:
    service = Publisher(script=[Later(0.01, "GitHub is away")] * 8 + [OSError("once"), None])
    async with mirrored(nats, 1) as (link, _), working(nats, service):
        await settled(link, 1)
        assert (len(service.seen), service.pushed, service.parked) == (10, [1], [])


@asynchronous
async def test_a_busy_answer_puts_the_event_off_for_as_long_as_it_says(nats: NatsServer) -> None:
    service = Publisher()
    still: list[Answer] = [Refused("busy", "still", until=0.01) for _ in range(6)]
    service.recorder.script = [Refused("busy", "somebody else holds it", until=0.3), *still]
    async with mirrored(nats, 1) as (link, _), working(nats, service):
        began = asyncio.get_running_loop().time()
        await until(lambda: len(service.seen) == 2)
        assert asyncio.get_running_loop().time() - began > 0.25
        await settled(link, 1)
        assert (service.pushed, service.parked) == ([1], [])


@asynchronous
async def test_what_was_superseded_is_done(nats: NatsServer) -> None:
    service = Publisher()
    service.recorder.script = [Refused("superseded")]
    async with mirrored(nats, 1) as (link, _), working(nats, service):
        await settled(link, 1)
        assert (service.seen, service.recorder.facts) == ([1], [])


@asynchronous
async def test_a_report_that_is_refused_for_good_fails_until_it_is_parked(nats: NatsServer) -> None:
    service = Publisher()
    service.recorder.script = [Refused("not_entitled", "not yours")] * 3
    async with mirrored(nats, 1) as (link, _), working(nats, service):
        await settled(link, 1)
        assert [fact.error for fact in service.parked] == ["RefusedReport: fix.pushed: not_entitled: not yours"]


@asynchronous
async def test_an_event_from_a_newer_version_is_parked_and_never_acknowledged_away(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 0) as (link, chain), working(nats, service):
        await Mirror(link).publish([chain.record(push(1))._replace(schema=99)])
        await settled(link, 1)
        assert [fact.of for fact in service.parked] == [1]
        assert "newer than this program" in service.parked[0].error
        assert service.seen == []


@asynchronous
async def test_bytes_that_are_no_event_are_parked(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 0) as (link, _), working(nats, service):
        await link.request("events.7-pr-1.push.requested", b'{"pos":')
        await settled(link, 1)
        assert [(fact.of, service.seen) for fact in service.parked] == [(1, [])]


@asynchronous
async def test_the_event_of_a_worker_that_died_goes_to_another(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 1) as (link, _):
        await crashing(nats, service, 1)
        async with working(nats, service):
            await settled(link, 1)
        assert (service.seen, service.pushed) == ([1, 1], [1])


@asynchronous
async def test_an_event_that_kills_every_worker_is_parked_without_being_tried_again(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 1) as (link, _):
        await crashing(nats, service, PACE.attempts)
        async with working(nats, service):
            await settled(link, 1)
        assert len(service.seen) == PACE.attempts
        assert "the worker died over it" in service.parked[0].error


@asynchronous
async def test_a_worker_that_dies_while_it_parks_leaves_it_to_the_next(nats: NatsServer) -> None:
    service = Publisher(script=[Never("no")] * 9)
    service.recorder.away = True
    async with mirrored(nats, 1) as (link, _):
        await crashing(nats, service, 1)
        service.recorder.away = False
        async with working(nats, service):
            await settled(link, 1)
        assert [fact.of for fact in service.parked] == [1]


@asynchronous
async def test_heartbeats_keep_an_event_in_hand_for_longer_than_its_ack_wait(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 1) as (link, _), working(nats, service, service.hold):
        beats = await heartbeats(link)
        await until(partial(more, beats, round(ACK_WAIT * 3 / PACE.heartbeat)))
        service.free.set()
        await settled(link, 1)
        assert (service.seen, (await consumer(link))["num_redelivered"]) == ([1], 0)


@asynchronous
async def test_a_handler_that_never_ends_is_a_failed_attempt(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 1) as (link, _), working(nats, service, service.hold, replace(PACE, longest=0.05)):
        await settled(link, 1)
        assert [fact.error for fact in service.parked] == ["Overdue: it did not end within 0.05 s"]


@asynchronous
async def test_while_the_recorder_is_away_the_event_stays_in_hand_and_its_result_is_kept(nats: NatsServer) -> None:
    service = Publisher()
    service.recorder.away = True
    async with mirrored(nats, 1) as (link, _), working(nats, service):
        beats = await heartbeats(link)
        await until(partial(more, beats, round(ACK_WAIT * 2 / PACE.heartbeat)))
        service.recorder.away = False
        await settled(link, 1)
        assert (service.seen, service.pushed) == ([1], [1])


@asynchronous
async def test_a_stop_waits_for_what_is_in_hand(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 2) as (link, _):
        async with working(nats, service, service.hold, replace(PACE, grace=5)) as worker:
            await until(lambda: service.seen == [1])
            stopping = asyncio.create_task(worker.stop())
            await asyncio.sleep(0)
            service.free.set()
            await stopping
        assert (service.pushed, (await consumer(link))["num_pending"]) == ([1], 1)


@asynchronous
async def test_a_stop_hands_back_what_takes_too_long_at_once_and_without_blame(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 1) as (link, _):
        await handing_back(nats, service, PACE.attempts + 1)
        async with working(nats, service):
            await settled(link, 1)
        assert (service.pushed, service.parked) == ([1], [])


@asynchronous
async def test_an_idle_worker_that_stops_takes_no_event_with_it(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 0) as (link, chain):
        async with working(nats, service) as worker:
            await until(lambda: worker.health()["subscription"] == "ok")
        await Mirror(link).publish([chain.record(push(1))])

        async def forgotten() -> bool:
            return bool((await consumer(link))["num_waiting"] == 0)

        await eventually(forgotten)
        found = await consumer(link)
        assert (found["num_ack_pending"], found["num_pending"], found["delivered"]["consumer_seq"]) == (0, 1, 0)


@asynchronous
async def test_stopping_under_load_strands_nothing(nats: NatsServer) -> None:
    service = Publisher()
    # What was stranded would come again only after the test has failed.
    async with mirrored(nats, 200, ack_wait=300) as (link, _):
        await stopping_at(nats, service, 20, 60, 130)
        async with working(nats, service):
            await settled(link, 200)
        assert sorted(service.seen) == list(range(1, 201))


@asynchronous
async def test_a_deleted_consumer_is_noticed_and_work_goes_on_when_it_is_made_again(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 1) as (link, chain), working(nats, service) as worker:
        await settled(link, 1)
        await ask(link, "CONSUMER.DELETE.EVENTS.publisher")
        await until(lambda: worker.health()["consumer"].startswith("missing"))
        await Mirror(link).publish([chain.record(push(2))])
        await Consumers(link, ack_wait=ACK_WAIT).ensure({"publisher": 2}, 3)
        await until(lambda: service.pushed == [1, 2] and worker.health()["consumer"] == "ok")


@asynchronous
async def test_a_worker_that_began_before_its_consumer_was_made_is_well_as_soon_as_it_is(nats: NatsServer) -> None:
    service = Publisher()
    async with working(nats, service, watch=replace(WATCH, look=600)) as worker:
        await until(lambda: worker.health()["consumer"] != "not looked at yet")
        async with mirrored(nats, 1):
            await until(lambda: service.pushed == [1] and set(worker.health().values()) == {"ok"}, seconds=30)


@asynchronous
async def test_a_worker_for_whom_there_is_nothing_to_do_is_well_before_the_first_of_its_slow_heartbeats(
    nats: NatsServer,
) -> None:
    slow = replace(WATCH, heartbeat=60, expires=600)
    async with mirrored(nats, 0), working(nats, Publisher(), watch=slow) as worker:
        await until(lambda: set(worker.health().values()) == {"ok"}, seconds=30)


@asynchronous
async def test_a_service_expects_the_silence_that_the_settings_allow(nats: NatsServer) -> None:
    known, service = Settings(ack_seconds=9), Publisher()
    async with mirrored(nats, 0, ack_wait=9), linked(nats.url, "publisher") as link:
        worker = worker_of(known, link, "publisher", service.publish, service.recorder)
        running = asyncio.create_task(worker.run())
        await until(lambda: worker.health()["consumer"] == "ok")
        assert worker._pace.heartbeat < 9 / 2
        await worker.stop()
        await running


@asynchronous
async def test_a_drifted_consumer_is_noticed(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 0) as (link, _), working(nats, service) as worker:
        await Consumers(link, ack_wait=9).ensure({}, 1)
        await until(lambda: worker.health()["consumer"] == "drifted: ack_wait is 9000000000, not 400000000")


@asynchronous
async def test_work_goes_on_after_the_server_was_killed(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 1) as (link, chain), working(nats, service) as worker:
        await settled(link, 1)
        async with reconnecting(link):
            nats.restart()
        await Mirror(link).publish([chain.record(push(2))])
        await until(lambda: service.pushed == [1, 2])
        await until(lambda: set(worker.health().values()) == {"ok"})


@asynchronous
async def test_a_wiped_server_brings_back_what_nobody_answered(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 3) as (link, chain), working(nats, service):
        await settled(link, 3)
        async with reconnecting(link):
            nats.wipe()
        await Mirror(link).create(2, chain.epoch)
        await Consumers(link, ack_wait=ACK_WAIT).ensure({"publisher": 2}, 4)
        await Mirror(link).publish(chain.kept[1:])
        await settled(link, 3)
        assert (service.seen, service.pushed) == ([1, 2, 3, 2, 3], [1, 2, 3])


@asynchronous
async def test_a_paused_server_is_noticed_by_its_silence_and_asked_anew(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 0) as (link, chain), working(nats, service) as worker:
        await until(lambda: worker.health()["subscription"] == "ok")
        nats.pause()
        await until(lambda: worker.health()["subscription"] != "ok")
        nats.resume()
        await Mirror(link).publish([chain.record(push(1))])
        await until(lambda: service.pushed == [1])


@asynchronous
async def test_events_that_wait_while_none_is_delivered_are_noticed_and_asked_for_anew(nats: NatsServer) -> None:
    service = Publisher()
    async with mirrored(nats, 0) as (link, chain), working(nats, service) as worker:
        await until(lambda: worker.health()["subscription"] == "ok")
        await ask(link, "CONSUMER.PAUSE.EVENTS.publisher", pause_until="2100-01-01T00:00:00Z")
        await Mirror(link).publish([chain.record(push(1))])
        await until(lambda: worker.health()["subscription"] == "stalled: asking anew")
        await ask(link, "CONSUMER.PAUSE.EVENTS.publisher", pause_until="2000-01-01T00:00:00Z")
        await until(lambda: service.pushed == [1])
