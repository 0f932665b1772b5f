"""Whatever happens to nats-server under load: the log goes on, and the mirror is the log again wherever it reaches."""

from collections.abc import Iterator

import pytest

from tests.faults.support.installation import Installation, installed
from tests.faults.support.processes import asleep
from tests.faults.support.wire import forget_consumer, forget_stream

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    with installed() as one:
        one.evaluator().ready()
        yield one


def test_a_killed_server_costs_nothing(installation: Installation) -> None:
    installation.suffer(installation.nats.restart, times=3)
    assert installation.settled("nats-server killed", times=3).wrong == []


def test_a_paused_server_costs_nothing(installation: Installation) -> None:
    installation.suffer(lambda: asleep([installation.nats.pid], seconds=2))
    assert installation.settled("nats-server paused 2 s").wrong == []


def test_a_server_that_lost_everything_is_given_the_log_again(installation: Installation) -> None:
    installation.suffer(installation.nats.wipe, times=2)
    assert installation.settled("nats-server's store wiped", times=2).wrong == []


def test_a_server_that_lost_its_latest_messages_is_given_those(installation: Installation) -> None:
    installation.nats.remember()
    installation.suffer(installation.nats.rewind)
    assert installation.settled("nats-server's tail lost").wrong == []


def test_a_deleted_stream_is_made_again(installation: Installation) -> None:
    installation.suffer(lambda: forget_stream(installation.nats.url))
    assert installation.settled("stream deleted").wrong == []


def test_an_evaluator_that_is_replaced_while_everybody_works_costs_nothing(installation: Installation) -> None:
    installation.suffer(installation.upgraded)
    assert installation.settled("rolling upgrade").wrong == []


@pytest.mark.faults_long
def test_a_deleted_consumer_is_made_again(installation: Installation) -> None:
    installation.suffer(lambda: forget_consumer(installation.nats.url, "fixer"))
    installation.wait_for_consumers()
    assert installation.settled("consumer deleted").wrong == []
