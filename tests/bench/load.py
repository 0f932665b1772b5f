"""How `amends up` stands a crowd: feedback on 200 pull requests at once, on a GitHub and a model of its own.

    ./taskw bench:load -- --pulls 200 --minutes 10

It ends when every cycle has ended and everybody was told, or when the time is up; then it says what is missing, and
fails. GitHub, the model and git's server run in this process, on the same processors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles

import psutil

from amends.common.envelope import Event, event_of
from amends.common.log import Log
from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.pulls import Inline, PullHandle
from amends.doubles.model import Asked, ModelDouble, Uses, calls
from amends.doubles.model.double import KEY, MODEL
from amends.doubles.model.script import Says
from tests.bench.figures import row, title
from tests.faults.support.processes import Amends, wait_for
from tests.support.fixing import edits, reports, suggests, triages
from tests.support.gateway import SECRET
from tests.support.github import LINES
from tests.support.ports import free_port

OWNERS = 10  # installations: what may be written in an hour is bounded for each
SECOND = 1_000_000
SAID = "Louder, please."
_TURNS = (
    triages(item_1="actionable"), edits("app.py", "line 8\n", "LINE 8\n"), reports(item_1=("app.py:8-8",)),
)  # fmt: skip


def answer(asked: Asked) -> Says:
    """What the model says, to everybody."""
    turn = sum(message["role"] == "assistant" for message in asked.messages)
    return _TURNS[turn] if turn < len(_TURNS) else calls(Uses("changes"))


@dataclass
class Scene:
    """The pull requests, and when each was asked for changes."""

    double: GitHubDouble
    pulls: list[PullHandle] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def set(self, many: int, gateway: str) -> dict[str, object]:
        """Repositories with pull requests, and the settings that lead to them."""
        app = self.double.app("amends")
        for number in range(OWNERS):
            repo = self.double.repo(f"owner{number}/widget", {"app.py": LINES})
            for login in ("alice", "bob"):
                repo.collaborator(login, "write")
            app.install(f"owner{number}", [repo])
            self.names.append(repo.name)
            files = {"app.py": LINES.replace("line 10\n", "line ten\n")}
            self.pulls += [repo.pull(f"feature-{n}", by="alice", files=files) for n in range(number, many, OWNERS)]
        self.double.webhooks.to(gateway, SECRET, app)
        return {
            "github_api_url": self.double.api_url, "github_graphql_url": self.double.graphql_url,
            "github_app_id": app.id, "github_private_key": app.pem, "our_accounts": f"[{app.account_id}]",
            "policy_repositories": json.dumps(self.names),
        }  # fmt: skip

    def begin(self) -> None:
        """Everybody asks for changes, at once."""
        for pull in self.pulls:
            said: list[Inline] = [
                {"path": "app.py", "line": 10, "body": suggests("line X")},
                {"path": "app.py", "line": 8, "body": SAID},
            ]
            pull.review("bob", "changes_requested", "", said)


@dataclass
class Sizes:
    """The most memory that each process had."""

    of: psutil.Process
    most: Counter[str] = field(default_factory=Counter)

    def look(self) -> None:
        """The control plane, its children that stay, and nobody else."""
        for process in (self.of, *self.of.children()):
            try:
                name = _name(process)
                if name:
                    self.most[name] = max(self.most[name], process.memory_info().rss)
            except psutil.NoSuchProcess:
                continue


def _name(process: psutil.Process) -> str:
    words = process.cmdline()
    if "nats-server" in process.name():
        return "nats-server"
    if "up" in words:
        return "control plane"
    return "fixer" if any("amends" in word for word in words) else ""


def over(log: Log, many: int) -> bool:
    """Whether each cycle has ended, and nobody waits for anything."""
    types = Counter(one.type for one in log.rows(0, 1_000_000))
    return types["cycle.finished"] >= many and types["fix.pushed"] >= many and not log.outstanding()


def waited(events: Sequence[Event]) -> list[float]:
    """Seconds from the webhook of the rejection to the push, as the log has them."""
    begun = {event.loop: event.time for event in events if event.type == "review.rejected"}
    return sorted((event.time - begun[event.loop]) / SECOND for event in events if event.type == "fix.pushed")


def told(scene: Scene, events: Sequence[Event], seconds: float, sizes: Sizes, folder: Path) -> list[str]:
    """The figures; answers with what is missing."""
    types = Counter(event.type for event in events)
    cycles, times = types["cycle.finished"], waited(events)
    asked = Counter(_kind(one.path) for one in scene.double.requests.find())
    kept = sum(file.stat().st_size for file in folder.glob("amends.db*"))
    mirror = sum(file.stat().st_size for file in folder.joinpath("nats").rglob("*") if file.is_file())
    title(
        f"{len(scene.pulls)} pull requests at once, {cycles} cycles in {seconds:.0f} s, load {os.getloadavg()[0]:.1f}"
    )
    row("cycles a minute", "", f"{60 * cycles / seconds:.1f}")
    if len(times) > 1:
        cut = quantiles(times, n=20)
        row("webhook to push", "seconds", f"p50 {cut[9]:.1f}", f"p95 {cut[18]:.1f}", f"first {times[0]:.1f}")
    for name, size in sorted(sizes.most.items()):
        row(name, "the most memory it had", f"{size / 1e6:.0f} MB")
    if cycles:
        row("log", "for a cycle", f"{len(events) / cycles:.1f} events", f"{kept / cycles / 1e3:.1f} kB")
        row("mirror", "for a cycle", f"{mirror / cycles / 1e3:.1f} kB")
        row("GitHub", "requests for a cycle", *(f"{name} {n / cycles:.1f}" for name, n in asked.most_common()))
    done = Counter(thread.resolved and len(thread.comments) > 1 for pull in scene.pulls for thread in pull.threads)
    expected = {
        "fix.pushed": len(scene.pulls),
        "cycle.finished": len(scene.pulls),
        "review.requested": len(scene.pulls),
    }
    wrong = [f"{name}: {types[name]}, not {many}" for name, many in expected.items() if types[name] != many]
    wrong += [f"{name}: {types[name]}" for name in ("escalated", "delivery.parked", "notify.failed") if types[name]]
    return wrong + ([f"{done[False]} threads are not answered and resolved"] if done[False] else [])


def _kind(path: str) -> str:
    return "git" if ".git/" in path else "GraphQL" if path.endswith("/graphql") else "REST"


def main() -> None:
    """Measure it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pulls", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10.0, help="after so many it ends in any case")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="amends-load-") as name, GitHubDouble() as double, ModelDouble() as model:
        model.always, folder, port = answer, Path(name), free_port()
        scene = Scene(double)
        settings = scene.set(asked.pulls, f"http://127.0.0.1:{port}/webhooks/github")
        up = Amends(
            folder, "up", **settings, gateway_port=port, gateway_webhook_secrets=json.dumps([SECRET]),
            model_api_key=KEY, model_base_url=model.url, model_name=MODEL, log_level="warning",
            notifier_apart_seconds=0, policy_settle_seconds=1, policy_waits_ci_seconds=0,
            policy_budget_day_usd=1_000_000, data_dir=folder / "data",
        )  # fmt: skip
        try:
            up.start().ready()
            wrong = _measured(scene, up, folder / "data", asked.minutes * 60)
        finally:
            up.kill()
        if wrong:
            print("\nMISSED:", *wrong, up.said()[-1_000:], sep="\n  ")
            sys.exit(1)
        print("\nAll cycles have ended, everybody was told.")


def _measured(scene: Scene, up: Amends, data: Path, seconds: float) -> list[str]:
    sizes = Sizes(psutil.Process(up.pid))
    with closing(Log(f"sqlite:///{data}/amends.db")) as log:
        wait_for(lambda: _observed(log, len(scene.pulls)), "every pull request was seen", 120)
        scene.double.requests.clear()
        before, began = log.head().pos, time.monotonic()
        scene.begin()
        while time.monotonic() - began < seconds and not over(log, len(scene.pulls)):
            sizes.look()
            time.sleep(1)
        took = time.monotonic() - began
        events = [event_of(one) for one in log.rows(before, 1_000_000)]
    return told(scene, events, took, sizes, data)


def _observed(log: Log, many: int) -> bool:
    return len({one.loop for one in log.rows(0, 1_000_000) if one.type == "pr.observed"}) >= many


if __name__ == "__main__":
    main()
