"""How long it takes until a start is ready, and the memory of everything then, beside a FastAPI + DBOS service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil

from amends.doubles.github import GitHubDouble
from tests.bench.contender import contender, resident
from tests.bench.environment import peers
from tests.bench.figures import Score, row, title
from tests.bench.steps import POSTGRES, SQLITE
from tests.faults.support.processes import Amends, page, wait_for
from tests.support.ports import free_port
from tests.support.postgres import PrivateServer, private_server

SETTLED = 1.0  # seconds after which the memory is looked at: by then everybody has begun his work
MB = 1e6
NUMBERS = count()


class Start(NamedTuple):
    """Seconds until it answered, and bytes: its own with all its children, and those of a store that it shares."""

    seconds: float
    size: int
    store: int = 0


Starting = Callable[[Path], AbstractContextManager[Start]]


def compare(score: Score, folder: Path, rounds: int, seconds: float) -> None:
    """First starts on nothing, and starts on what the first has left; they are aims, nothing else."""
    del score, seconds
    with GitHubDouble() as github, private_server(fsync=True) as server:
        starts: dict[str, tuple[str, Starting]] = {
            "amends up, no GitHub": (SQLITE, partial(_amends, {})),
            "amends up": (SQLITE, partial(_amends, _known(github))),
            "FastAPI + DBOS": (POSTGRES, _Dbos(server).started),
        }
        taken: dict[str, list[tuple[Start, Start]]] = {name: [] for name in starts}
        for _ in range(rounds):
            for name, (_, start) in starts.items():
                taken[name].append(_twice(start, folder / str(next(NUMBERS))))
    title(f"From the start to ready, and the memory of everything (median of {rounds} rounds)")
    for name, (durability, _) in starts.items():
        _print(name, durability, taken[name])
    everything = taken["amends up"]
    took = median(first.seconds for first, _ in everything)
    size = median(again.size for _, again in everything) / MB
    for what, figure, aim in (("seconds from the first start to ready", took, 1), ("MB of everything", size, 150)):
        print(f"         {what}: {figure:.3g} (aim {aim}, {'reached' if figure <= aim else 'missed'})")


def _print(name: str, durability: str, taken: list[tuple[Start, Start]]) -> None:
    first, again = (median(start.seconds for start in starts) for starts in zip(*taken, strict=True))
    size, store = (median(part) / MB for part in zip(*(again[1:] for _, again in taken), strict=True))
    beside = [f"PostgreSQL {store:.0f} MB"] if store else []
    row(name, durability, f"first {first:.2f} s", f"again {again:.2f} s", f"{size:.0f} MB", *beside)


def _twice(start: Starting, folder: Path) -> tuple[Start, Start]:
    with start(folder) as first:
        pass
    with start(folder) as again:
        return first, again


def _known(github: GitHubDouble) -> dict[str, object]:
    """The settings with which all services run: the fixer too, in a process of its own."""
    app = github.app("amends")
    app.install("owner", [github.repo("owner/widget", {"README.md": "widgets\n"})])
    return {
        "github_api_url": github.api_url, "github_graphql_url": github.graphql_url, "github_app_id": app.id,
        "github_private_key": app.pem, "model_api_key": "nobody asks", "policy_repositories": '["owner/widget"]',
    }  # fmt: skip


@contextmanager
def _amends(settings: dict[str, object], folder: Path) -> Iterator[Start]:
    port = free_port()
    up = Amends(folder, "up", **settings, data_dir=folder / "data", ops_port=port, log_level="warning")
    began = time.monotonic()
    up.start()
    try:
        wait_for(lambda: page(f"http://127.0.0.1:{port}/readyz")[0] == 200, "it is ready")
        took = time.monotonic() - began
        time.sleep(SETTLED)
        yield Start(took, resident(up.pid))
    finally:
        up.stop()


class _Dbos:
    """The service on a database of its own, which it fills with its tables at its first start."""

    def __init__(self, server: PrivateServer) -> None:
        self._server = server
        self._databases: dict[Path, str] = {}

    @contextmanager
    def started(self, folder: Path) -> Iterator[Start]:
        if folder not in self._databases:
            self._databases[folder] = self._server.database()
        port, service = free_port(), "tests.bench.peers.fastapi_dbos"
        began = time.monotonic()
        with contender("FastAPI + DBOS", POSTGRES, peers(), service, self._databases[folder], str(port)) as one:
            wait_for(lambda: page(f"http://127.0.0.1:{port}/")[0], "it answers")
            took = time.monotonic() - began
            time.sleep(SETTLED)
            yield Start(took, one.memory(), _shared(self._server.process.pid))


def _shared(pid: int) -> int:
    """The bytes of a server whose processes share much of what each of them has: everything once."""
    process = psutil.Process(pid)
    return sum(member.memory_full_info().pss for member in (process, *process.children(recursive=True)))
