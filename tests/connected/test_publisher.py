"""The publisher behind a real bus: what is asked for through the log ends as a commit, and it says how it is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from amends.common.answers import Already, Recorded, Recorder, Report
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import (
    AnyFact,
    Author,
    AuthorChecked,
    Change,
    Collected,
    CommentsFetched,
    FixPrepared,
    FixStarted,
    Judgement,
    Reporter,
    ReviewRejected,
    Verdict,
)
from amends.common.github.models import Pull
from amends.common.github.sightings import EPOCH, pull_seen
from amends.common.identity import About
from amends.common.policy import Overrides
from amends.common.settings import Settings
from amends.publisher.app import publishing
from tests.connected.support.evaluating import evaluating
from tests.support.asynchronous import asynchronous, until
from tests.support.github import Scene
from tests.support.nats import NatsServer, linked
from tests.support.publishing import WHAT

pytestmark = pytest.mark.connected
RULES = Overrides(repositories=("acme/widget",), settle_seconds=0)
BOB = Author(id=4, login="bob")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    one = NatsServer(tmp_path).start()
    yield one
    one.kill()


def story(scene: Scene, blob: str, before: str) -> list[tuple[Reporter, AnyFact]]:
    """What everybody else says, up to a fix that is prepared."""
    pull = scene.pull
    user = {"id": 9, "login": "alice"}
    side = {"sha": pull.head, "ref": "feature", "repo": {"id": scene.repo.id}}
    shown = pull_seen(
        Pull.model_validate({"number": pull.number, "state": "open", "draft": False, "user": user, "head": side,
                             "base": {**side, "ref": "main"}}), "acme/widget",
    )  # fmt: skip
    assert shown is not None
    item = Collected(id="thread/1", kind="thread", version="f" * 16, author=BOB, review=5)
    verdict = Verdict(item=item.id, version=item.version, judgement=Judgement.FIXED, hunks=("app.py",))
    change = Change.model_validate({"path": "app.py", "blob": blob, "before": before})
    rejected = ReviewRejected(review=5, node="PRR_5", author=BOB, head=pull.head, submitted_at=EPOCH)
    return [
        ("gateway", shown),
        ("gateway", rejected),
        ("comment-fetcher", AuthorChecked(of=rejected.key, author=BOB, permission="write")),
        ("comment-fetcher", CommentsFetched(n=1, k=1, head=pull.head, items=(item,))),
        ("fixer", FixStarted(n=1, k=1, holder="fixer/0", run="run-1")),
        ("fixer", FixPrepared(n=1, k=1, run="run-1", base=pull.head, changes=(change,), verdicts=(verdict,))),
    ]


async def recorded(recorder: Recorder, report: Report) -> None:
    """Once the log has it: what comes too early (a cycle is asked for by a timer) is said again."""
    while not isinstance(await recorder.report(report), Recorded | Already):  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.05)


@asynchronous
async def test_what_is_asked_for_on_the_bus_ends_as_a_commit(
    sqlite_url: str, server: NatsServer, scene: Scene, tmp_path: Path
) -> None:
    before = scene.pull.head
    known = Settings(database=sqlite_url, policy=RULES, github=scene.app_settings, data_dir=tmp_path)
    about = About(repo=scene.repo.id, number=scene.pull.number)
    async with evaluating(known, server.url), linked(server.url, "publisher") as link:
        recorders: dict[Reporter, Recorder] = {
            who: NatsRecorder(link, who) for who in ("gateway", "comment-fetcher", "fixer")
        }
        async with publishing(known, NatsRecorder(link, "publisher"), link) as working:
            blob = await recorders["fixer"].put(WHAT)
            old = scene.repo.read("app.py", "feature") or b""
            for who, fact in story(scene, blob, sha256(old).hexdigest()):
                await recorded(recorders[who], Report(fact=fact, about=about))
            await until(lambda: scene.pull.head != before)
            await until(lambda: working.checks() == {"publisher": "ok"})
            assert scene.repo.read("app.py", "feature") == WHAT
