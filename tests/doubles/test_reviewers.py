"""Asking for reviews: who may be asked, and how the others are refused."""

from __future__ import annotations

import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.apps import InstallationHandle
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from tests.doubles.client import Api
from tests.doubles.receiver import Receiver

ASK = "/repos/acme/widget/pulls/1/requested_reviewers"
REQUEST = "mutation($p:ID!,$b:[ID!]){requestReviews(input:{pullRequestId:$p,botIds:$b,union:true}){clientMutationId}}"


def test_asking_answers_201_and_tells(github: GitHubDouble, alice: Api, pull: PullHandle, receiver: Receiver) -> None:
    answer = alice.post(ASK, {"reviewers": ["bob"]})
    assert answer.status_code == 201
    assert [one["login"] for one in answer.json()["requested_reviewers"]] == ["bob"]
    github.webhooks.wait()
    told = receiver.find("pull_request.review_requested")[0].said
    assert told["requested_reviewer"]["login"] == "bob"
    assert "requested_team" not in told


@pytest.mark.parametrize("login", ["alice", "stranger", "amends[bot]", "nobody-at-all"])
def test_whom_rest_refuses(
    github: GitHubDouble, installed: InstallationHandle, alice: Api, pull: PullHandle, login: str
) -> None:
    github.user("stranger")
    assert alice.post(ASK, {"reviewers": [login]}).status_code == 422


def test_one_bad_name_refuses_all(github: GitHubDouble, alice: Api, pull: PullHandle) -> None:
    github.user("stranger")
    assert alice.post(ASK, {"reviewers": ["bob", "stranger"]}).status_code == 422
    assert pull.waiting_for == []


def test_reading_a_public_repository_makes_nobody_a_collaborator(github: GitHubDouble) -> None:
    open_repo = github.repo("acme/open", private=False)
    pull = open_repo.pull("f", by="alice", files={"a": "b\n"})
    github.user("stranger")
    with Api(github, github.token("octocat")) as api:
        answer = api.post(f"/repos/acme/open/pulls/{pull.number}/requested_reviewers", {"reviewers": ["stranger"]})
    assert answer.status_code == 422


def test_who_may_only_read_can_be_asked(alice: Api, pull: PullHandle) -> None:
    assert alice.post(ASK, {"reviewers": ["rita"]}).status_code == 201


def test_a_review_of_any_kind_ends_the_request(pull: PullHandle) -> None:
    pull.request_review("bob")
    pull.review("bob", "commented", "Hm.")
    assert pull.waiting_for == []


def test_asking_again_while_waiting_tells_nobody(
    github: GitHubDouble, alice: Api, pull: PullHandle, receiver: Receiver
) -> None:
    alice.post(ASK, {"reviewers": ["bob"]})
    assert alice.post(ASK, {"reviewers": ["bob"]}).status_code == 201
    github.webhooks.wait()
    assert len(receiver.find("pull_request.review_requested")) == 1


def test_a_request_can_be_withdrawn(github: GitHubDouble, alice: Api, pull: PullHandle, receiver: Receiver) -> None:
    pull.request_review("bob")
    assert alice.send("DELETE", ASK, {"reviewers": ["bob"]}).status_code == 200
    github.webhooks.wait()
    assert pull.waiting_for == []
    assert len(receiver.find("pull_request.review_request_removed")) == 1


def test_teams_are_asked_by_their_slug(
    github: GitHubDouble, alice: Api, repo: RepositoryHandle, pull: PullHandle, receiver: Receiver
) -> None:
    repo.team("core", ["bob", "carol"])
    answer = alice.post(ASK, {"team_reviewers": ["core"]})
    assert [one["slug"] for one in answer.json()["requested_teams"]] == ["core"]
    github.webhooks.wait()
    told = receiver.find("pull_request.review_requested")[0].said
    assert (told["requested_team"]["slug"], "requested_reviewer" in told) == ("core", False)


def test_a_team_without_access_is_refused(alice: Api, pull: PullHandle) -> None:
    assert alice.post(ASK, {"team_reviewers": ["core"]}).status_code == 422


def test_a_bot_that_reviews_on_request_is_asked_by_graphql_only(
    github: GitHubDouble, alice: Api, pull: PullHandle
) -> None:
    copilot = github.bot("copilot-pull-request-reviewer", reviews_on_request=True)
    assert alice.post(ASK, {"reviewers": [copilot.login]}).status_code == 422
    alice.data(REQUEST, p=pull.node_id, b=[copilot.node])
    assert pull.waiting_for == [copilot.login]


def test_rest_never_lists_a_bot_that_is_asked_and_graphql_does(
    github: GitHubDouble, alice: Api, pull: PullHandle
) -> None:
    copilot = github.bot("copilot-pull-request-reviewer", reviews_on_request=True)
    alice.data(REQUEST, p=pull.node_id, b=[copilot.node])
    assert alice.json(ASK)["users"] == []
    said = alice.pull("reviewRequests(first:9){nodes{requestedReviewer{...on Bot{login}}}}")
    assert said["reviewRequests"]["nodes"] == [{"requestedReviewer": {"login": "copilot-pull-request-reviewer"}}]


def test_an_ordinary_bot_can_not_be_asked_at_all(
    github: GitHubDouble, installed: InstallationHandle, alice: Api, pull: PullHandle
) -> None:
    said = alice.graphql(REQUEST, p=pull.node_id, b=[github.user("amends[bot]").node])
    assert said["errors"][0]["type"] == "UNPROCESSABLE"
