"""A process that has loaded all of amends and does nothing with it: services are forked from it, and begin at once.

What it forks is what `amends run ...` is: a process of its own that is called with arguments, and has an environment.
Only here can a watcher be put into it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import random
import signal
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from amends.common import effects
from tests.faults.support.watched import Plan, Watched

_ROOT = Path(__file__).parents[3]
# What a service would load only when it begins, or with its first request.
_LATE = (
    "amends.cli.together", "amends.cli.up", "amends.fixer.app", "amends.fixer.bubblewrap", "amends.fixer.model",
    "anyio._backends._asyncio", "concurrent.futures.thread", "encodings.idna", "h11", "httpcore", "httpcore2",
    "importlib.readers", "truststore", "uvicorn.lifespan.off",
)  # fmt: skip


class Child(NamedTuple):
    """A process that was asked for."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str
    plan: Plan | None


class Nursery:
    """The one who asks for processes."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.support.nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - one call, which takes no lock
        )

    def fork(self, child: Child) -> int:
        """Its pid, once it is there."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        said = {**child._asdict(), "plan": asdict(child.plan) if child.plan else None}
        stdin.write(f"{json.dumps(said)}\n")
        stdin.flush()
        return int(stdout.readline())

    def end(self) -> None:
        """With it all that it forked."""
        self._process.kill()
        self._process.communicate()


def die_with_parent() -> None:
    """Whoever is killed leaves nobody behind."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _serve() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead leave nothing behind; whoever asked looks himself
    for module in _LATE:
        import_module(module)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        said = json.loads(line)
        plan = Plan(**said.pop("plan")) if said["plan"] else said.pop("plan")
        pid = os.fork()
        if pid == 0:
            _become(Child(**said, plan=plan))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _become(child: Child) -> None:
    die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    said = os.open(Path(child.folder, "stderr"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, theirs in ((nothing, 0), (said, 1), (said, 2)):
        os.dup2(ours, theirs)
    os.environ.clear()
    os.environ.update(child.environment)
    os.chdir(child.folder)
    random.seed()
    if child.plan is not None:
        effects.watching = Watched(child.plan)
    from amends.cli.main import cli  # noqa: PLC0415 - in the child, as the command does

    code = 1
    try:
        cli.main([*child.arguments], prog_name="amends")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
