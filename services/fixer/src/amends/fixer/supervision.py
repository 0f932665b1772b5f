"""A launched sandbox from its beginning to its certain end: bounded in every way, killed whole, its output kept short.

It waits inside until its bounds are set from out here, so that no code of ours runs between fork and exec. What the
kernel cannot bound for a group of processes (their number as root, their memory, the disk) is looked at from outside.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

from amends.common.effects import effect
from amends.fixer.sandbox import Bounds, Ended, Ran, SandboxUnavailable

_LOOK = 0.25
_START = 10.0
_DRAIN = 1.0
_PRIVATE = 4  # how much more a process may map for itself than all may use: runtimes map what they never touch
_SCRATCHES = 3  # file systems in memory that a sandbox has
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Launch:
    """A command line, what it reads, what it is handed, where it says what it started, and where it is let go."""

    argv: tuple[str, ...]
    given: FileIO
    handed: tuple[FileIO, ...]
    info: FileIO
    go: FileIO


@dataclass
class Output:
    """The beginning and the end of what was written, half of the room each."""

    room: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, chunk: bytes) -> None:
        self.total += len(chunk)
        half = self.room // 2
        free = half - len(self.head)
        self.head += chunk[: max(0, free)]
        self.tail += chunk[max(0, free) :]
        del self.tail[: max(0, len(self.tail) - half)]

    @property
    def dropped(self) -> int:
        return self.total - len(self.head) - len(self.tail)

    def whole(self) -> bytes:
        """What is kept, with a word in the gap."""
        gap = f"\n[... {self.dropped} bytes left out ...]\n".encode() if self.dropped else b""
        return bytes(self.head) + gap + bytes(self.tail)


@dataclass
class Inmates:
    """The processes of a namespace, seen from outside. `first` is number 1 inside: with it all others end."""

    first: int
    namespace: int

    def each(self) -> Iterator[int]:
        """The numbers of all that live there now."""
        for process in Path("/proc").iterdir():
            with suppress(OSError):
                if process.name.isdigit() and (process / "ns/pid").stat().st_ino == self.namespace:
                    yield int(process.name)

    def counted(self) -> tuple[int, int]:
        """How many they are, and how much memory is theirs alone."""
        many = memory = 0
        for pid in self.each():
            many += 1
            with suppress(OSError, ValueError):
                _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
                memory += (int(resident) - int(shared)) * _PAGE
        return many, memory


async def supervised(launch: Launch, bounds: Bounds, seconds: float | None, workspace: Path) -> Ran:
    """Run it to its end; nothing of it is alive afterwards, whatever happens to us meanwhile."""
    with effect("sandbox", launch):
        return await _supervised(launch, bounds, seconds, workspace)


async def _supervised(launch: Launch, bounds: Bounds, seconds: float | None, workspace: Path) -> Ran:
    began = time.monotonic()
    output = Output(bounds.output)
    async with _started(launch, output) as process:
        inmates = await _inside(launch, process, output)
        _bind(inmates.first, bounds)
        end = os.pidfd_open(inmates.first)
        try:
            launch.go.write(b"!")
            limit = min(bounds.seconds, bounds.seconds if seconds is None else max(0.1, seconds))
            ended = await _watched(process, Watch(inmates, bounds, workspace), limit)
        finally:
            _kill(process, inmates.first)
            await asyncio.shield(_gone(end))
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Ran(code, output.whole(), output.dropped, ended, time.monotonic() - began)


@asynccontextmanager
async def _started(launch: Launch, output: Output) -> AsyncIterator[asyncio.subprocess.Process]:
    # A pipe of our own: `wait` would otherwise not return before everybody has closed the one asyncio makes.
    reading, writing = os.pipe2(os.O_CLOEXEC)
    spawning = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *launch.argv, stdin=launch.given, stdout=writing, stderr=writing, env={}, cwd="/",
            start_new_session=True, pass_fds=[file.fileno() for file in launch.handed],
        )
    )  # fmt: skip
    pumping = asyncio.create_task(_pumped(reading, output))
    process = None
    try:
        process = await asyncio.shield(spawning)
        os.close(writing)
        for file in launch.handed:
            file.close()
        yield process
    except OSError as error:
        os.close(writing)
        raise SandboxUnavailable(f"{launch.argv[0]} cannot be started: {error.strerror}") from error
    finally:
        if process is None:
            process = await _late(spawning)
        if process is not None:
            _kill(process)
            await asyncio.shield(process.wait())
        await asyncio.wait({pumping}, timeout=_DRAIN)
        pumping.cancel()
        await asyncio.wait({pumping})


async def _late(spawning: asyncio.Future[asyncio.subprocess.Process]) -> asyncio.subprocess.Process | None:
    """What was being started when we were told to stop."""
    try:
        return await spawning
    except OSError:
        return None


async def _inside(launch: Launch, process: asyncio.subprocess.Process, output: Output) -> Inmates:
    """Who was started, in bwrap's own words."""
    try:
        async with asyncio.timeout(_START):
            said = await asyncio.to_thread(_all_of, launch.info)
        told = json.loads(said)
        first = int(told["child-pid"])
        return Inmates(first, int(told["pid-namespace"]))
    except (TimeoutError, OSError, ValueError, KeyError) as error:
        _kill(process)
        await process.wait()
        await asyncio.sleep(_LOOK / 10)
        raise SandboxUnavailable(output.whole().decode(errors="replace").strip() or repr(error)) from error


def _all_of(file: FileIO) -> bytes:
    return b"".join(iter(lambda: file.read(4096) or b"", b""))


def _bind(pid: int, bounds: Bounds) -> None:
    """The kernel's own bounds, for each process there will be."""
    kinds = {
        resource.RLIMIT_CPU: bounds.cpu_seconds,
        # Not RLIMIT_AS: node reserves more than ten GiB of addresses for a single module of WebAssembly.
        resource.RLIMIT_DATA: bounds.memory * _PRIVATE,
        resource.RLIMIT_FSIZE: bounds.file,
        resource.RLIMIT_NOFILE: bounds.files,
        resource.RLIMIT_NPROC: bounds.processes,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in kinds.items():
        _, hard = resource.prlimit(pid, kind)
        kept = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.prlimit(pid, kind, (kept, kept))


@dataclass
class Watch:
    """Looks at what no limit of the kernel's covers."""

    inmates: Inmates
    bounds: Bounds
    workspace: Path

    async def alarm(self) -> Ended:
        """Return when something is used up."""
        before, held = os.statvfs(self.workspace), _shared_memory()
        while True:
            await asyncio.sleep(_LOOK)
            if (found := self._used_up(before)) is not None:
                return found
            if _shared_memory() - held > self.bounds.memory + _SCRATCHES * self.bounds.scratch:
                return Ended.MEMORY

    def _used_up(self, before: os.statvfs_result) -> Ended | None:
        now = os.statvfs(self.workspace)
        grown = (before.f_bfree - now.f_bfree) * now.f_frsize
        if grown > self.bounds.disk or before.f_ffree - now.f_ffree > self.bounds.inodes:
            return Ended.DISK
        many, memory = self.inmates.counted()
        if many > self.bounds.processes:
            return Ended.PROCESSES
        return Ended.MEMORY if memory > self.bounds.memory else None


def _shared_memory() -> int:
    """What is in memory of this machine and no process's own: files without a name, which no limit is for."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("Shmem:"):
                return int(line.split()[1]) * 1024
    return 0


async def _watched(process: asyncio.subprocess.Process, watch: Watch, seconds: float) -> Ended:
    """How it ended."""
    ending, alarm = asyncio.create_task(process.wait()), asyncio.create_task(watch.alarm())
    try:
        done, _ = await asyncio.wait({ending, alarm}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if ending in done:
            return Ended.ITSELF
        return alarm.result() if alarm in done else Ended.TIME
    finally:
        for task in (ending, alarm):
            task.cancel()


def _kill(process: asyncio.subprocess.Process, first: int | None = None) -> None:
    """Bwrap and, before it can be reaped, the first process inside: with that one the kernel ends all others."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        if first is not None:
            os.kill(first, signal.SIGKILL)
        os.killpg(process.pid, signal.SIGKILL)


async def _gone(end: int) -> None:
    """Until the last of them is dead: the first can only be reaped after all others."""
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(end, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(end)
        os.close(end)


async def _pumped(reading: int, output: Output) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb", 0)
    )
    try:
        while chunk := await reader.read(1 << 16):
            output.add(chunk)
    finally:
        transport.close()
