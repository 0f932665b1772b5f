"""The fixer behind a real bus, and as the child that `amends up` makes of it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import psutil
import pytest
from pydantic import SecretStr

from amends.cli.child import Child, environment
from amends.cli.child import fixing as child_fixing
from amends.comment_fetcher.app import fetching
from amends.common.bus.reporter import NatsRecorder
from amends.common.envelope import event_of
from amends.common.events import Failure, FixFailed
from amends.common.log import Log
from amends.common.policy import Overrides
from amends.common.sections import Agent, Fetcher, Gateway, GitHub, Model
from amends.common.settings import Settings, read
from amends.doubles.model import Asked, ModelDouble, Says, text
from amends.doubles.model.double import KEY
from amends.publisher.app import publishing
from tests.connected.support.evaluating import evaluating
from tests.support.asynchronous import asynchronous, until
from tests.support.commanding import installed, one, report
from tests.support.fixing import edits, reports, suggests, triages
from tests.support.github import Scene
from tests.support.model import model_settings
from tests.support.nats import NatsServer, linked

pytestmark = pytest.mark.connected
RULES = Overrides(repositories=("acme/widget",), settle_seconds=0)


@asynccontextmanager
async def at_work(known: Settings, server: NatsServer) -> AsyncIterator[Child]:
    """All services, each with nothing but the bus; the fixer in a process of its own."""
    async with evaluating(known, server.url), linked(server.url) as one, linked(server.url) as other:
        reader, writer = NatsRecorder(one, "comment-fetcher"), NatsRecorder(other, "publisher")
        async with (
            fetching(known, reader, reader.followed, one),
            publishing(known, writer, other),
            child_fixing(known, server.url) as child,
        ):
            yield child


@asynchronous
async def test_a_review_becomes_a_commit_through_processes_and_the_bus(
    sqlite_url: str, nats: NatsServer, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.review(
        "bob", "changes_requested", "",
        [{"path": "app.py", "line": 10, "body": suggests("line X")}, {"path": "app.py", "line": 8, "body": "Louder."}],
    )  # fmt: skip
    double.says(triages(item_1="actionable"), edits("app.py", "line 8", "LINE 8"), reports(item_1=("app.py:8-8",)))
    before = scene.pull.head
    known = Settings(
        database=sqlite_url, policy=RULES, github=scene.app_settings, data_dir=tmp_path,
        fetcher=Fetcher(mode="poll", poll_seconds=1), model=model_settings(double),
    )  # fmt: skip
    async with at_work(known, nats) as child:
        await until(lambda: scene.pull.head != before)
        seen = all_that_can_be_seen(child)
    assert b"AMENDS_MODEL_API_KEY" in seen
    assert key_lines(scene).isdisjoint(seen.split(b"\n"))
    content = scene.repo.read("app.py", "feature") or b""
    assert content.splitlines()[7] == b"LINE 8"
    assert content.splitlines()[9] == b"line X"


def all_that_can_be_seen(child: Child) -> bytes:
    """Of a child: its environment, its arguments, and every file that its settings name."""
    assert child.process is not None
    place = Path(f"/proc/{child.process.pid}")
    environ = (place / "environ").read_bytes()
    values = [os.fsdecode(one.partition(b"=")[2]) for one in environ.split(b"\0")]
    files = [Path(value).read_bytes() for value in values if value.startswith("/") and Path(value).is_file()]
    return b"\n".join([environ, (place / "cmdline").read_bytes(), *files]).replace(b"\\n", b"\n").replace(b"\0", b"\n")


def key_lines(scene: Scene) -> set[bytes]:
    """The App's private key, line by line."""
    return {line.encode() for line in scene.app.pem.splitlines() if line}


@asynchronous
async def test_rel_04_a_fixer_that_is_killed_in_the_middle_leaves_one_commit(
    sqlite_url: str, nats: NatsServer, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Louder."}])
    work = triages(item_1="actionable"), edits("app.py", "line ten", "LINE TEN"), reports(item_1=("app.py:10-10",))
    double.says(work[0], work[1], Says(("thinking",), seconds=20), *work)
    known = Settings(
        database=sqlite_url, policy=RULES, github=scene.app_settings, data_dir=tmp_path, ack_seconds=2,
        fetcher=Fetcher(mode="poll", poll_seconds=1), model=model_settings(double),
    )  # fmt: skip
    commits = len(scene.repo.log("feature"))
    async with at_work(known, nats) as child:
        await until(lambda: len(double.asked) == 3)
        assert child.process is not None
        child.process.kill()
        await until(lambda: len(scene.repo.log("feature")) > commits)
    assert (scene.repo.read("app.py", "feature") or b"").splitlines()[9] == b"LINE TEN"
    assert len(scene.repo.log("feature")) == commits + 1
    with closing(Log(sqlite_url)) as log:
        facts = [event_of(row).fact for row in log.rows(0)]
    (crashed,) = [fact for fact in facts if isinstance(fact, FixFailed)]
    assert (crashed.reason, crashed.usage.turns, bool(crashed.transcript)) == (Failure.CRASHED, 3, True)


@asynchronous
async def test_inv_21_of_all_processes_of_a_fix_only_the_fixer_holds_the_key(
    sqlite_url: str, nats: NatsServer, scene: Scene, tmp_path: Path, double: ModelDouble
) -> None:
    scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Louder."}])
    seen: list[tuple[str, str]] = []
    known = Settings.model_validate({
        "database": sqlite_url, "policy": RULES, "github": scene.app_settings, "data_dir": tmp_path,
        "fetcher": Fetcher(mode="poll", poll_seconds=1), "model": model_settings(double),
        "gateway": Gateway(webhook_secrets=(SecretStr("hook-secret"),)), **installed(tmp_path),
    })  # fmt: skip
    async with at_work(known, nats) as child:

        def looked(_: Asked) -> Says:
            assert child.process is not None
            seen.extend(told_to(child.process.pid))
            return text(report(one("declined", (), "No.")))

        double.says(looked)
        await until(lambda: len(double.asked) == 1 and len(seen) > 0)
    holders = [name for name, words in seen if KEY in words]
    assert any("tiny-agent" in words for _, words in seen)
    assert len(holders) == 1
    assert "amends.fixer" in holders[0]
    assert not any("hook-secret" in words or str(known.database) in words for _, words in seen)


def told_to(pid: int) -> list[tuple[str, str]]:
    """A process and all that came of it: the command line, and all that it was told."""
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    found = []
    for process in family:
        with suppress(OSError):
            line, environ = (Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ"))
            found.append((line.decode(errors="replace"), (line + environ).decode(errors="replace")))
    return found


@pytest.mark.parametrize("inline", [True, False], ids=["key", "key_file"])
def test_inv_21_the_child_is_not_told_the_key_of_an_app(scene: Scene, tmp_path: Path, inline: bool) -> None:
    file = tmp_path / "app.pem"
    file.write_text(scene.app.pem)
    own = scene.app_settings.model_dump() | ({} if inline else {"private_key": "", "private_key_file": file})
    said = environment(Settings(data_dir=tmp_path, github=GitHub.model_validate(own)), "nats://127.0.0.1:1")
    assert said["AMENDS_GITHUB_API_URL"] == scene.app_settings.api_url
    assert not [name for name, value in said.items() if "PRIVATE KEY" in value or str(file) in value]


def test_inv_21_with_a_token_the_child_gets_the_one_that_only_reads(scene: Scene, tmp_path: Path) -> None:
    both = scene.token_settings.model_copy(update={"reading_token": SecretStr("reads-only")})
    said = environment(Settings(data_dir=tmp_path, github=both), "nats://127.0.0.1:1")
    assert said["AMENDS_GITHUB_TOKEN"] == "reads-only"
    assert both.token.get_secret_value() not in said.values()


def test_inv_21_the_child_is_told_what_it_needs_and_nothing_else(tmp_path: Path) -> None:
    hooks = Gateway(webhook_secrets=(SecretStr("hook-secret"),))
    model = Model(api_key=SecretStr("model-key"))
    known = Settings(
        data_dir=tmp_path, gateway=hooks, model=model, database="postgresql://amends:pw@db/amends",
        agent=Agent(command=("claude", "-p")),
    )  # fmt: skip
    said = environment(known, "nats://fixer:x@127.0.0.1:1")
    assert said["AMENDS_MODEL_API_KEY"] == "model-key"
    assert read(said, tmp_path / "none.toml").agent.command == ("claude", "-p")
    assert not {"hook-secret", "postgresql://amends:pw@db/amends"} & set(said.values())
    assert {name for name in said if not name.startswith("AMENDS_")} <= {*os.environ}
