"""The notifier behind a real bus: what the evaluator decides is told on GitHub, and nothing is owed in the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial

import pytest

from amends.common.answers import Already, Recorded, Report
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import Author, CommandGiven, PrObserved
from amends.common.github.client import Nobody
from amends.common.identity import About
from amends.common.log import Log
from amends.common.policy import Overrides
from amends.common.sections import Notifier
from amends.common.settings import Settings
from amends.common.working import Working
from amends.notifier.app import notifying
from tests.connected.support.evaluating import evaluating
from tests.support.asynchronous import asynchronous, eventually, until
from tests.support.examples import NOON
from tests.support.github import Scene
from tests.support.nats import NatsServer, linked

pytestmark = pytest.mark.connected
RULES = Overrides(repositories=("acme/widget",))


@asynccontextmanager
async def at_work(database: str, server: NatsServer, scene: Scene) -> AsyncIterator[tuple[Working, NatsRecorder]]:
    """An evaluator and a notifier that have only the bus in common, and somebody who reports."""
    quick = Notifier(apart_seconds=0)
    known = Settings(database=database, github=scene.app_settings, notifier=quick, policy=RULES)
    async with (
        evaluating(known, server.address("evaluator")),
        linked(server.address("notifier"), "notifier") as link,
        linked(server.address("cli"), "cli") as cli,
        notifying(known, NatsRecorder(link, "notifier"), link) as notifier,
    ):
        yield notifier, NatsRecorder(cli, "cli")


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
            await until(lambda: pull.labels == ["amends: ready"] and not log.outstanding())
        await until(lambda: notifier.checks() == {"notifier": "ok"})
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
