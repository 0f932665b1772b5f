"""A git process that is asked one thing after the other, and so is started once for all of them."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from amends.common.git.objects import TooLarge
from amends.common.git.process import Call, GitFailed, started

_LONGEST = 128 << 20  # more than GitHub takes


class Talk:
    """What is said to it and what it answers."""

    def __init__(self, call: Call, process: Process) -> None:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise GitFailed(call.arguments[0], None, b"it has no pipes")
        self._command = call.arguments[0]
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr

    def ask(self, words: bytes) -> None:
        """Say something; what is asked first is answered first."""
        self._stdin.write(words)

    async def line(self) -> bytes:
        """A line that it answers."""
        line = await self._stdout.readline()
        if not line.endswith(b"\n"):
            raise GitFailed(self._command, None, await self._stderr.read())
        return line[:-1]

    async def content(self, name: str, kind: str) -> bytes:
        """The bytes of the object that `cat-file --batch` was asked for, which must be of this kind."""
        head = (await self.line()).decode("ascii", "replace").split()
        if len(head) != 3 or head[1] != kind:  # noqa: PLR2004 - name, kind and size
            raise GitFailed(self._command, None, f"bad object {name}".encode())
        size = int(head[2])
        if size > _LONGEST:
            raise TooLarge(f"{name} has {size} bytes")
        content = await self._stdout.readexactly(size + 1)
        return content[:-1]


@asynccontextmanager
async def talking(call: Call) -> AsyncGenerator[Talk, None]:
    """A process to talk with, which ends with the block, or when its time is up."""
    try:
        async with asyncio.timeout(call.seconds), started(call._replace(data=b"")) as process:
            yield Talk(call, process)
    except TimeoutError as error:
        raise GitFailed(call.arguments[0], None, f"not done within {call.seconds:g} s".encode()) from error
