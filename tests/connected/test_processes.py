"""amends as its users run it: how it starts, how it ends, and what it leaves behind."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.support.installation import SETTINGS
from tests.faults.support.processes import Amends, free_port, page, remember_children, wait_for
from tests.support.nats import NatsServer

pytestmark = pytest.mark.connected
UNREACHABLE = 3


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Amends]:
    """`amends up` on a directory of its own."""
    process = Amends(tmp_path, "up", **SETTINGS)
    process.start().ready()
    yield process
    process.kill()


@pytest.fixture
def waiting(tmp_path: Path, nats: NatsServer) -> Iterator[Amends]:
    """`amends run evaluator` while its nats-server is down."""
    nats.kill()
    settings = SETTINGS | {"nats_url": nats.url, "ops_port": free_port()}
    process = Amends(tmp_path, "run", "evaluator", **settings)
    process.start()
    wait_for(lambda: page(f"{process.ops}/healthz")[0] == 200, "it is alive")
    yield process
    process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_up_ends_cleanly_when_it_is_asked_to(up: Amends, how: signal.Signals) -> None:
    children, before = remember_children(up.pid), up.said()
    assert (up.stop(how, seconds=10), up.said()) == (0, before)
    assert [child for child in children if child.is_running()] == []


def test_a_killed_up_leaves_no_nats_server_behind(up: Amends) -> None:
    children = remember_children(up.pid)
    assert [child.name() for child in children] == ["nats-server"]
    up.kill()
    wait_for(lambda: not any(map(psutil.Process.is_running, children)), "it is gone")


def test_a_second_up_on_the_same_directory_is_refused(up: Amends, tmp_path: Path) -> None:
    second = Amends(tmp_path / "elsewhere", "up", "--data-dir", str(tmp_path / ".amends"), **SETTINGS).start()
    assert second.ended() == UNREACHABLE
    assert second.said() == (
        f"amends: {tmp_path}/.amends is in use by another amends: stop it, or give another --data-dir\n"
    )


def test_up_goes_on_where_a_killed_one_ended(up: Amends, tmp_path: Path) -> None:
    up.kill()
    assert Amends(tmp_path, "up", **SETTINGS).start().ready().stop() == 0


def test_an_evaluator_without_nats_is_alive_and_says_what_it_waits_for(waiting: Amends, nats: NatsServer) -> None:
    status, said = page(f"{waiting.ops}/readyz")
    assert status == 503
    assert "not connected" in said
    nats.start()
    waiting.ready()
    wait_for(lambda: page(f"{waiting.ops}/readyz")[0] == 200, "it is ready")


def test_an_evaluator_that_waits_for_nats_can_be_stopped(waiting: Amends) -> None:
    assert waiting.stop(seconds=5) == 0
