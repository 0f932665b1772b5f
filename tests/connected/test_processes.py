"""amends as its users run it: how it starts, how it ends, and what it leaves behind."""

import fcntl
import os
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.support.installation import SETTINGS
from tests.faults.support.processes import AMENDS, Amends, Process, page, remember_children, wait_for
from tests.support.github import Scene
from tests.support.nats import NatsServer
from tests.support.ports import free_port

pytestmark = pytest.mark.connected
USAGE, UNREACHABLE = 2, 3


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


@pytest.mark.parametrize("service", ["gateway", "evaluator", "notifier"])
def test_who_waits_for_nats_says_so(tmp_path: Path, service: str) -> None:
    told = {"nats_url": f"nats://127.0.0.1:{free_port()}", "gateway_webhook_secrets": '["s3cret"]', "github_token": "t"}
    process = Amends(tmp_path, "run", service, **SETTINGS, **told).start()
    wait_for(lambda: "NATS does not answer: waiting for it" in process.said(), "it says what it waits for")
    assert "Connect call failed" in process.said() or "refused" in process.said()
    assert process.stop(signal.SIGTERM, seconds=10) == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_up_ends_cleanly_when_it_is_asked_to(up: Amends, how: signal.Signals) -> None:
    children, before = remember_children(up.pid), up.said()
    assert (up.stop(how, seconds=10), up.said()) == (0, before)
    assert [child for child in children if child.is_running()] == []


@pytest.mark.parametrize("command", [("up",), ("run", "gateway")])
def test_a_terminal_that_closes_ends_it_cleanly(tmp_path: Path, nats: NatsServer, command: tuple[str, ...]) -> None:
    told = {**SETTINGS, "gateway_webhook_secrets": '["s3cret"]'} | (
        {"nats_url": nats.url} if command != ("up",) else {}
    )
    named = {f"AMENDS_{name.upper()}": str(value) for name, value in told.items()}
    ours, theirs = os.openpty()
    with subprocess.Popen(
        [*AMENDS, *command], cwd=tmp_path, env=os.environ | named, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one call
    ) as process:  # fmt: skip
        os.close(theirs)
        said = b""
        while b"amends: " not in said:
            said += os.read(ours, 4096)
        os.close(ours)
        assert process.wait(20) == 0
    assert not (tmp_path / ".amends" / "nats.url").exists()


@pytest.mark.parametrize("command", ["up", "run evaluator", "run gateway"])
def test_a_full_disk_for_what_it_says_ends_nothing(tmp_path: Path, nats: NatsServer, command: str) -> None:
    told = {"ops_port": free_port(), "gateway_webhook_secrets": '["s3cret"]', "nats_url": nats.url}
    named = {f"AMENDS_{name.upper()}": str(value) for name, value in (SETTINGS | told).items()}
    with (
        Path("/dev/full").open("wb") as full,
        subprocess.Popen([*AMENDS, *command.split()], cwd=tmp_path, env=os.environ | named, stderr=full) as process,
    ):
        wait_for(lambda: page(f"http://127.0.0.1:{told['ops_port']}/healthz")[0] == 200, "it is alive")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_nohup_is_heeded(tmp_path: Path) -> None:
    process = Process(tmp_path, "nohup", *AMENDS, "up", **SETTINGS).start()
    wait_for(lambda: "amends: up" in process.said(), "it is up")
    os.kill(process.pid, signal.SIGHUP)
    time.sleep(0.5)
    assert process.running
    os.kill(process.pid, signal.SIGTERM)
    assert process.ended() == 0


def test_two_fixers_of_one_name_or_one_directory_are_refused(tmp_path: Path, nats: NatsServer, scene: Scene) -> None:
    def fixer(place: str, holder: str) -> Amends:
        said = {"nats_url": nats.url, "github_token": "t", "github_api_url": scene.app_settings.api_url}
        return Amends(tmp_path / place, "run", "fixer", **SETTINGS, **said, holder=holder, data_dir=tmp_path / place)

    first = fixer("one", "mary").start()
    wait_for((tmp_path / "one" / "fixer" / "lock").exists, "the first works")
    second, third = fixer("two", "mary").start(), fixer("one", "anne").start()
    assert (second.ended(), third.ended()) == (UNREACHABLE, UNREACHABLE)
    assert "another fixer on this machine has holder 'mary'" in second.said()
    assert "AMENDS_HOLDER=mary-2" in second.said()
    assert f"{tmp_path}/one/fixer is in use by another amends: give each fixer a data_dir" in third.said()
    first.kill()


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


ALONE = ("comment-fetcher", "fixer", "publisher", "notifier")


@pytest.mark.parametrize("service", ALONE)
def test_a_service_of_its_own_gets_to_work_and_ends_cleanly(
    service: str, tmp_path: Path, nats: NatsServer, scene: Scene
) -> None:
    evaluator = Amends(tmp_path / "evaluator", "run", "evaluator", **SETTINGS, nats_url=nats.url).start().ready()
    forge = {"github_token": scene.double.token("octocat"), "github_api_url": scene.double.api_url}
    process = Amends(tmp_path / service, "run", service, **SETTINGS, **forge, nats_url=nats.url, ops_port=free_port())
    try:
        process.start()
        wait_for(lambda: f'"{service}": "ok"' in page(f"{process.ops}/readyz")[1], f"it is at work: {process.said()}")
        assert process.stop(seconds=30) == 0
    finally:
        process.kill()
        evaluator.kill()


@pytest.mark.parametrize("service", ALONE)
def test_a_service_without_nats_or_github_says_what_to_set(service: str, tmp_path: Path, nats: NatsServer) -> None:
    homeless = Amends(tmp_path / "homeless", "run", service, **SETTINGS).start()
    nobody = Amends(tmp_path / "nobody", "run", service, **SETTINGS, nats_url=nats.url).start()
    assert (homeless.ended(), nobody.ended()) == (USAGE, USAGE)
    assert ("nats_url is not set" in homeless.said(), "github.app_id" in nobody.said()) == (True, True)
