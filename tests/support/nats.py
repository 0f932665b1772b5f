"""A real nats-server that a test may kill, pause, wipe and rewind. The fixture is `nats`."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from amends.common.bus.embedded import command
from amends.common.bus.link import Link
from amends.common.bus.users import configuration
from amends.common.events import EVERYONE
from tests.support.ports import free_port


class NatsServer:
    """One server with JetStream; its port and its store stay the same over its lives."""

    def __init__(self, folder: Path, config: Path | None = None) -> None:
        self.store = folder / "jetstream"
        self.config = config
        self.port = free_port()
        self._earlier = folder / "earlier"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def address(self, user: str) -> str:
        """Of a user of ours, whose password is his name."""
        return self.url.replace("//", f"//{user}:{user}@")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> "NatsServer":
        self.store.mkdir(parents=True, exist_ok=True)
        self._process = subprocess.Popen(
            command(self.store, self.port, self.config), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.port = self._listening(self.store / f"nats-server_{self.pid}.ports")
        return self

    def kill(self) -> None:
        """As a power cut would, but for the disk's cache."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()

    def restart(self) -> None:
        self.kill()
        self.start()

    def wipe(self) -> None:
        """Kill it, take everything away, start it again."""
        self.kill()
        shutil.rmtree(self.store)
        self.start()

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)
        while psutil.Process(self.pid).status() != psutil.STATUS_STOPPED:
            time.sleep(0.001)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def remember(self) -> None:
        """Keep a copy of the store as it is now, for `rewind`."""
        self.stop()
        shutil.copytree(self.store, self._earlier)
        self.start()

    def rewind(self) -> None:
        """Come back with the store as it was when it was remembered: what came later is lost."""
        self.kill()
        shutil.rmtree(self.store)
        shutil.copytree(self._earlier, self.store)
        self.start()

    def _listening(self, ports: Path) -> int:
        for _ in range(5_000):
            with suppress(OSError, ValueError):
                return int(json.loads(ports.read_text())["nats"][0].rsplit(":", 1)[1])
            assert self._process is not None
            assert self._process.poll() is None, "nats-server did not start"
            time.sleep(0.002)
        raise AssertionError("nats-server takes no connections")


@pytest.fixture
def nats() -> Iterator[NatsServer]:
    """A running server with an empty store."""
    with tempfile.TemporaryDirectory(prefix="amends-nats-") as folder:
        server = NatsServer(Path(folder)).start()
        try:
            yield server
        finally:
            server.kill()


@contextmanager
def with_users(folder: Path) -> Iterator[NatsServer]:
    """A server with the users we ship; each one's password is its name."""
    config = folder / "nats.conf"
    config.write_text(configuration({user: user for user in EVERYONE}))
    server = NatsServer(folder, config).start()
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[NatsServer]:
    with with_users(tmp_path) as server:
        yield server


@asynccontextmanager
async def linked(url: str, name: str = "test") -> AsyncIterator[Link]:
    """A connection for the length of a block."""
    link = await Link(url, name).open()
    try:
        yield link
    finally:
        await link.close()


@asynccontextmanager
async def reconnecting(*links: Link) -> AsyncIterator[None]:
    """Whatever happens to the server in this block: at its end all links have noticed, and are back."""
    back = [asyncio.Event() for _ in links]
    for link, restored in zip(links, back, strict=True):
        link.when_restored(restored.set)
    yield
    async with asyncio.timeout(10):
        await asyncio.gather(*(restored.wait() for restored in back))
