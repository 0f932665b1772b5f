"""An installation that began on one machine grows out of it: PostgreSQL, a nats-server of its own, and the same loop.

It polls all the while: nobody can reach it, and nothing is told to it by a webhook.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from amends.common.log import Log
from amends.doubles.github.control.pulls import PullHandle
from tests.faults.support.processes import wait_for
from tests.support.command import AMENDS, WHOLE
from tests.support.fixing import suggests
from tests.support.github import Scene
from tests.support.nats import NatsServer
from tests.support.postgres import Server

pytestmark = pytest.mark.connected


@pytest.fixture
def place(scene: Scene, tmp_path: Path) -> Path:
    """A directory with settings that poll."""
    (tmp_path / "app.pem").write_text(scene.app.pem)
    (tmp_path / "amends.toml").write_text(
        f"""
[github]
api_url = "{scene.double.api_url}"
app_id = "{scene.app.id}"
private_key_file = "app.pem"
[fetcher]
mode = "poll"
poll_seconds = 1
[notifier]
apart_seconds = 0
[policy]
repositories = ["{scene.repo.name}"]
settle_seconds = 0
"""
    )
    return tmp_path


@pytest.fixture
def users(place: Path) -> Path:
    """The passwords of a nats-server's users; beside them its configuration."""
    (place / "nats.conf").write_text(amends(place, "nats-users", "users").stdout)
    return place / "users"


@pytest.fixture
def bus(place: Path, users: Path) -> Iterator[NatsServer]:
    """A nats-server of its own, with the users that amends ships."""
    server = NatsServer(place, place / "nats.conf").start()
    yield server
    server.kill()


def amends(place: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given, command = WHOLE | environment, [AMENDS, *arguments]
    return subprocess.run(command, cwd=place, env=given, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def up(place: Path, *arguments: str, **environment: str) -> Iterator[None]:
    """`amends up` for the length of a block, at whose end it has to end well."""
    with (place / "up.log").open("wb") as said:
        process = subprocess.Popen([AMENDS, "up", *arguments], cwd=place, env=WHOLE | environment, stderr=said)
        try:
            wait_for(lambda: "amends: up." in (place / "up.log").read_text(), "it is up", 60)
            yield
        finally:
            process.terminate()
            assert process.wait(60) == 0, (place / "up.log").read_text()


def answered(pull: PullHandle, database: str, number: int) -> bool:
    """Whether so many threads are answered and resolved, and the reviewer was asked to look again each time."""
    done = sum(thread.resolved and len(thread.comments) > 1 for thread in pull.threads)
    with_log = Log(database)
    try:
        types = [row.type for row in with_log.rows(0, 10_000)]
    finally:
        with_log.close()
    return (done, types.count("fix.pushed"), types.count("review.requested")) == (number,) * 3


def test_it_polls_moves_to_postgresql_and_a_bus_of_its_own_and_goes_on(
    scene: Scene, place: Path, postgres: Server, users: Path, bus: NatsServer
) -> None:
    pull, sqlite = scene.pull, f"sqlite:///{place}/.amends/amends.db"
    with up(place):
        pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": suggests("line X")}])
        wait_for(lambda: answered(pull, sqlite, 1), "it is answered", 60)
    database = postgres.database()
    assert amends(place, "backup", "log.db").returncode == 0
    assert amends(place, "restore", "log.db", "--database", database).returncode == 0
    grown = ("--database", database, "--nats", bus.url)
    given = {"AMENDS_NATS_USERS_FILE": str(users)}
    with up(place, *grown, **given):
        pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 12, "body": suggests("line Y")}])
        wait_for(lambda: answered(pull, database, 2), "it is answered", 60)
        looked = amends(place, "doctor", "--log", "--deep", *grown, **given)
    assert looked.returncode == 0, looked.stdout
    assert scene.double.webhooks.deliveries == []
    assert (scene.repo.read("app.py", "feature") or b"").decode().count("line X\nline 11\nline Y\n") == 1
