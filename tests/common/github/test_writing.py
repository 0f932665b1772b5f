"""Writing on GitHub: once, one at a time, no faster than allowed, and with no more rights than it takes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import pairwise

import pytest
from pydantic import TypeAdapter

from amends.common.github.auth import TELLING
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Denied, Down, Limited
from amends.common.github.models import IssueComment
from amends.common.github.pacing import Pacer, Rate
from tests.support.asynchronous import asynchronous
from tests.support.github import Scene

COMMENT = TypeAdapter(IssueComment)
TALK = "/issues/1/comments"
FAST = Rate(apart=0.0, per_minute=1_000, per_hour=1_000)


@dataclass
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


async def say(reach: Reach, words: str = "hello") -> IssueComment:
    return await reach.post(TALK, {"body": words}, COMMENT)


async def written(pacer: Pacer, times: int) -> None:
    for _ in range(times):
        async with pacer.turn():
            pass


@asynchronous
async def test_what_is_written_is_there_and_by_us(scene: Scene) -> None:
    async with Client(scene.app_settings, TELLING, FAST) as client:
        reach = await client.repository(scene.repo.id)
        made = await say(reach)
        assert made.user is not None
        assert made.user.id == (await reach.ourselves()).id == scene.app.account_id
        await reach.patch(f"/issues/comments/{made.id}", {"body": "bye"}, COMMENT)
        await reach.delete(f"/issues/comments/{(await say(reach)).id}")
    assert [one.body for one in scene.pull.conversation] == ["bye"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@asynchronous
async def test_where_it_is_sent_on_the_same_is_written_there(scene: Scene, status: int) -> None:
    async with Client(scene.app_settings, TELLING, FAST) as client:
        reach = await client.repository(scene.repo.id)
        made = await say(reach)
        path = f"issues/comments/{made.id}"
        there = {"location": f"{scene.app_settings.api_url}/repositories/{scene.repo.id}/{path}"}
        for method in ("PATCH", "DELETE"):
            scene.double.faults.next(method, f"/repos/acme/widget/{path}", status=status, headers=there)
        await reach.patch(f"/issues/comments/{made.id}", {"body": "bye"}, COMMENT)
        assert [one.body for one in scene.pull.conversation] == ["bye"]
        await reach.delete(f"/issues/comments/{made.id}")
    assert [one.body for one in scene.pull.conversation] == []


@asynchronous
async def test_with_a_token_we_are_whose_it_is(scene: Scene) -> None:
    async with Client(scene.token_settings, TELLING, FAST) as client:
        reach = await client.repository(scene.repo.id)
        assert (await reach.ourselves()).login == "octocat"


@asynchronous
async def test_who_tells_people_may_not_push(scene: Scene) -> None:
    async with Client(scene.app_settings, TELLING, FAST) as client:
        await say(await client.repository(scene.repo.id))
        asked = [one.json for one in scene.double.requests.entries if one.path.endswith("/access_tokens")][-1]
    assert isinstance(asked, dict)
    assert asked["permissions"] == {"issues": "write", "metadata": "read", "pull_requests": "write"}


@pytest.mark.parametrize("stored", [True, False])
@asynchronous
async def test_a_write_is_made_once_whatever_comes_of_it(stored: bool, scene: Scene) -> None:
    async with Client(scene.app_settings, TELLING, FAST) as client:
        reach = await client.repository(scene.repo.id)
        scene.double.faults.next("POST", TALK, status=502, stored=stored)
        with pytest.raises(Down):
            await say(reach)
    assert (scene.double.requests.count("POST", TALK), len(scene.pull.conversation)) == (1, int(stored))


@asynchronous
async def test_a_mutation_that_is_refused_is_denied_and_made_once(scene: Scene) -> None:
    document = "mutation($pull: ID!) { requestReviews(input: {pullRequestId: $pull}) { clientMutationId } }"
    async with Client(scene.app_settings, TELLING, FAST) as client:
        reach = await client.repository(scene.repo.id)
        with pytest.raises(Denied):
            await reach.mutate(document, pull="PR_none")
    assert scene.double.requests.count("GRAPHQL", "requestReviews") == 1


# --- pace ----------------------------------------------------------------------------------------------------------


@asynchronous
async def test_writes_go_one_at_a_time_and_apart(scene: Scene) -> None:
    async with Client(scene.app_settings, TELLING, Rate(apart=0.15)) as client:
        reach = await client.repository(scene.repo.id)
        await asyncio.gather(*(say(reach, str(n)) for n in range(4)))
    times = [one.at.timestamp() for one in scene.double.requests.find("POST", TALK)]
    assert min(later - earlier for earlier, later in pairwise(times)) >= 0.14


@asynchronous
async def test_what_is_too_much_for_a_minute_is_for_later_and_not_slept_out() -> None:
    clock = Clock()
    pacer = Pacer(Rate(apart=0.0, per_minute=5, per_hour=100), clock)
    await written(pacer, 5)
    clock.now += 20
    with pytest.raises(Limited) as refused:
        await written(pacer, 1)
    assert refused.value.delay == 40
    clock.now += 40
    await written(pacer, 5)


@asynchronous
async def test_no_hour_has_more_than_its_share() -> None:
    clock, made = Clock(), []
    pacer = Pacer(Rate(apart=1.0, per_minute=70, per_hour=450), clock)
    while clock.now < 1_000 + 3 * 3_600:
        clock.now += 1
        if pacer.wait() <= 0:
            await written(pacer, 1)
            made.append(clock.now)
    assert max(sum(start <= one < start + 3_600 for one in made) for start in made) == 450
    assert max(sum(start <= one < start + 60 for one in made) for start in made) <= 70


@asynchronous
async def test_installations_do_not_wait_for_each_other(scene: Scene) -> None:
    async with Client(scene.app_settings, TELLING, Rate(apart=5.0)) as client:
        assert client._pacer(1) is not client._pacer(2)
        assert client._pacer(1) is client._pacer(1)
