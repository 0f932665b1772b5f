"""The double's REST API is GitHub's: its routes, its answers, and what may be sent to it."""

from __future__ import annotations

from collections import Counter

from amends.doubles.github import GitHubDouble
from amends.doubles.github.http import json_reply
from tests.contract.descriptions import Descriptions
from tests.contract.routes import all_routes, routes
from tests.contract.tour import Toured
from tests.doubles.client import Api


def test_every_route_is_one_of_githubs(descriptions: Descriptions) -> None:
    described = descriptions.openapi.spec / "paths"
    strangers = [
        f"{method} {path}"
        for path, methods in all_routes().items()
        for method in methods
        if path not in described or method.lower() not in described / path
    ]
    assert strangers == []


def test_every_route_was_visited_and_answered(toured: Toured) -> None:
    good = Counter(one.operation for one in toured.github.requests.find() if one.status < 300)
    routes = {f"{method} {path}" for path, methods in all_routes().items() for method in methods}
    assert routes - good.keys() == set()
    assert len(routes) >= 110


def test_no_request_and_no_answer_was_other_than_described(toured: Toured) -> None:
    assert [one for one in toured.github.violations if "told" not in one] == []
    assert toured.github.requests.crashes == toured.github.requests.unknown == []


def test_a_request_that_github_would_not_understand_is_noticed(github: GitHubDouble) -> None:
    github.repo("acme/widget", {"a": "1\n"}).pull("f", by="alice", files={"a": "2\n"})
    with Api(github, github.token("octocat")) as api:
        api.post("/repos/acme/widget/issues/1/reactions", {"content": "eyes"})
        assert github.violations == []
        api.post("/repos/acme/widget/issues/1/comments", {"body": "hm", "in_reply_to": 5})
        api.get("/repos/acme/widget/pulls", state="open", per_page="many")
    assert [one.split(":")[0] for one in github.violations] == [
        "asked GET /repos/{owner}/{repo}/pulls",
    ]


def test_an_answer_that_github_would_not_give_is_noticed(descriptions: Descriptions, toured: Toured) -> None:
    asked = toured.github.requests.find("GET", "/user")[-1].request
    found = routes().find("GET", "/user")
    assert found is not None
    assert descriptions.rest(asked, "/user", found[0], json_reply(200, {"login": 1})) != []
