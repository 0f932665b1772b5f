"""One git process: an environment that nobody else has a say in, a time to end by, and nothing left running after it.

What a repository says about itself (hooks, filters, attributes, replaced objects, a config of its own) is never asked.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from amends.common.effects import effect
from amends.common.outward import for_git

SECONDS = 120.0
_SEARCHED = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
_TRUSTED = {
    "PATH": _SEARCHED,
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_SSH_COMMAND": "/bin/false",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_EDITOR": "/bin/false",
}
# What old repositories have always had, and what harms nobody.
_FORGIVEN = ("badTimezone", "missingSpaceBeforeDate", "zeroPaddedFilemode", "missingNameBeforeEmail", "badEmail",
             "multipleAuthors", "missingEmail", "missingSpaceBeforeEmail", "nulInCommit")  # fmt: skip
_SETTINGS = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null", "core.excludesFile=/dev/null",
    "core.pager=cat", "core.quotePath=false", "core.protectHFS=true", "core.protectNTFS=true",
    "core.logAllRefUpdates=false", "credential.helper=", "credential.interactive=false",
    "protocol.allow=never",
    "http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=30",
    "submodule.recurse=false", "fetch.recurseSubmodules=false", "push.recurseSubmodules=no",
    "fetch.writeCommitGraph=false", "fetch.showForcedUpdates=false",
    "safe.bareRepository=explicit", "gc.auto=0", "maintenance.auto=false", "commit.gpgSign=false", "push.gpgSign=false",
    "log.showSignature=false", "diff.external=", "transfer.fsckObjects=true",
    *(f"fetch.fsck.{what}=ignore" for what in _FORGIVEN),
)  # fmt: skip
_OPTIONS = [part for setting in _SETTINGS for part in ("-c", setting)]


class GitMissing(Exception):
    """There is no git on this machine."""

    def __init__(self) -> None:
        super().__init__(f"there is no git in {_SEARCHED}: install it")


class GitFailed(Exception):
    """Git ended otherwise than it should; the message is what it printed."""

    def __init__(self, command: str, code: int | None, said: bytes) -> None:
        words = said.decode(errors="replace").strip()[-600:]
        super().__init__(f"git {command}: {words or f'exit code {code}'}")
        self.code = code
        self.words = words


class Done(NamedTuple):
    """How a process ended."""

    code: int
    out: bytes
    err: bytes


class Call(NamedTuple):
    """What to run, in which repository; `settings` and `environment` are only for this one."""

    folder: Path
    arguments: Sequence[str]
    data: bytes | None = None
    settings: Sequence[str] = ()
    environment: Mapping[str, str] | None = None
    seconds: float = SECONDS
    expected: Sequence[int] = (0,)


async def run(call: Call) -> Done:
    """Run it to its end. Whoever stops waiting ends it, and everything that it started."""
    async with started(call) as process:
        try:
            async with asyncio.timeout(call.seconds):
                out, err = await process.communicate(call.data)
        except TimeoutError as error:
            raise GitFailed(call.arguments[0], None, f"not done within {call.seconds:g} s".encode()) from error
    code = process.returncode if process.returncode is not None else -1
    if code not in call.expected:
        raise GitFailed(call.arguments[0], code, err + _last(out))
    return Done(code, out, err)


def _last(out: bytes) -> bytes:
    """What of the output may stand in a message: the end of it, if it is no binary."""
    return b"" if b"\0" in out else out[-400:]


@asynccontextmanager
async def started(call: Call) -> AsyncIterator[Process]:
    """The process, for as long as the block lasts."""
    with effect("git", call):
        async with _started(call) as process:
            yield process


@asynccontextmanager
async def _started(call: Call) -> AsyncIterator[Process]:
    settings = [part for setting in call.settings for part in ("-c", setting)]
    arguments = [f"--git-dir={call.folder}", *_OPTIONS, *settings, *call.arguments]
    process = await asyncio.create_subprocess_exec(
        executable(),
        *arguments,
        stdin=DEVNULL if call.data is None else PIPE,
        stdout=PIPE,
        stderr=PIPE,
        cwd="/",
        env={**_TRUSTED, **for_git(), **(call.environment or {})},
        start_new_session=True,  # a group of its own: what it starts ends with it
        limit=1 << 20,
    )
    try:
        yield process
    finally:
        await _ended(process)


async def _ended(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())


def version() -> tuple[int, ...]:
    """Which git it is."""
    said = subprocess.run([executable(), "version"], capture_output=True, text=True, timeout=10, check=False).stdout  # noqa: S603 - ours
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


@cache
def executable() -> str:
    """The git of this machine."""
    found = shutil.which("git", path=_SEARCHED)
    if found is None:
        raise GitMissing
    return found
