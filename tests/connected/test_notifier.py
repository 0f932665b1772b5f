"""The notifier behind a real bus: what the evaluator decides is told on GitHub, and nothing is owed in the end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial

import pytest

from amends.common.answers import Already, Recorded, Report
from amends.common.bus.consumers import Consumers
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import AnyFact, Author, CommandGiven, CommandName, PrObserved
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


def known(database: str, server: NatsServer, scene: Scene, *, grown: bool = False) -> Settings:
    """All that either is told; `grown`: there may be several of each."""
    quick = Notifier(apart_seconds=0, silent_seconds=2)
    nats_url = server.url if grown else ""
    return Settings(database=database, nats_url=nats_url, github=scene.app_settings, notifier=quick, policy=RULES)


@asynccontextmanager
async def telling(settings: Settings, server: NatsServer) -> AsyncIterator[Working]:
    """A notifier."""
    async with (
        linked(server.address("notifier"), "notifier") as link,
        notifying(settings, NatsRecorder(link, "notifier"), link) as notifier,
    ):
        yield notifier


@asynccontextmanager
async def deciding(settings: Settings, server: NatsServer) -> AsyncIterator[NatsRecorder]:
    """An evaluator, and somebody who reports to it."""
    async with evaluating(settings, server.address("evaluator")), linked(server.address("cli"), "cli") as cli:
        yield NatsRecorder(cli, "cli")


def seen(scene: Scene) -> PrObserved:
    pull = scene.pull
    return PrObserved(
        full_name="acme/widget", author=Author(id=scene.double.user("alice").id), head=pull.head, head_ref="feature",
        head_repo=scene.repo.id, base_ref="main", updated_at=NOON, url=f"{scene.double.url}/acme/widget/pull/1",
    )  # fmt: skip


def commands(*names: CommandName) -> list[CommandGiven]:
    panel = Author(id=0, login="panel", kind="token")
    return [CommandGiven(id=f"req-{n}-{name}", name=name, author=panel) for n, name in enumerate(names)]


async def reported(recorder: NatsRecorder, scene: Scene, *facts: AnyFact) -> None:
    for fact in facts:
        report = Report(fact=fact, about=About(repo=scene.repo.id, number=scene.pull.number))
        await eventually(partial(recorded, recorder, report))


async def told(settings: Settings, server: NatsServer, scene: Scene, *what: str) -> None:
    """These comments are there, each once, and nothing is owed or in hand any more."""
    with closing(Log(settings.database)) as log:
        async with linked(server.address("evaluator"), "evaluator") as link:

            async def rests() -> bool:
                _, in_hand, _ = (await Consumers(link).standing())["notifier"]
                return not in_hand and not log.outstanding() and len(said(scene)) >= len(what)

            await eventually(rests)
    assert said(scene) == sorted(what)


def said(scene: Scene) -> list[str]:
    return sorted(one.body.partition(" -->")[0].partition("-pr-1/")[2] for one in scene.pull.conversation)


@asynchronous
async def test_what_is_decided_is_told(sqlite_url: str, guarded: NatsServer, scene: Scene) -> None:
    settings = known(sqlite_url, guarded, scene)
    async with deciding(settings, guarded) as recorder, telling(settings, guarded) as notifier:
        await reported(recorder, scene, seen(scene), *commands("ready"))
        await until(lambda: scene.pull.labels == ["amends: ready"])
        await told(settings, guarded, scene, "card", "finished/1")
        await until(lambda: notifier.checks() == {"notifier": "ok"})


@asynchronous
async def test_of_two_one_tells_and_the_other_follows_it(sqlite_url: str, guarded: NatsServer, scene: Scene) -> None:
    settings = known(sqlite_url, guarded, scene, grown=True)
    scene.double.faults.next("POST", "/issues/1/comments", before=partial(time.sleep, 1.0))  # others look meanwhile
    async with deciding(settings, guarded) as recorder, telling(settings, guarded) as second:
        async with telling(settings, guarded) as first:
            await reported(recorder, scene, seen(scene), *commands(*(("pause", "resume") * 6)))
            await told(settings, guarded, scene, "card")
            await until(lambda: first.checks() == second.checks() == {"notifier": "ok"})
        await reported(recorder, scene, *commands("ready"))
        await told(settings, guarded, scene, "card", "finished/1")


async def recorded(recorder: NatsRecorder, report: Report) -> bool:
    return isinstance(await recorder.report(report), Recorded | Already)


@asynchronous
async def test_with_nobody_to_tell_it_says_so_at_the_start(nats: NatsServer) -> None:
    async with linked(nats.url) as link:
        with pytest.raises(Nobody, match=r"github\.app_id"):
            async with notifying(Settings(), NatsRecorder(link, "notifier"), link):
                pass
