"""INV-41: each service's user reaches only its own subjects, durable and inbox. A real server holds them to it."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from amends.common.answers import Recorded, Report, Unavailable
from amends.common.bus.consumers import Consumers
from amends.common.bus.inbox import BusInbox
from amends.common.bus.link import Link, Unanswered
from amends.common.bus.mirror import Mirror
from amends.common.bus.reporter import NatsRecorder
from amends.common.bus.requests import Requests
from amends.common.bus.users import configuration
from amends.common.events import EVERYONE
from amends.common.identity import About
from amends.common.patience import report_until_answered
from amends.common.worker import Worker
from amends.evaluator.relay import Relay
from tests.support.asynchronous import asynchronous, until
from tests.support.chain import Chain, command, push
from tests.support.desk import MemoryDesk
from tests.support.nats import NatsServer, linked, reconnecting
from tests.support.service import PACE, WATCH, Publisher


@asynccontextmanager
async def installed(server: NatsServer) -> AsyncIterator[tuple[Link, Chain]]:
    """An evaluator that has mirrored two events and serves requests."""
    chain = Chain()
    chain.record(push(1))
    chain.record(push(2))
    chain.owed["publisher"] = 1
    async with linked(server.address("evaluator"), "evaluator") as link:
        consumers = Consumers(link)
        await Relay(chain, Mirror(link), consumers).handshake()
        await consumers.serve()
        requests = Requests(server.address("evaluator"), MemoryDesk())
        await requests.join()
        yield link, chain
        await requests.leave()


@asynchronous
async def test_a_service_can_do_its_work_with_no_more_than_its_own_rights(guarded: NatsServer) -> None:
    service = Publisher(script=[OSError("once"), None])
    async with installed(guarded), linked(guarded.address("publisher"), "publisher") as link:
        recorder = NatsRecorder(link, "publisher")
        assert await recorder.get(await recorder.put(b"content")) == b"content"
        worker = Worker("publisher", service.publish, service.recorder, BusInbox(link, "publisher", WATCH), PACE)
        running = asyncio.create_task(worker.run())
        await until(lambda: sorted(service.pushed) == [1, 2])
        await worker.stop()
        await running
        assert link.health() == "ok"


@asynchronous
async def test_the_notifier_may_ask_how_a_loop_stands(guarded: NatsServer) -> None:
    async with installed(guarded), linked(guarded.address("notifier"), "notifier") as link:
        asked = await NatsRecorder(link, "notifier").asked(1)
        assert asked is not None
        assert asked.situation.loop == "1-pr-7"
        assert await NatsRecorder(link, "notifier").asked(100) is None


@asynchronous
async def test_a_report_under_another_name_is_unavailable_and_says_why(guarded: NatsServer) -> None:
    async with installed(guarded), linked(guarded.address("fixer"), "fixer") as link:
        report = Report(fact=command("c-1"), about=About(repo=7, number=1))
        answer = await NatsRecorder(link, "publisher").report(report)
        assert isinstance(answer, Unavailable)
        assert 'permissions violation for publish to "report.publisher"' in answer.detail
        assert await NatsRecorder(link, "fixer").report(report) == Recorded(1)


@asynchronous
async def test_an_inbox_that_is_not_ones_own_makes_deaf_and_every_request_says_so(guarded: NatsServer) -> None:
    async with linked(guarded.address("fixer"), "publisher") as link:
        await until(lambda: link.health().startswith("no answer can reach us"))
        with pytest.raises(Unanswered, match="no answer can reach us"):
            await link.request("report.fixer")


@asynchronous
async def test_a_user_who_is_thrown_out_comes_back_when_he_is_let_in_again(guarded: NatsServer, tmp_path: Path) -> None:
    config = tmp_path / "nats.conf"
    whole = config.read_text()
    async with linked(guarded.address("fixer"), "fixer") as link, linked(guarded.address("cli"), "cli") as other:
        config.write_text(configuration({user: user for user in EVERYONE if user != "fixer"}))
        os.kill(guarded.pid, signal.SIGHUP)
        await until(lambda: not link.connected)
        await until(lambda: "authorization violation" in link.health().lower())
        assert not link.health().startswith("closed for good")
        async with reconnecting(link):
            config.write_text(whole)
            os.kill(guarded.pid, signal.SIGHUP)
        assert (link.health(), other.health()) == ("ok", "ok")


@pytest.mark.parametrize("how", ["reloads", "restarts"])
@asynchronous
async def test_an_evaluator_who_is_not_let_in_for_a_while_is_asked_again_afterwards(
    guarded: NatsServer, tmp_path: Path, how: str
) -> None:
    config = tmp_path / "nats.conf"
    whole = config.read_text()
    change = guarded.restart if how == "restarts" else partial(os.kill, guarded.pid, signal.SIGHUP)
    requests = Requests(guarded.address("evaluator"), MemoryDesk())
    await requests.join()
    async with linked(guarded.address("cli"), "cli") as link:
        config.write_text(configuration({user: "another" if user == "evaluator" else user for user in EVERYONE}))
        change()
        await until(lambda: "authorization violation" in requests.health().lower())
        config.write_text(whole)
        change()
        await until(lambda: requests.health() == "ok")
        report = Report(fact=command("c-1"), about=About(repo=7, number=1))
        assert await report_until_answered(NatsRecorder(link, "cli"), report) == Recorded(1)
    await requests.leave()


@asynchronous
async def test_an_evaluator_who_may_not_hear_requests_is_not_ready(tmp_path: Path) -> None:
    deaf = {"user": "evaluator", "password": "evaluator", "permissions": {"subscribe": ["_INBOX.>"]}}
    (tmp_path / "nats.conf").write_text(json.dumps({"authorization": {"users": [deaf]}}))
    server = NatsServer(tmp_path, tmp_path / "nats.conf").start()
    requests = Requests(server.address("evaluator"), MemoryDesk())
    await requests.join()
    await until(lambda: requests.health().startswith("nobody reaches us: "))
    await requests.leave()
    server.kill()


@asynchronous
async def test_nobody_gets_in_without_a_name(guarded: NatsServer) -> None:
    nameless = Link(guarded.url, "nobody")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(nameless.open(), 0.3)
    # The server says why and hangs up; which of the two arrives first is up to the network.
    assert any(why in nameless.trouble.lower() for why in ("authorization violation", "connection reset"))
