"""One side of a comparison: a process that is started once, warmed up, and asked again in every round.

Between its turns it is stopped: some poll all the time, and would take from the others.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from tests.bench.conversation import Measured, line

ROOT = Path(__file__).parents[2]
OURS = Path(sys.executable)


@dataclass
class Contender:
    """`store` is a server whose work counts as its own; `durability` is what its answer promises."""

    name: str
    durability: str
    process: subprocess.Popen[str]
    store: int | None = None

    def ask(self, **question: object) -> Measured:
        """Measure once; the CPU time is that of the process and of its store."""
        before = spent(self.store)
        with self.turn():
            answer = Measured(**json.loads(self._said(line(question))))
        return replace(answer, cpu=answer.cpu + spent(self.store) - before)

    def _said(self, question: str) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write(question)
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        if not said:
            raise RuntimeError(f"{self.name} ended with {self.process.wait()}")
        return said

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The time in which it runs."""
        self.tell(signal.SIGCONT)
        try:
            yield
        finally:
            self.tell(signal.SIGSTOP)

    def tell(self, what: signal.Signals) -> None:
        """Send a signal to all of it."""
        process = psutil.Process(self.process.pid)
        for member in (process, *process.children(recursive=True)):
            member.send_signal(what)

    def memory(self) -> int:
        """Its resident bytes."""
        return resident(self.process.pid)


@contextmanager
def contender(name: str, durability: str, *command: str | Path, store: int | None = None) -> Iterator[Contender]:
    """A running contender, ready to be asked: an interpreter, a module's name (or a file), and its arguments."""
    interpreter, module, *arguments = command
    what = [module] if isinstance(module, Path) else ["-m", module]
    process = subprocess.Popen(
        [interpreter, *what, *arguments], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    found = Contender(name, durability, process, store)
    try:
        found.hear()
        yield found
    finally:
        if process.poll() is None:
            found.tell(signal.SIGKILL)  # also to what it started, which stands still and would do so for ever
        process.wait()


def spent(pid: int | None) -> float:
    """The CPU seconds of a process, of its children, and of those that are gone."""
    if pid is None:
        return 0.0
    process = psutil.Process(pid)
    return sum(sum(member.cpu_times()[:4]) for member in (process, *process.children(recursive=True)))


def resident(pid: int) -> int:
    """The resident bytes of a process and of its children."""
    process = psutil.Process(pid)
    return sum(member.memory_info().rss for member in (process, *process.children(recursive=True)))
