"""Tokens for a process without a key: narrow, over a line, and with the reasons why there is none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from amends.common.delivery import Later
from amends.common.git import Access, Pushed, Remote, Repositories
from amends.common.github.auth import CLONING, FIXING
from amends.common.github.client import Client
from amends.common.github.errors import Denied, Down, Missing
from amends.common.github.lending import Line, lend
from tests.support.asynchronous import asynchronous, until
from tests.support.github import Scene


@asynccontextmanager
async def line_to(scene: Scene) -> AsyncIterator[tuple[Line, Client]]:
    """A line to somebody with the key, and the client of somebody without."""
    ours, its = socket.socketpair()
    line = Line(its)
    keyless = scene.app_settings.without_key
    async with Client(scene.app_settings, FIXING) as owner, Client(keyless, FIXING, lender=line) as client:
        lending = asyncio.create_task(lend(owner, FIXING, ours))
        yield line, client
        line.close()
        await asyncio.wait_for(lending, 5)


@asynchronous
async def test_what_is_lent_reads_one_repository_and_no_more(scene: Scene) -> None:
    async with line_to(scene) as (line, _):
        token = (await line.borrow(scene.repo.id)).token.get_secret_value()
    [asked] = scene.double.requests.find("POST", "access_tokens", fits=lambda one: "contents" in str(one.json))
    assert asked.json == {"repository_ids": [scene.repo.id], "permissions": dict(FIXING)}
    assert {level for _, level in FIXING} == {"read"}
    assert token.startswith("ghs_")


@asynchronous
async def test_inv_21_with_a_lent_token_git_fetches_and_does_not_push(scene: Scene, tmp_path: Path) -> None:
    async with line_to(scene) as (_, client):
        repository = Repositories(tmp_path).of(scene.repo.id)
        base = scene.repo.log("feature")[1].sha

        async def work(remote: Remote) -> object:
            await repository.fetch(remote, ["+refs/heads/feature:refs/amends/heads/1"])
            return await repository.push(remote, "main", scene.pull.head, base)

        with pytest.raises(Denied):
            assert not isinstance(await Access(client, CLONING).using(scene.repo.id, work), Pushed)
        assert await repository.has(scene.pull.head)


@asynchronous
async def test_who_borrows_finds_git_where_the_lender_does(scene: Scene) -> None:
    async with line_to(scene) as (_, client), Client(scene.app_settings, FIXING) as owner:
        lent = await client.repository(scene.repo.id)
        assert lent.clone_url == (await owner.repository(scene.repo.id)).clone_url
        assert lent.place == (await owner.repository(scene.repo.id)).place


@asynchronous
async def test_who_borrows_finds_a_repository_that_was_renamed_meanwhile(scene: Scene, tmp_path: Path) -> None:
    repository = Repositories(tmp_path).of(scene.repo.id)

    async def heads(remote: Remote) -> object:
        return await repository.heads(remote, "feature")

    async with line_to(scene) as (_, client):
        access = Access(client, CLONING)
        before = await access.using(scene.repo.id, heads)
        scene.repo.rename("gadget")
        assert await access.using(scene.repo.id, heads) == before
        assert (await client.repository(scene.repo.id)).place.full_name == "acme/gadget"


@asynchronous
async def test_a_lent_token_that_was_revoked_is_replaced(scene: Scene) -> None:
    async with line_to(scene) as (line, client):
        old = (await line.borrow(scene.repo.id)).token.get_secret_value()
        scene.double.revoke(old)
        reach = await client.repository(scene.repo.id)
        assert (await reach.account(scene.double.user("bob").id)).login == "bob"
        assert (await line.borrow(scene.repo.id, old)).token.get_secret_value() != old


@pytest.mark.parametrize(
    ("happens", "why"),
    [
        (lambda scene: scene.installation.suspend(), Denied),
        (lambda scene: scene.repo.delete(), Missing),
        (lambda scene: [scene.double.faults.next("POST", "/access_tokens", status=502) for _ in range(9)], Down),
    ],
    ids=["suspended", "deleted", "down"],
)
@asynchronous
async def test_why_nothing_is_lent_is_said(
    scene: Scene, happens: Callable[[Scene], object], why: type[Exception]
) -> None:
    async with line_to(scene) as (line, _):
        happens(scene)
        with pytest.raises(why):
            await line.borrow(scene.repo.id)


@asynchronous
async def test_an_answer_for_somebody_who_stopped_waiting_is_nobody_elses(scene: Scene) -> None:
    other = scene.double.repo("acme/other", {"a": "a"})
    scene.app.install("acme", [scene.repo, other])
    scene.double.latency = 0.05
    async with line_to(scene) as (line, _):
        impatient = asyncio.create_task(line.borrow(other.id))
        await until(lambda: scene.double.requests.count() > 0)
        impatient.cancel()
        await asyncio.wait({impatient})
        assert (await line.borrow(scene.repo.id)).place.full_name == "acme/widget"


@asynchronous
async def test_a_line_without_anybody_says_so_and_asks_again_later() -> None:
    ours, its = socket.socketpair()
    ours.close()
    with pytest.raises(Later, match="nobody lends us a token"):
        await Line(its).borrow(1)
