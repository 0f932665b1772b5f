"""The notifier behind a real bus: what the evaluator decides is told on GitHub, and nothing is owed in the end."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest

from amends.common.answers import Recorded, Report
from amends.common.bus.reporter import NatsRecorder
from amends.common.bus.users import configuration
from amends.common.events import EVERYONE, Author, CommandGiven, LoopFinished, PrObserved
from amends.common.identity import About
from amends.common.log import Log
from amends.common.policy import Overrides
from amends.common.sections import Notifier
from amends.common.settings import Settings
from amends.evaluator.app import run
from amends.notifier.app import notifying
from tests.support.asynchronous import asynchronous, until
from tests.support.examples import NOON
from tests.support.github import Scene
from tests.support.nats import NatsServer, linked

pytestmark = pytest.mark.connected


def address(server: NatsServer, user: str) -> str:
    return server.url.replace("//", f"//{user}:{user}@")


@asynchronous
async def test_what_is_decided_is_told(sqlite_url: str, tmp_path: Path, scene: Scene) -> None:
    config, stop = tmp_path / "nats.conf", asyncio.Event()
    config.write_text(configuration({user: user for user in EVERYONE}))
    server = NatsServer(tmp_path, config).start()
    known = Settings(
        database=sqlite_url, github=scene.app_settings, notifier=Notifier(apart_seconds=0),
        policy=Overrides(repositories=("acme/widget",)),
    )  # fmt: skip
    evaluating = asyncio.create_task(run(known, address(server, "evaluator"), stop))
    pull, alice = scene.pull, Author(id=scene.double.user("alice").id, login="alice")
    seen = PrObserved(
        full_name="acme/widget", author=alice, head=pull.head, head_ref="feature", head_repo=scene.repo.id,
        base_ref="main", updated_at=NOON, url=f"{scene.double.url}/acme/widget/pull/1",
    )  # fmt: skip
    ready = CommandGiven(id="req-1", name="ready", author=Author(id=0, login="panel", kind="token"))
    async with linked(address(server, "notifier"), "notifier") as link, linked(address(server, "cli"), "cli") as cli:
        async with notifying(known, NatsRecorder(link, "notifier"), link) as notifier:
            for fact in (seen, ready):
                about = About(repo=scene.repo.id, number=pull.number)
                while not isinstance(await NatsRecorder(cli, "cli").report(Report(fact=fact, about=about)), Recorded):
                    await asyncio.sleep(0.05)
            with closing(Log(sqlite_url)) as log:
                await until(lambda: pull.labels == ["amends: ready"] and not log.outstanding(), 20)
                assert any(row.type == LoopFinished.model_fields["type"].default for row in log.rows(0))
            assert notifier.checks() == {"notifier": "ok"}
    stop.set()
    await evaluating
    server.kill()
    assert sorted(body.body.split("-->")[0][-12:] for body in pull.conversation) == ["-pr-1/card ", "/finished/1 "]
