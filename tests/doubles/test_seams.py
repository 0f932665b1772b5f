"""What the double offers to the tests of the product: a scene, crowds, and acts between any two requests."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from amends.common.sections import GitHub
from tests.doubles.client import Api
from tests.support.github import Crowd, Scene, crowd, lengthen


@pytest.fixture
def api(scene: Scene) -> Iterator[Api]:
    with Api(scene.double, scene.installation.token()) as one:
        yield one


def test_the_settings_lead_a_product_to_it(scene: Scene, api: Api) -> None:
    settings: GitHub = scene.app_settings
    assert (settings.rest, settings.graphql) == (scene.double.api_url, scene.double.graphql_url)
    assert scene.double.api_url.endswith("/api/v3")
    assert api.json(f"{settings.rest}/repos/acme/widget/pulls/1")["head"]["sha"] == scene.pull.head


def test_a_crowd_is_as_large_as_the_promises(scene: Scene, api: Api) -> None:
    pull = crowd(scene.repo)
    lengthen(pull.threads[0], 130)
    counts = "reviews(first:1){totalCount} comments(first:1){totalCount}"
    threads = "reviewThreads(first:1){totalCount nodes{comments(first:1){totalCount}}}"
    said = api.pull(f"{counts} {threads}", pull.number)
    assert said["reviewThreads"] == {"totalCount": 250, "nodes": [{"comments": {"totalCount": 131}}]}
    assert said["reviews"] == {"totalCount": 40 + 130}
    assert said["comments"] == {"totalCount": 120}


def test_something_happens_between_any_two_pages(scene: Scene, api: Api) -> None:
    pull = crowd(scene.repo, Crowd(inline=6, reviews=1, talk=0))
    scene.double.before_request = lambda asked: pull.comment("bob", "late", path="crowd.py", line=1)
    pages = [len(api.json("/repos/acme/widget/pulls/2/comments", per_page=4, page=page)) for page in (1, 2, 3)]
    assert pages == [4, 4, 1]


def test_every_request_is_seen_before_it_is_answered_and_counted(scene: Scene, api: Api) -> None:
    seen: list[str] = []
    scene.double.before_request = lambda asked: seen.append(f"{asked.method} {asked.path}")
    api.get("/zen")
    api.data("{viewer{login}}")
    assert seen == ["GET /api/v3/zen", "POST /api/graphql"]
    assert (scene.double.requests.count(), scene.double.requests.count("GRAPHQL")) == (2, 1)


def test_a_failing_test_can_show_what_it_holds(scene: Scene) -> None:
    crowd(scene.repo)
    assert max(len(repr(one)) for one in (scene, *scene.pull.reviews, scene.repo.get_pull(2).threads[0])) < 1_000


def test_an_answer_takes_as_long_as_it_is_told(scene: Scene, api: Api) -> None:
    api.get("/zen")
    scene.double.latency = 0.03
    began = time.monotonic()
    api.json("/meta")
    assert 0.03 <= time.monotonic() - began < 5
