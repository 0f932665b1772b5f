"""The notifier behind a real bus: what the evaluator decides is told on GitHub, and nothing is owed in the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path

import pytest

from amends.common.answers import Already, Recorded, Report
from amends.common.bus.reporter import NatsRecorder
from amends.common.bus.users import configuration
from amends.common.events import EVERYONE, Author, CommandGiven, PrObserved
from amends.common.github.client import Nobody
from amends.common.identity import About
from amends.common.log import Log
from amends.common.policy import Overrides
from amends.common.sections import Notifier
from amends.common.settings import Settings
from amends.evaluator.app import run
from amends.notifier.app import Notifying, notifying
from tests.support.asynchronous import asynchronous, eventually, until
from tests.support.examples import NOON
from tests.support.github import Scene
from tests.support.nats import NatsServer, linked

pytestmark = pytest.mark.connected
RULES = Overrides(repositories=("acme/widget",))


def address(server: NatsServer, user: str) -> str:
    return server.url.replace("//", f"//{user}:{user}@")


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[NatsServer]:
    """A server with the users we ship; each one's password is its name."""
    config = tmp_path / "nats.conf"
    config.write_text(configuration({user: user for user in EVERYONE}))
    server = NatsServer(tmp_path, config).start()
    yield server
    server.kill()


@asynccontextmanager
async def at_work(database: str, server: NatsServer, scene: Scene) -> AsyncIterator[tuple[Notifying, NatsRecorder]]:
    """An evaluator and a notifier that have only the bus in common, and somebody who reports."""
    stop, quick = asyncio.Event(), Notifier(apart_seconds=0)
    known = Settings(database=database, github=scene.app_settings, notifier=quick, policy=RULES)
    evaluating = asyncio.create_task(run(known, address(server, "evaluator"), stop))
    async with (
        linked(address(server, "notifier"), "notifier") as link,
        linked(address(server, "cli"), "cli") as cli,
        notifying(known, NatsRecorder(link, "notifier"), link) as notifier,
    ):
        yield notifier, NatsRecorder(cli, "cli")
    stop.set()
    await evaluating


@asynchronous
async def test_what_is_decided_is_told(sqlite_url: str, guarded: NatsServer, scene: Scene) -> None:
    pull = scene.pull
    seen = PrObserved(
        full_name="acme/widget", author=Author(id=scene.double.user("alice").id), head=pull.head, head_ref="feature",
        head_repo=scene.repo.id, base_ref="main", updated_at=NOON, url=f"{scene.double.url}/acme/widget/pull/1",
    )  # fmt: skip
    ready = CommandGiven(id="req-1", name="ready", author=Author(id=0, login="panel", kind="token"))
    async with at_work(sqlite_url, guarded, scene) as (notifier, recorder):
        for fact in (seen, ready):
            report = Report(fact=fact, about=About(repo=scene.repo.id, number=pull.number))
            await eventually(partial(recorded, recorder, report))
        with closing(Log(sqlite_url)) as log:
            await until(lambda: pull.labels == ["amends: ready"] and not log.outstanding(), 20)
        await until(lambda: notifier.checks() == {"notifier": "ok"}, 25)
    said = [one.body.partition(" -->")[0].partition("-pr-1/")[2] for one in pull.conversation]
    assert sorted(said) == ["card", "finished/1"]


async def recorded(recorder: NatsRecorder, report: Report) -> bool:
    return isinstance(await recorder.report(report), Recorded | Already)


@asynchronous
async def test_with_nobody_to_tell_it_says_so_at_the_start(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        with pytest.raises(Nobody, match=r"github\.app_id"):
            async with notifying(Settings(), NatsRecorder(link, "notifier"), link):
                pass
