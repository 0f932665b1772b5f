"""The comment-fetcher behind a real bus: it answers events, looks around on its timer and when it is asked to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from amends.comment_fetcher.app import Fetcher, fetching
from amends.common.bus.errands import look_around
from amends.common.bus.link import Link, Unanswered
from amends.common.bus.reporter import NatsRecorder
from amends.common.github.client import Nobody
from amends.common.policy import Overrides
from amends.common.sections import Fetcher as Reading
from amends.common.sections import GitHub
from amends.common.settings import Settings
from tests.connected.support.evaluating import evaluating
from tests.support.asynchronous import asynchronous, eventually, until
from tests.support.github import Scene
from tests.support.nats import NatsServer, linked

pytestmark = pytest.mark.connected
RULES = Overrides(repositories=("acme/widget",), settle_seconds=0)
PUBLIC = """-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAqEmawS83Qkz3TXek0reo
ATrMVT8y6Gp+bIhu4tUvQQu6s8/lqAhAojXyNwlvzWP5dXO3W07G4UE+41rOwKNn
COiBvL5GTC8SETS9MNJcmA6TQmzVCTSXFE1MhDCNwsP82/MVEie0DqHip7tfpNIc
bvhHxm1Lukq1VtwQSV/lILFwdfhAjdf9h8gpN1weu7lx8bJiAVHdp4fexd1H25m5
jmOwcwGiwv/W/isppdkPueIy+OOTt+7tXMbScT5t11pW0105j4PD+cxUJRW3waPz
MdJo7VyGzF9o9XS04Zb1asM3n6tsE+btQxSBKhYQhMAZH+GnsQroXBj9I0vzjvn9
6wIDAQAB
-----END PUBLIC KEY-----
"""


@asynccontextmanager
async def at_work(database: str, server: NatsServer, scene: Scene) -> AsyncIterator[tuple[Fetcher, Link]]:
    """An evaluator and a comment-fetcher that have only the bus in common."""
    known = Settings(database=database, policy=RULES, github=scene.app_settings, fetcher=Reading(mode="poll"))
    async with (
        evaluating(known, server.address("evaluator")),
        linked(server.address("comment-fetcher"), "comment-fetcher") as link,
    ):
        recorder = NatsRecorder(link, "comment-fetcher")
        async with fetching(known, recorder, recorder.followed, link) as fetcher:
            yield fetcher, link


@asynchronous
async def test_a_review_that_nobody_told_of_is_collected(sqlite_url: str, guarded: NatsServer, scene: Scene) -> None:
    scene.pull.review("bob", "changes_requested", "No.")
    async with at_work(sqlite_url, guarded, scene) as (fetcher, _), linked(guarded.address("cli"), "cli") as cli:

        async def seen() -> bool:
            return (await look_around(cli, "acme/widget", 10)).pulls == 1

        await eventually(seen)
        await until(lambda: any("/permission" in one.path for one in scene.double.requests.entries))
        await until(lambda: fetcher.checks() == {"comment-fetcher": "ok", "reconcile": "ok"})


@asynchronous
async def test_inv_41_only_people_may_send_it_looking(guarded: NatsServer) -> None:
    async with linked(guarded.address("fixer"), "fixer") as link:
        with pytest.raises(Unanswered, match="permissions violation"):
            await look_around(link, "", 2)


@asynchronous
async def test_without_a_comment_fetcher_nobody_answers(guarded: NatsServer) -> None:
    async with linked(guarded.address("cli"), "cli") as link:
        with pytest.raises(Unanswered, match="nobody serves"):
            await look_around(link, "", 2)


@pytest.mark.parametrize(
    "github",
    [
        GitHub(),
        GitHub(app_id="1", private_key=SecretStr("no key")),
        GitHub(app_id="1", private_key=SecretStr(PUBLIC)),
        GitHub(app_id="1", private_key_file=Path("/none")),
    ],
)
@asynchronous
async def test_a_key_that_cannot_sign_is_said_at_the_start(github: GitHub, nats: NatsServer) -> None:
    known = Settings(github=github)
    async with linked(nats.url) as link:
        recorder = NatsRecorder(link, "comment-fetcher")
        with pytest.raises(Nobody, match=r"github\."):
            async with fetching(known, recorder, recorder.followed, link):
                pass
