"""Git with a token of the App: wherever the repository is now, and whatever became of the token."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from amends.common.git import Access, Remote, Repository
from amends.common.git.remotely import Renamed
from amends.common.github.auth import FIXING
from amends.common.github.client import Client
from tests.support.github import Scene

Work = Callable[[Remote], Awaitable[str]]


def heads(ours: Repository) -> Work:
    """Where the branch of the pull request is."""

    async def look(remote: Remote) -> str:
        return (await ours.heads(remote, "feature"))["feature"]

    return look


def test_a_repository_that_was_renamed_meanwhile_is_found_again(scene: Scene, ours: Repository) -> None:
    async def work() -> list[str]:
        async with Client(scene.app_settings) as client:
            access = Access(client, FIXING)
            before = await access.using(scene.repo.id, heads(ours))
            scene.repo.rename("gadget")
            return [before, await access.using(scene.repo.id, heads(ours))]

    assert asyncio.run(work()) == [scene.pull.head] * 2
    paths = [one.path for one in scene.double.requests.find("GET", ".git/info/refs")]
    assert paths == [f"/acme/{name}.git/info/refs" for name in ("widget", "widget", "gadget")]


def test_one_that_is_elsewhere_without_a_new_name_is_not_looked_for_for_ever(scene: Scene) -> None:
    asked: list[str] = []

    async def work(remote: Remote) -> str:
        asked.append(remote.url)
        raise Renamed("returned error: 301")

    async def led() -> None:
        async with Client(scene.app_settings) as client:
            await Access(client, FIXING).using(scene.repo.id, work)

    with pytest.raises(Renamed):
        asyncio.run(led())
    assert asked == [scene.repo.clone_url]
