"""Who may what: tokens, App keys, permissions, roles."""

from __future__ import annotations

import time

import jwt
import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.apps import AppHandle, InstallationHandle
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from amends.doubles.github.state.accounts import Role
from tests.doubles.client import Api, Ask

REPO = "/repos/acme/widget"


def signed(app: AppHandle, **claims: object) -> str:
    now = int(time.time())
    said = {"iat": now - 30, "exp": now + 540, "iss": str(app.id), **claims}
    return jwt.encode(said, app.pem, algorithm="RS256")


def test_a_bad_token_is_401_whatever_it_asks(api: Ask, repo: RepositoryHandle) -> None:
    answer = api("ghp_wrong").get("/user")
    assert (answer.status_code, answer.json()["message"]) == (401, "Bad credentials")


def test_a_token_that_was_taken_back_is_401(github: GitHubDouble, api: Ask, repo: RepositoryHandle) -> None:
    token = github.token("bob")
    asking = api(token)
    assert asking.get(REPO).status_code == 200
    github.revoke(token)
    assert asking.get(REPO).status_code == 401


def test_what_one_can_not_see_is_not_there(github: GitHubDouble, api: Ask, repo: RepositoryHandle) -> None:
    assert api(github.token("stranger")).get(REPO).status_code == 404
    assert api(None).get(REPO).status_code == 404


def test_a_request_without_an_agent_is_refused(alice: Api) -> None:
    del alice.http.headers["user-agent"]
    assert alice.get(REPO).status_code == 403


def test_an_unknown_version_of_the_api_is_refused(alice: Api) -> None:
    alice.http.headers["x-github-api-version"] = "1999-01-01"
    assert alice.get(REPO).status_code == 400


def test_an_app_knows_itself_by_its_key(api: Ask, app: AppHandle) -> None:
    assert api(signed(app)).json("/app")["slug"] == "amends"
    assert api(signed(app, iss=app.client_id)).json("/app")["id"] == app.id


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"exp": 3_000}, "too far in the future"),
        ({"exp": -10}, "'Expiration time' claim"),
        ({"iat": 600}, "'Issued at' claim"),
    ],
)
def test_a_key_is_held_to_its_times(api: Ask, app: AppHandle, claims: dict[str, int], words: str) -> None:
    now = int(time.time())
    answer = api(signed(app, **{name: now + seconds for name, seconds in claims.items()})).get("/app")
    assert answer.status_code == 401
    assert words in answer.json()["message"]


def test_a_key_of_an_app_that_is_not_there_opens_nothing(api: Ask, app: AppHandle) -> None:
    answer = api(signed(app, iss="4711")).get("/app")
    assert (answer.status_code, "Integration not found" in answer.json()["message"]) == (401, True)


def test_another_apps_key_opens_nothing(github: GitHubDouble, api: Ask, app: AppHandle) -> None:
    other = github.app("other")
    forged = jwt.encode({"iat": 0, "exp": int(time.time()) + 60, "iss": str(app.id)}, other.pem, algorithm="RS256")
    assert api(forged).get("/app").status_code == 401


def test_an_installation_token_lives_an_hour(
    github: GitHubDouble, api: Ask, app: AppHandle, installed: InstallationHandle
) -> None:
    answer = api(signed(app)).post(f"/app/installations/{installed.id}/access_tokens")
    assert answer.status_code == 201
    asking = api(answer.json()["token"])
    assert asking.get(REPO).status_code == 200
    github.clock.advance(3_601)
    assert asking.get(REPO).status_code == 401


def test_tokens_may_be_long_and_hold_dots_and_hyphens(installed: InstallationHandle) -> None:
    token = installed.token()
    assert 450 < len(token) < 600
    assert "." in token


def test_a_token_is_narrowed_to_repositories(
    github: GitHubDouble, api: Ask, app: AppHandle, repo: RepositoryHandle
) -> None:
    other = github.repo("acme/other")
    both = app.install("acme")
    path = f"/app/installations/{both.id}/access_tokens"
    narrow = api(api(signed(app)).post(path, {"repositories": ["widget"]}).json()["token"])
    assert (narrow.get(REPO).status_code, narrow.get("/repos/acme/other").status_code) == (200, 404)
    assert [one["name"] for one in narrow.json("/installation/repositories")["repositories"]] == ["widget"]
    by_id = api(api(signed(app)).post(path, {"repository_ids": [other.id]}).json()["token"])
    assert by_id.get("/repos/acme/other").status_code == 200


def test_a_token_for_what_is_not_installed_is_refused(
    github: GitHubDouble, api: Ask, app: AppHandle, installed: InstallationHandle
) -> None:
    github.repo("acme/other")
    path = f"/app/installations/{installed.id}/access_tokens"
    assert api(signed(app)).post(path, {"repositories": ["other"]}).status_code == 422


def test_a_token_is_narrowed_to_permissions_and_never_widened(
    api: Ask, app: AppHandle, installed: InstallationHandle, pull: PullHandle
) -> None:
    path = f"/app/installations/{installed.id}/access_tokens"
    asking = api(signed(app))
    narrow = api(asking.post(path, {"permissions": {"pull_requests": "read"}}).json()["token"])
    refused = narrow.post(f"{REPO}/issues/1/comments", {"body": "hm"})
    assert (refused.status_code, refused.json()["message"]) == (403, "Resource not accessible by integration")
    assert asking.post(path, {"permissions": {"administration": "write"}}).status_code == 422


def test_tokens_keep_what_they_had_when_an_installation_changes(
    api: Ask, installed: InstallationHandle, pull: PullHandle
) -> None:
    before = installed.token()
    installed.permit(pull_requests="none", issues="none")
    said = [api(token).post(f"{REPO}/issues/1/comments", {"body": "hm"}) for token in (before, installed.token())]
    assert [one.status_code for one in said] == [201, 403]


def test_an_app_talks_in_pull_requests_with_either_permission(
    api: Ask, installed: InstallationHandle, pull: PullHandle
) -> None:
    for area in ("issues", "pull_requests"):
        asking = api(installed.token(None, {area: "write"}))
        assert asking.post(f"{REPO}/issues/1/comments", {"body": area}).status_code == 201


def test_what_an_app_says_names_the_app_in_the_conversation_only(
    api: Ask, installed: InstallationHandle, pull: PullHandle
) -> None:
    asking = api(installed.token())
    said = asking.post(f"{REPO}/issues/1/comments", {"body": "hm"}).json()
    assert (said["user"]["login"], said["user"]["type"]) == ("amends[bot]", "Bot")
    assert said["performed_via_github_app"]["slug"] == "amends"
    place = {"body": "hm", "path": "app.py", "line": 10, "commit_id": pull.head}
    assert "performed_via_github_app" not in asking.post(f"{REPO}/pulls/1/comments", place).json()


def test_a_bot_has_no_suffix_in_graphql(api: Ask, installed: InstallationHandle, pull: PullHandle) -> None:
    pull.say("amends[bot]", "hm")
    said = api(installed.token()).pull("comments(first:1){nodes{author{__typename login ...on Bot{databaseId}}}}")
    author = said["comments"]["nodes"][0]["author"]
    assert (author["__typename"], author["login"]) == ("Bot", "amends")


def test_an_uninstalled_app_loses_its_tokens_at_once(api: Ask, app: AppHandle, installed: InstallationHandle) -> None:
    asking = api(installed.token())
    installed.uninstall()
    assert asking.get(REPO).status_code == 401
    path = f"/app/installations/{installed.id}/access_tokens"
    assert api(signed(app)).post(path).status_code == 404


def test_a_suspended_installation_is_refused(api: Ask, app: AppHandle, installed: InstallationHandle) -> None:
    asking = api(installed.token())
    installed.suspend()
    assert asking.get(REPO).status_code == 403
    assert api(signed(app)).post(f"/app/installations/{installed.id}/access_tokens").status_code == 403


def test_a_repository_taken_out_of_an_installation_is_gone(
    api: Ask, installed: InstallationHandle, repo: RepositoryHandle
) -> None:
    asking = api(installed.token())
    installed.remove(repo)
    assert asking.get(REPO).status_code == 404


@pytest.mark.parametrize(
    ("role", "legacy"),
    [
        ("admin", "admin"),
        ("maintain", "write"),
        ("write", "write"),
        ("triage", "read"),
        ("read", "read"),
        ("none", "none"),
    ],
)
def test_permission_is_told_in_four_words_and_the_role_beside_it(
    github: GitHubDouble, repo: RepositoryHandle, alice: Api, role: Role, legacy: str
) -> None:
    github.user("carol")
    repo.collaborator("carol", role)
    said = alice.json(f"{REPO}/collaborators/carol/permission")
    assert (said["permission"], said["role_name"]) == (legacy, role)


def test_a_bot_has_no_permission_to_ask_for(alice: Api, installed: InstallationHandle) -> None:
    answer = alice.get(f"{REPO}/collaborators/amends[bot]/permission")
    assert (answer.status_code, answer.json()["message"]) == (404, "amends[bot] is not a user")


def test_a_team_gives_its_role(github: GitHubDouble, repo: RepositoryHandle, alice: Api) -> None:
    repo.team("core", ["carol"], "maintain")
    assert alice.json(f"{REPO}/collaborators/carol/permission")["role_name"] == "maintain"


def test_an_association_says_nothing_about_access(github: GitHubDouble, alice: Api, pull: PullHandle) -> None:
    github.organization("acme", "mia")
    pull.say("mia", "I am a member")
    assert alice.json(f"{REPO}/issues/1/comments")[0]["author_association"] == "MEMBER"
    assert alice.json(f"{REPO}/collaborators/mia/permission")["permission"] == "read"


def test_the_same_login_may_be_another_account_later(github: GitHubDouble, alice: Api, repo: RepositoryHandle) -> None:
    repo.collaborator("carol", "write")
    before = alice.json("/users/carol")["id"]
    github.delete_user("carol")
    github.user("carol")
    assert alice.json("/users/carol")["id"] != before
    assert alice.json(f"{REPO}/collaborators/carol/permission")["permission"] == "none"
