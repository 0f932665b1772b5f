"""A service of `amends up` in a process of its own, because it holds a key that nothing else should be beside.

Its environment is made for it: the settings that it needs and no others. The private key of a GitHub App stays here:
the child asks for tokens over a line of its own, and gets those that read one repository. It is started again when it
ends, and ends when we do: an orphan would keep the key, and the name under which its successor works.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic import BaseModel, SecretStr

from amends.common.bound import bound
from amends.common.github.auth import FIXING
from amends.common.github.client import Client
from amends.common.github.lending import lend
from amends.common.settings import PREFIX, Settings

log = logging.getLogger(__name__)
_NEEDS = (
    "fixer",
    "model",
    "agent",
    "sandbox",
    "github",
    "holder",
    "log_level",
    "data_dir",
    "answer_seconds",
    "ack_seconds",
)
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
_SYSTEM = ("PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", *_PROXIES, *map(str.lower, _PROXIES))
_GRACE = 25.0
_PAUSE, _LONGEST = 1.0, 30.0


def environment(settings: Settings, nats_url: str) -> dict[str, str]:
    """What the fixer is told, and all that it is told."""
    said = {name: os.environ[name] for name in _SYSTEM if name in os.environ}
    told = settings.model_copy(update={"github": settings.github.without_key})
    for name in _NEEDS:
        said |= dict(_said(f"{PREFIX}{name.upper()}", getattr(told, name)))
    return {**said, f"{PREFIX}NATS_URL": nats_url, f"{PREFIX}DATA_DIR": str(settings.data_dir.absolute())}


def _said(name: str, value: object) -> Iterator[tuple[str, str]]:
    """A setting as the environment says it; what is nothing is not said."""
    if isinstance(value, BaseModel):
        for field in value.model_fields_set:
            yield from _said(f"{name}_{field.upper()}", getattr(value, field))
    elif isinstance(value, tuple):
        yield name, json.dumps([str(one) for one in value])
    elif isinstance(value, SecretStr):
        yield name, value.get_secret_value()
    elif isinstance(value, Path):
        yield name, str(value.absolute())
    elif value is not None:
        yield name, str(value)


@dataclass
class Child:
    """A process that is kept alive. `client`: who makes its tokens, where it has none itself."""

    environment: dict[str, str]
    client: Client | None = None
    lending: asyncio.Task[None] | None = None
    trouble: str = "not started yet"
    process: asyncio.subprocess.Process | None = None

    def checks(self) -> dict[str, str]:
        return {"fixer": self.trouble or "ok"}

    async def keep(self) -> None:
        """Start it, and again whenever it ends, until cancelled."""
        pause = _PAUSE
        while True:
            began = asyncio.get_running_loop().time()
            self.process = await self._started()
            self.trouble = ""
            code = await self.process.wait()
            self.trouble = f"it ended with {code}"
            log.error("the fixer ended, and is started again", extra={"code": code})
            pause = _PAUSE if asyncio.get_running_loop().time() - began > _LONGEST else min(pause * 2, _LONGEST)
            await asyncio.sleep(pause)

    async def _started(self) -> asyncio.subprocess.Process:
        """The process; where it has no key, with a line to us as its standard input, which it closes by ending."""
        command = bound(sys.executable, "-m", "amends.fixer")
        # In a session of its own, for a terminal's Ctrl-C is for us: we end it while it can still say what it has done.
        start = partial(asyncio.create_subprocess_exec, *command, env=self.environment, start_new_session=True)
        if self.client is None:
            return await start(stdin=asyncio.subprocess.DEVNULL)
        ours, its = socket.socketpair()
        with its:
            self.lending = asyncio.create_task(lend(self.client, FIXING, ours))
            return await start(stdin=its.fileno())

    async def end(self) -> None:
        """Let it finish what it has in hand, for a while."""
        process = self.process
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _GRACE)
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def fixing(settings: Settings, nats_url: str) -> AsyncIterator[Child]:
    """The fixer, for the length of a block."""
    async with AsyncExitStack() as stack:
        child = Child(environment(settings, nats_url))
        if settings.github.app_id:
            child.client = await stack.enter_async_context(Client(settings.github, FIXING))
        keeping = asyncio.create_task(child.keep())
        try:
            yield child
        finally:
            keeping.cancel()
            await asyncio.wait({keeping})
            await child.end()
            if child.lending is not None:
                child.lending.cancel()
                await asyncio.wait({child.lending})
