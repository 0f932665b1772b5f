"""Our own nats-server: it starts fast, comes back, and never outlives us."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from amends.common.bus.embedded import EmbeddedServer, NotStarted, write_private
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from tests.support.asynchronous import asynchronous, until
from tests.support.nats import linked

PARENT = """
import asyncio, sys
from pathlib import Path
from amends.common.bus.embedded import EmbeddedServer

async def main():
    server = await EmbeddedServer(Path(sys.argv[1])).start()
    print(server.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@asynchronous
async def test_it_takes_connections_and_serves_jetstream_as_soon_as_it_started(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path) as server, linked(server.url("evaluator"), "evaluator") as link:
        assert await Mirror(link).state() is None


@asynchronous
async def test_it_comes_back_on_the_same_port_when_it_dies(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path) as server, linked(server.url("cli"), "cli") as link:
        address, first = server.url("cli"), server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: server.restarts == 1 and link.connected)
        assert (server.url("cli"), server.pid != first) == (address, True)


@asynchronous
async def test_a_second_one_on_the_same_store_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path):
        with pytest.raises(NotStarted, match="in use by another nats-server"):
            await EmbeddedServer(tmp_path, patience=0.1).start()


@asynchronous
async def test_a_second_one_waits_until_the_first_has_let_go_of_the_store(tmp_path: Path) -> None:
    first = await EmbeddedServer(tmp_path).start()
    second = asyncio.create_task(EmbeddedServer(tmp_path).start())
    await asyncio.sleep(0)
    await first.stop()
    await (await second).stop()


@asynchronous
async def test_a_killed_parent_leaves_no_orphan_behind(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.communicate()
    await until(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)
    async with EmbeddedServer(tmp_path) as server:
        assert server.pid is not None


@asynchronous
async def test_a_port_it_cannot_have_is_reported_in_its_own_words(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path / "first") as first:
        with pytest.raises(NotStarted, match="address already in use"):
            await EmbeddedServer(tmp_path / "second", port=urlsplit(first.url("cli")).port or 0).start()


@asynchronous
async def test_inv_41_its_passwords_are_new_at_each_start_and_only_the_owner_may_read_them(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path) as server:
        first, mode = server.urls, stat.S_IMODE((tmp_path / "nats.conf").stat().st_mode)
    async with EmbeddedServer(tmp_path) as server:
        assert (mode, set(map(password, first)) & set(map(password, server.urls))) == (0o600, set())


def password(url: str) -> str:
    return urlsplit(url).password or ""


@asynchronous
async def test_inv_41_whoever_has_no_password_is_not_let_in(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path) as server:
        secret = password(server.url("cli"))
        for address in (server.url("cli").replace(f"cli:{secret}@", ""), server.url("cli").replace(secret, "guess")):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(Link(address, "cli").open(), 0.3)


def test_a_private_file_takes_the_place_of_a_public_one(tmp_path: Path) -> None:
    file = tmp_path / "nats.url"
    file.write_text("public")
    file.chmod(0o644)
    write_private(file, "private")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode), len(list(tmp_path.iterdir()))) == ("private", 0o600, 1)
