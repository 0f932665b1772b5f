"""Time in a real evaluator: waits end once, without NATS and late too; deadlines begin with a grace after a start."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connected.support.desk import Desk, desk_at, rejected
from tests.faults.support.processes import wait_for
from tests.support.nats import NatsServer

pytestmark = pytest.mark.connected
GRACE = 1.5
COLLECT = 3  # seconds, in which an evaluator is killed on a busy machine, too


@pytest.fixture
def desk(tmp_path: Path, nats: NatsServer) -> Iterator[Desk]:
    """An evaluator with short waits that a test may stop and start."""
    with desk_at(
        tmp_path, nats, grace_seconds=GRACE, policy_settle_seconds=1, policy_waits_collect_seconds=COLLECT
    ) as one:
        yield one


def test_a_wait_ends_once_although_nats_is_down(desk: Desk, nats: NatsServer) -> None:
    desk.tell(*rejected(1))
    nats.kill()
    wait_for(lambda: desk.keys("timer/settle/"), "the window closes")
    nats.start()
    wait_for(desk.mirrored, "the mirror has it too")
    assert [len(desk.keys(key)) for key in ("timer/settle/", "cycle/1/1/requested")] == [1, 1]


def test_a_window_that_closed_while_nobody_was_there_closes_at_once_and_once(desk: Desk) -> None:
    desk.tell(*rejected(1))
    desk.evaluator.kill()
    time.sleep(1.1)
    started = time.time()
    desk.evaluator.start(AMENDS_GRACE_SECONDS="60")
    wait_for(lambda: desk.keys("cycle/1/1/requested"), "the window closes")
    assert len(desk.keys("timer/settle/")) == 1
    assert desk.time_of("timer/settle/") - started < 30


def test_a_deadline_that_passed_while_nobody_was_there_waits_for_the_grace(desk: Desk) -> None:
    desk.tell(*rejected(1))
    wait_for(lambda: desk.keys("cycle/1/1/requested"), "the comments are asked for")
    desk.evaluator.kill()
    time.sleep(COLLECT + 0.1)
    started = time.time()
    desk.evaluator.start()
    wait_for(lambda: desk.keys("cycle/1/2/requested"), "they are asked for again")
    assert len(desk.keys("timer/collect/1/1/")) == 1
    assert desk.time_of("timer/collect/1/1/") - started > GRACE


def test_the_grace_begins_when_nats_is_there_and_answers_can_come(desk: Desk, nats: NatsServer) -> None:
    desk.tell(*rejected(1))
    wait_for(lambda: desk.keys("cycle/1/1/requested"), "the comments are asked for")
    desk.evaluator.kill()
    nats.kill()
    desk.evaluator.start()
    time.sleep(COLLECT + 0.1)
    started = time.time()
    nats.start()
    wait_for(lambda: desk.keys("cycle/1/2/requested"), "they are asked for again")
    assert desk.time_of("timer/collect/1/1/") - started > GRACE


def test_an_evaluator_ends_cleanly_although_nats_hangs(desk: Desk, nats: NatsServer) -> None:
    nats.pause()
    assert desk.evaluator.stop(seconds=10) == 0
    nats.resume()
