"""`amends` as a real process: started as a user would start it, ended as an operator or a power cut would."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil

AMENDS = [str(Path(sys.executable).with_name("amends"))]
KILLED_BY_A_CRASH_POINT = 137
LONGEST = 30.0  # seconds that anything may take which should take one
STARTED: list[psutil.Process] = []


class TookTooLong(Exception):
    """What a test waits for did not come."""


def wait_for(reached: Callable[[], object], what: str, seconds: float = LONGEST) -> None:
    """Return as soon as something is so; it must be so before the deadline."""
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            raise TookTooLong(f"{what}: not within {seconds:g} s")
        time.sleep(0.01)


class Process:
    """A command with its settings in the environment; what it says goes to a file, life after life."""

    def __init__(self, folder: Path, *command: str, **settings: object) -> None:
        """`settings` are those of amends, in lower case."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._command = command
        self._settings = {f"AMENDS_{name.upper()}": str(value) for name, value in settings.items()}
        self._said = folder / "stderr"
        self._from = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> Self:
        """Begin a life; `environment` is for this one only."""
        with self._said.open("ab") as said:
            self._from = said.tell()
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=_environment() | self._settings | environment,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call, which takes no lock
            )  # fmt: skip
        STARTED.append(psutil.Process(self._process.pid))
        return self

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet, paused or not."""
        return self._process is not None and self._process.poll() is None

    def said(self) -> str:
        """What it said in this life."""
        with self._said.open("rb") as said:
            said.seek(self._from)
            return said.read().decode(errors="replace")

    # --- its end -----------------------------------------------------------------------------------------------------

    def ended(self, seconds: float = LONGEST) -> int:
        """Its exit code; a signal's is negative."""
        assert self._process is not None
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TookTooLong(f"it did not end within {seconds:g} s; it said:\n{self.said()[-2_000:]}") from None

    def kill(self) -> None:
        """As a power cut would, but for the disk's cache; children and all that they hold are theirs to lose."""
        if self._process is not None:
            remember_children(self.pid)
            self._process.kill()
            self._process.wait()

    def stop(self, how: signal.Signals = signal.SIGTERM, seconds: float = LONGEST) -> int:
        """Ask it to end; answers its exit code."""
        remember_children(self.pid)
        os.kill(self.pid, how)
        return self.ended(seconds)


class Amends(Process):
    """One of amends' own commands."""

    def __init__(self, folder: Path, *arguments: str, **settings: object) -> None:
        """`settings` as `Process` takes them."""
        super().__init__(folder, *AMENDS, *arguments, **settings)

    def ready(self, seconds: float = LONGEST) -> Self:
        """Return when it accepts reports."""
        wait_for(self._is_up, "it is up", seconds)
        return self

    def _is_up(self) -> bool:
        assert self.running, f"it ended; it said:\n{self.said()[-2_000:]}"
        return "amends: up" in self.said()

    @property
    def ops(self) -> str:
        """Where it serves health and metrics: as it was told, else as it says once it is up."""
        if port := self._settings.get("AMENDS_OPS_PORT"):
            return f"http://127.0.0.1:{port}"
        found = re.search(r"(?<=metrics )http://127\.0\.0\.1:\d+", self.said())
        assert found is not None
        return found[0]


def page(url: str) -> tuple[int, str]:
    """What a page of the operators' server says, and how; 0 while nobody serves it."""
    with suppress(ConnectionError, TimeoutError, OSError):
        try:
            with urlopen(url, timeout=2) as answer:  # noqa: S310 - our own address
                return answer.status, answer.read().decode()
        except HTTPError as refused:
            return refused.code, refused.read().decode()
    return 0, ""


def asleep(pids: Sequence[int], seconds: float) -> None:
    """Processes stop where they stand, and go on later as if no time had passed; some may be gone by then."""
    try:
        _signal(pids, signal.SIGSTOP)
        time.sleep(seconds)
    finally:
        _signal(reversed(pids), signal.SIGCONT)


def _signal(pids: Iterable[int], what: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, what)


def remember_children(pid: int) -> list[psutil.Process]:
    """The process's children, which must be gone at the end as it must."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(pid).children(recursive=True)
        STARTED.extend(children)
        return children
    return []


def left_running() -> list[psutil.Process]:
    """What was started and still runs."""
    return [process for process in STARTED if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]


def _environment() -> dict[str, str]:
    """Ours, without what is meant for tests or for an installation of the one who runs them."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AMENDS_", "DATABASE_URL"))}


def _die_with_parent() -> None:
    if sys.platform == "linux":  # elsewhere a killed test run leaves its processes behind
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
