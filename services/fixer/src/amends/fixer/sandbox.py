"""What runs a repository's code and the agent's commands: an interface, what is asked of it and what comes back.

Whoever implements it promises: nothing of ours is readable inside, nothing outside the workspace is writable, nothing
is reachable, everything is bounded, and when `run` returns nothing of the command is alive.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

WORKSPACE = "/workspace"  # where the workspace is inside
DOOR = "/door"
MIB = 1 << 20


class SandboxUnavailable(Exception):
    """There is no sandbox here that holds; the message says why, and what to do about it."""


@dataclass(frozen=True)
class Bounds:
    """What one command may use. `disk`: how much the workspace may grow; `scratch`: each of /tmp, home, /dev/shm."""

    seconds: float = 120.0
    cpu_seconds: int = 300
    memory: int = 4_096 * MIB
    processes: int = 512
    files: int = 4_096
    file: int = 1_024 * MIB
    disk: int = 2_048 * MIB
    inodes: int = 200_000
    scratch: int = 512 * MIB
    output: int = 200_000


@dataclass(frozen=True)
class Command:
    """A program and its arguments; `given` is what it reads. `seconds` can only shorten what it may take.

    `door` is a socket of ours that it reaches as DOOR, and nothing else: such a command is somebody else's agent, and
    takes as long as it is told.
    """

    argv: tuple[str, ...]
    given: bytes = b""
    seconds: float | None = None
    door: Path | None = None


def shell(line: str, seconds: float | None = None) -> Command:
    """A line for the shell."""
    return Command(("/bin/sh", "-c", line), seconds=seconds)


class Ended(StrEnum):
    """How a command ended: by itself, or because it used up what it was given."""

    ITSELF = "itself"
    TIME = "time"
    PROCESSES = "processes"
    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True)
class Ran:
    """What came of a command: the beginning and the end of what it wrote, and how much is missing in between."""

    code: int
    output: bytes
    dropped: int
    ended: Ended
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether it did what it was asked for."""
        return self.ended is Ended.ITSELF and self.code == 0

    @property
    def text(self) -> str:
        """What it wrote."""
        return self.output.decode(errors="replace")


class Sandbox(Protocol):
    """Runs commands of others on a directory."""

    async def prove(self) -> None:
        """Raise SandboxUnavailable unless it holds, here and now."""
        ...

    async def run(self, workspace: Path, command: Command) -> Ran:
        """Run a command with the workspace as the only thing it can change."""
        ...
