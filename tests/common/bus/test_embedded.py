"""Our own nats-server: it starts fast, comes back, and never outlives us."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from amends.common.bus.embedded import EmbeddedServer, NotStarted
from amends.common.bus.jetstream import ask
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
    async with EmbeddedServer(tmp_path) as server, linked(server.url) as link:
        assert (await ask(link, "INFO"))["streams"] == 0


@asynchronous
async def test_it_comes_back_on_the_same_port_when_it_dies(tmp_path: Path) -> None:
    async with EmbeddedServer(tmp_path) as server, linked(server.url) as link:
        address, first = server.url, server.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: server.restarts == 1 and link.connected)
        assert (server.url, server.pid != first) == (address, True)


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
async def test_a_configuration_it_cannot_use_is_reported_in_its_own_words(tmp_path: Path) -> None:
    config = tmp_path / "nats.conf"
    config.write_text("nonsense: [")
    with pytest.raises(NotStarted, match="Parse error on line 1"):
        await EmbeddedServer(tmp_path / "store", config).start()
