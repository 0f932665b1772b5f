"""Signed webhooks a second and CPU time for one, beside those who take webhooks too. What each has kept is printed."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tests.bench.contender import OURS, Contender, contender, spent
from tests.bench.conversation import Measured
from tests.bench.deliveries import SECRET
from tests.bench.environment import peers
from tests.bench.figures import Score, effort, middle, pace, row, title
from tests.support.ports import free_port
from tests.support.postgres import private_server

CONNECTIONS = 16
SQLITE = "SQLite, WAL, synchronous=FULL (fsync)"
POSTGRES = "PostgreSQL, fsync=on, synchronous_commit=on"
NOTHING = "nothing is kept"
PROBOT = Path(__file__).parent / "peers" / "probot"


def compare(score: Score, folder: Path, rounds: int, seconds: float) -> None:
    """All of them in turns, round by round, so that what else the machine does hits each alike."""
    ports: dict[str, int] = {}
    with _contenders(folder, ports) as contenders, contender("sender", "", OURS, "tests.bench.sending") as sender:
        figures: dict[str, list[Measured]] = {one.name: [] for one in contenders}
        for turn in range(rounds + 1):
            for one in contenders:
                taken = _sent(one, sender, ports[one.name], seconds if turn else seconds / 2)
                figures[one.name] += [taken] if turn else []
    _print(contenders, figures, rounds)
    _judge(score, figures)


def _sent(one: Contender, sender: Contender, port: int, seconds: float) -> Measured:
    """Send to it; the CPU time is that of who takes the webhooks and of his store."""
    before = spent(one.process.pid) + spent(one.store)
    with one.turn():
        measured = sender.ask(port=port, connections=CONNECTIONS, seconds=seconds)
    return replace(measured, cpu=spent(one.process.pid) + spent(one.store) - before)


@contextmanager
def _contenders(folder: Path, ports: dict[str, int]) -> Iterator[list[Contender]]:
    log, intake = f"sqlite:///{folder / 'log.db'}", "tests.bench.ours.intake"
    githubkit, dbos = "tests.bench.peers.fastapi_githubkit", "tests.bench.peers.fastapi_dbos"

    def port(name: str) -> str:
        ports[name] = free_port()
        return str(ports[name])

    with private_server(fsync=True) as server, ExitStack() as running:
        pid = server.process.pid
        starting = [
            contender("amends", SQLITE, OURS, intake, log, port("amends")),
            contender("amends (PG)", POSTGRES, OURS, intake, server.database(), port("amends (PG)"), store=pid),
            contender("FastAPI + githubkit", NOTHING, peers(), githubkit, port("FastAPI + githubkit")),
            contender("FastAPI + DBOS", POSTGRES, peers(), dbos, server.database(), port("FastAPI + DBOS"), store=pid),
        ]
        contenders = [running.enter_context(one) for one in starting]
        if probot := _probot(folder):
            node = [*probot, port("probot 14"), SECRET]
            contenders.append(running.enter_context(contender("probot 14", NOTHING, *node)))
        for one in contenders:
            _until_it_listens(ports[one.name])
            one.tell(signal.SIGSTOP)
        yield contenders


def _probot(folder: Path) -> list[str | Path]:
    """The command of probot, once npm has brought it; nothing where there is no npm or no way to its packages."""
    npm, node, home = shutil.which("npm"), shutil.which("node"), folder / "probot"
    if not npm or not node:
        print("  probot is left out: there is no npm here", flush=True)
        return []
    shutil.copytree(PROBOT, home)
    brought = subprocess.run([npm, "ci", "--silent", "--no-audit", "--no-fund"], cwd=home, check=False)
    if brought.returncode:
        print("  probot is left out: npm could not bring it", flush=True)
        return []
    return [node, home / "serve.js"]


def _until_it_listens(port: int, seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 0.1).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return


def _judge(score: Score, figures: dict[str, list[Measured]]) -> None:
    ours = middle(figures["amends"], pace)
    plain, durable = (middle(figures[name], pace) for name in ("FastAPI + githubkit", "FastAPI + DBOS"))
    score.at_least("webhooks per second, amends / FastAPI + githubkit, which keeps nothing", ours / plain, 3)
    score.at_least("webhooks per second, amends / FastAPI + DBOS", ours / durable, 10)
    for name, rounds in figures.items():
        if name != "amends":
            less = middle(rounds, effort) / middle(figures["amends"], effort)
            print(f"         CPU time per webhook, {name} / amends: {less:.3g}")
    if "probot 14" in figures:
        print(f"         webhooks per second, amends / probot 14: {ours / middle(figures['probot 14'], pace):.3g}")


def _print(contenders: Sequence[Contender], figures: dict[str, list[Measured]], rounds: int) -> None:
    title(f"Signed 25 KB webhooks over {CONNECTIONS} connections, kept before the 202 (median of {rounds} rounds)")
    for one in contenders:
        taken = figures[one.name]
        row(
            one.name, one.durability,
            f"{middle(taken, pace):.0f} webhooks/s",
            f"p50 {middle(taken, lambda each: each.p50) * 1e3:.2f} ms",
            f"p99 {middle(taken, lambda each: each.p99) * 1e3:.2f} ms",
            f"CPU {middle(taken, effort) * 1e6:.0f} us",
        )  # fmt: skip
