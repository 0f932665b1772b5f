"""The client of GitHub: narrow tokens made once, no request elsewhere, limits that turn callers away."""

from __future__ import annotations

import asyncio
import time

import pytest
from pydantic import SecretStr, TypeAdapter

from amends.common.github.client import Client
from amends.common.github.errors import Denied, Down, Elsewhere, Limited, Missing, Torn
from amends.common.github.limits import Gate, is_limit, wait_said
from amends.common.github.models import Pull
from amends.common.github.pages import last_page
from amends.common.sections import GitHub
from tests.support.asynchronous import asynchronous
from tests.support.github import Scene

PULL = TypeAdapter(Pull)
LIMITED = b'{"message": "You have exceeded a secondary rate limit"}'


def tokens(scene: Scene) -> int:
    return sum(one.path.endswith("/access_tokens") for one in scene.double.requests.entries)


@asynchronous
async def test_a_token_is_made_once_however_many_ask(scene: Scene) -> None:
    async with Client(scene.app_settings) as client:
        reach = await client.repository(scene.repo.id)
        before = tokens(scene)
        pulls = await asyncio.gather(*(reach.get("/pulls/1", PULL) for _ in range(8)))
        assert [one.number for one in pulls] == [1] * 8
        assert tokens(scene) - before == 1


@asynchronous
async def test_a_token_reaches_one_repository_and_only_reads(scene: Scene) -> None:
    async with Client(scene.app_settings) as client:
        await (await client.repository(scene.repo.id)).get("/pulls/1", PULL)
        asked = [one.json for one in scene.double.requests.entries if one.path.endswith("/access_tokens")]
    narrow = asked[-1]
    assert isinstance(narrow, dict)
    assert narrow["repository_ids"] == [scene.repo.id]
    assert set(narrow["permissions"].values()) == {"read"}


@asynchronous
async def test_a_token_that_is_refused_is_replaced_once(scene: Scene) -> None:
    async with Client(scene.app_settings) as client:
        reach = await client.repository(scene.repo.id)
        await reach.get("/pulls/1", PULL)
        scene.double.faults.next("GET", "/pulls/1", status=401, body={"message": "Bad credentials"})
        assert (await reach.get("/pulls/1", PULL)).number == 1
        scene.double.faults.next("GET", "/pulls/1", status=401, body={"message": "Bad credentials"}, times=2)
        with pytest.raises(Denied):
            await reach.get("/pulls/1", PULL)


@asynchronous
async def test_a_renamed_repository_is_found_by_its_number(scene: Scene) -> None:
    async with Client(scene.app_settings) as client:
        await client.repository(scene.repo.id)
        scene.repo.rename("gadget")
        client.forget(scene.repo.id)
        assert (await client.repository(scene.repo.id)).place.full_name == "acme/gadget"


@asynchronous
async def test_inv_08_no_request_leaves_for_an_address_that_is_not_configured(scene: Scene) -> None:
    async with Client(scene.app_settings) as client:
        reach = await client.repository(scene.repo.id)
        elsewhere = {"location": "http://127.0.0.1:9/repos/acme/widget/pulls/1"}
        scene.double.faults.next("GET", "/pulls/1", status=302, headers=elsewhere)
        with pytest.raises(Elsewhere, match=r"leads to http://127\.0\.0\.1:9/repos/acme/widget/pulls/1, which is not"):
            await reach.get("/pulls/1", PULL)
        assert (await reach.get("/pulls/1", PULL)).number == 1


@pytest.mark.parametrize("name", ["../../user", "acme/..", "acme", "acme/widget/../x", "acme/w?x=1", ""])
@asynchronous
async def test_inv_09_a_name_that_is_none_is_not_asked_for(name: str, scene: Scene) -> None:
    async with Client(scene.app_settings) as client:
        with pytest.raises(Missing):
            await client.named(name)
        assert client.requests == 0


@asynchronous
async def test_an_outage_is_tried_again_and_then_said(scene: Scene) -> None:
    async with Client(scene.token_settings) as client:
        reach = await client.named("acme/widget")
        scene.double.faults.next("GET", "/pulls/1", status=502, times=2)
        assert (await reach.get("/pulls/1", PULL)).number == 1
        scene.double.faults.next("GET", "/pulls/1", status=502, times=3)
        with pytest.raises(Down):
            await reach.get("/pulls/1", PULL)


@asynchronous
async def test_an_answer_that_is_cut_off_is_none(scene: Scene) -> None:
    async with Client(scene.token_settings) as client:
        reach = await client.named("acme/widget")
        scene.double.faults.next("GET", "/pulls/1", cut=0.5)
        with pytest.raises(Torn):
            await reach.get("/pulls/1", PULL)


@asynchronous
async def test_after_a_limit_nobody_knocks_until_it_is_over(scene: Scene) -> None:
    async with Client(scene.token_settings) as client:
        reach = await client.named("acme/widget")
        scene.double.faults.secondary_limit("GET", "/pulls/1", retry_after=30)
        with pytest.raises(Limited) as first:
            await reach.get("/pulls/1", PULL)
        asked = client.requests
        with pytest.raises(Limited):
            await reach.get("/pulls/1", PULL)
        assert (round(first.value.delay), client.requests) == (30, asked)


@asynchronous
async def test_graphqls_secondary_limit_is_not_waited_for_until_the_hour_is_over(scene: Scene) -> None:
    async with Client(scene.token_settings) as client:
        reach = await client.named("acme/widget")
        left = {"x-ratelimit-remaining": "4000", "x-ratelimit-reset": str(int(time.time()) + 3_000)}
        said = {"errors": [{"type": "RATE_LIMITED", "message": "You have exceeded a secondary rate limit."}]}
        scene.double.faults.next("GRAPHQL", status=200, body=said, headers=left)
        with pytest.raises(Limited) as limited:
            await reach.query("query($owner:String!,$name:String!){repository(owner:$owner,name:$name){id}}")
    assert round(limited.value.delay) == 60


@asynchronous
async def test_a_server_that_does_not_answer_is_given_up(scene: Scene) -> None:
    settings = GitHub.model_validate({**scene.token_settings.model_dump(), "timeout_seconds": 0.2})
    async with Client(settings.model_copy(update={"token": scene.token_settings.token})) as client:
        scene.double.faults.next("GET", "/repos/acme/widget", hang=True, times=3)
        with pytest.raises(Down):
            await client.named("acme/widget")


@pytest.mark.parametrize(
    ("api", "graphql", "git"),
    [
        ("https://api.github.com/", "https://api.github.com/graphql", "https://github.com"),
        ("https://ghes.test/api/v3", "https://ghes.test/api/graphql", "https://ghes.test"),
        ("https://proxy.test/gh/api/v3/", "https://proxy.test/gh/api/graphql", "https://proxy.test/gh"),
        ("https://api.octocorp.ghe.com", "https://api.octocorp.ghe.com/graphql", "https://octocorp.ghe.com"),
        ("http://[::1]:3000", "http://[::1]:3000/graphql", "http://[::1]:3000"),
    ],
)
def test_graphql_and_git_are_where_each_kind_of_github_has_them(api: str, graphql: str, git: str) -> None:
    known = GitHub(api_url=api, token=SecretStr("t"))
    assert (known.graphql, known.git) == (graphql, git)


@pytest.mark.parametrize(
    ("said", "git"),
    [
        ("{url}/scm/acme/widget.git", "{url}/scm"),
        ("http://elsewhere.invalid/acme/widget.git", "{url}"),
        ("{url}.elsewhere.invalid/acme/widget.git", "{url}"),
        ("{url}@elsewhere.invalid/x/acme/widget.git", "{url}"),
        ("{url}/scm/acme/other.git", "{url}"),
        ("{url}/--upload-pack=x y/acme/widget.git", "{url}"),
    ],
)
@asynchronous
async def test_inv_08_git_goes_to_the_site_that_is_configured_whatever_a_repository_says(
    scene: Scene, said: str, git: str
) -> None:
    url = scene.double.url
    body = {"id": scene.repo.id, "full_name": "acme/widget", "clone_url": said.format(url=url)}
    async with Client(scene.token_settings) as client:
        scene.double.faults.next("GET", "/repos/acme/widget", status=200, body=body)
        reach = await client.named("acme/widget")
    assert reach.clone_url == f"{git.format(url=url)}/acme/widget.git"


@pytest.mark.parametrize("link", ['<http://x/a?after=Y3>; rel="next"', '<http://x/a?page=3>; rel="next"'])
def test_a_list_that_goes_on_where_we_cannot_follow_is_no_whole_list(link: str) -> None:
    with pytest.raises(Torn):
        last_page({"link": link}, 1)


def test_an_app_and_a_token_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="not both"):
        GitHub(app_id="1", private_key=SecretStr("k"), token=SecretStr("t"))


@pytest.mark.parametrize(
    ("status", "headers", "body", "limit"),
    [
        (429, {}, b"", True),
        (403, {"retry-after": "5"}, b"", True),
        (403, {"x-ratelimit-remaining": "0"}, b"", True),
        (403, {}, LIMITED, True),
        (403, {}, b'{"message": "Resource not accessible by integration"}', False),
        (404, {"retry-after": "5"}, LIMITED, False),
    ],
)
def test_both_kinds_of_limits_are_recognised(status: int, headers: dict[str, str], body: bytes, *, limit: bool) -> None:
    assert is_limit(status, headers, body) is limit


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "Mon, 02 Mar 2026 12:00:30 GMT", "date": "Mon, 02 Mar 2026 12:00:00 GMT"}, 31),
        (
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772452860", "date": "Mon, 02 Mar 2026 12:00:00 GMT"},
            61,
        ),
        ({"retry-after": "999999"}, 3_600),
        ({}, None),
    ],
)
def test_the_wait_is_the_one_that_github_says(headers: dict[str, str], wait: float | None) -> None:
    assert wait_said(headers) == wait


def test_without_a_word_it_waits_a_minute_and_then_longer() -> None:
    now = [0.0]
    gate = Gate(1, lambda: now[0])
    waits = []
    for _ in range(3):
        waits.append(gate.refused({}).delay)
        now[0] += waits[-1] + 1
    assert waits == [60, 120, 240]
    gate.answered({})
    assert gate.refused({}).delay == 60
