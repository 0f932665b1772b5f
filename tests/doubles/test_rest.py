"""Lists, pages, commits, contents and the rest of REST."""

from __future__ import annotations

from base64 import b64decode

import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle, Rule
from tests.doubles.client import Api, Ask
from tests.support.github import LINES

REPO = "/repos/acme/widget"
SAY = f"{REPO}/issues/1/comments"


def followed(api: Api, path: str, **query: object) -> list[str]:
    """The bodies of all pages, as the links lead."""
    answer = api.get(path, **query)
    found = answer.json()
    while "next" in answer.links:
        answer = api.http.get(answer.links["next"]["url"])
        found += answer.json()
    return [one["body"] for one in found]


def test_a_page_has_30_unless_asked_and_100_at_most(bob: Api, pull: PullHandle) -> None:
    [pull.say("bob", str(n)) for n in range(120)]
    assert len(bob.json(SAY)) == 30
    assert len(bob.json(SAY, per_page=1000)) == 100


def test_links_lead_through_all_pages(bob: Api, pull: PullHandle) -> None:
    [pull.say("bob", str(n)) for n in range(25)]
    assert followed(bob, SAY, per_page=10) == [str(n) for n in range(25)]
    assert bob.get(SAY, per_page=10).links["last"]["url"].endswith("page=3")
    assert "link" not in bob.get(SAY, per_page=100).headers


def test_links_go_by_the_number_and_survive_a_rename(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    [pull.say("bob", str(n)) for n in range(3)]
    link = bob.get(SAY, per_page=2).links["next"]["url"]
    assert f"/repositories/{repo.id}/" in link
    repo.rename("gadget")
    assert bob.http.get(link).json()[0]["body"] == "2"


def test_pages_shift_when_something_before_them_is_deleted(bob: Api, pull: PullHandle) -> None:
    said = [pull.say("bob", str(n)) for n in range(4)]
    first = bob.json(SAY, per_page=2)
    said[0].delete()
    assert [one["body"] for one in first + bob.json(SAY, per_page=2, page=2)] == ["0", "1", "3"]


def test_a_former_name_redirects_to_the_number(bob: Api, repo: RepositoryHandle) -> None:
    repo.rename("gadget")
    answer = bob.get(REPO)
    assert answer.status_code == 301
    assert answer.headers["location"].endswith(f"/repositories/{repo.id}")
    assert bob.http.get(answer.headers["location"]).json()["full_name"] == "acme/gadget"
    assert bob.post(f"{REPO}/issues", {"title": "x"}).status_code == 307


def test_a_transferred_repository_leaves_its_installation(
    github: GitHubDouble, repo: RepositoryHandle, api: Ask
) -> None:
    installed = github.app("amends").install("acme")
    asking = api(installed.token())
    repo.transfer("globex")
    assert asking.get(f"/repositories/{repo.id}").status_code == 404
    assert repo.name == "globex/widget"


def test_files_of_a_pull_request_have_real_patches(bob: Api, pull: PullHandle) -> None:
    pull.push({"app.py": None, "moved.py": LINES.replace("line 10\n", "line ten\n"), "new.bin": b"\0\1"}, by="alice")
    said = {one["filename"]: one for one in bob.json(f"{REPO}/pulls/1/files")}
    assert (said["moved.py"]["status"], said["moved.py"]["previous_filename"]) == ("renamed", "app.py")
    assert "+line ten" in said["moved.py"]["patch"]
    assert "patch" not in said["new.bin"]


def test_a_pull_request_counts_what_it_changes(bob: Api, pull: PullHandle) -> None:
    said = bob.json(f"{REPO}/pulls/1")
    assert (said["commits"], said["additions"], said["deletions"], said["changed_files"]) == (1, 1, 1, 1)


def test_a_diff_can_be_had_as_text(bob: Api, pull: PullHandle) -> None:
    answer = bob.http.get(f"{REPO}/pulls/1", headers={"accept": "application/vnd.github.diff"})
    assert answer.text.startswith("diff --git a/app.py b/app.py")


def test_a_comparison_starts_where_the_branches_parted(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.commit("main", {"other.py": "x\n"})
    said = bob.json(f"{REPO}/compare/main...feature")
    assert (said["status"], said["ahead_by"], said["behind_by"]) == ("diverged", 1, 1)
    assert [one["filename"] for one in said["files"]] == ["app.py"]


def test_a_file_can_be_read_from_a_branch(bob: Api, repo: RepositoryHandle) -> None:
    repo.commit("main", {".github/amends.yml": "enabled: true\n"})
    said = bob.json(f"{REPO}/contents/.github/amends.yml", ref="main")
    assert b64decode(said["content"]) == b"enabled: true\n"
    assert bob.get(f"{REPO}/contents/.github/none.yml").status_code == 404
    raw = bob.http.get(f"{REPO}/contents/.github/amends.yml", headers={"accept": "application/vnd.github.raw+json"})
    assert raw.text == "enabled: true\n"


def test_a_conflict_makes_it_dirty(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.commit("main", {"app.py": LINES.replace("line 10\n", "line X\n")})
    said = bob.json(f"{REPO}/pulls/1")
    assert (said["mergeable"], said["mergeable_state"]) == (False, "dirty")


@pytest.mark.parametrize("rule", [Rule(checks=("ci",)), Rule(resolve_conversations=True), Rule(approvals=1)])
def test_what_a_protection_asks_for_blocks_a_merge(
    bob: Api, repo: RepositoryHandle, pull: PullHandle, rule: Rule
) -> None:
    repo.protect(**rule)
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    assert bob.json(f"{REPO}/pulls/1")["mergeable_state"] == "blocked"
    assert bob.send("PUT", f"{REPO}/pulls/1/merge").status_code == 405
    thread.resolve("alice")
    pull.status("ci", "success")
    pull.review("bob", "approved")
    assert bob.send("PUT", f"{REPO}/pulls/1/merge").json()["merged"] is True


def test_a_merge_asks_for_the_head_that_was_seen(bob: Api, pull: PullHandle) -> None:
    seen = pull.head
    pull.push({"a": "b\n"}, by="alice")
    assert bob.send("PUT", f"{REPO}/pulls/1/merge", {"sha": seen}).status_code == 409


def test_lists_are_filtered_and_sorted(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    other = repo.pull("second", by="bob", files={"x": "y\n"})
    other.close()
    assert [one["number"] for one in bob.json(f"{REPO}/pulls")] == [1]
    assert [one["number"] for one in bob.json(f"{REPO}/pulls", state="all")] == [2, 1]
    assert [one["number"] for one in bob.json(f"{REPO}/pulls", head="acme:feature")] == [1]


def test_labels_are_made_when_first_used(alice: Api, pull: PullHandle) -> None:
    assert alice.post(f"{REPO}/issues/1/labels", {"labels": ["human review"]}).status_code == 200
    assert pull.labels == ["human review"]
    assert alice.send("DELETE", f"{REPO}/issues/1/labels/human review").status_code == 200
    assert alice.send("DELETE", f"{REPO}/issues/1/labels/human review").status_code == 404


def test_a_reaction_is_given_once(bob: Api, pull: PullHandle) -> None:
    comment = pull.say("alice", "hm")
    path = f"{REPO}/issues/comments/{comment.id}/reactions"
    assert [bob.post(path, {"content": "eyes"}).status_code for _ in range(2)] == [201, 200]
    assert comment.reactions == [("bob", "eyes")]


def test_the_combined_status_is_pending_where_there_is_none(bob: Api, pull: PullHandle) -> None:
    said = bob.json(f"{REPO}/commits/{pull.head}/status")
    assert (said["state"], said["total_count"]) == ("pending", 0)
    assert bob.pull("statusCheckRollup{state}")["statusCheckRollup"] is None


def test_runs_of_one_name_are_listed_once_unless_asked(bob: Api, pull: PullHandle) -> None:
    pull.check("build", "failure")
    pull.check("build", "success")
    path = f"{REPO}/commits/{pull.head}/check-runs"
    assert [one["conclusion"] for one in bob.json(path)["check_runs"]] == ["success"]
    assert [one["conclusion"] for one in bob.json(path, filter="all")["check_runs"]] == ["success", "failure"]


def test_checks_run_on_what_is_pushed_unless_it_conflicts(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.jobs(build="success")
    pull.push({"a": "1\n"}, by="alice")
    assert bob.json(f"{REPO}/commits/{pull.head}/check-runs")["total_count"] == 1
    repo.commit("main", {"app.py": LINES.replace("line 10\n", "line X\n")})
    pull.push({"a": "2\n"}, by="alice")
    assert bob.json(f"{REPO}/commits/{pull.head}/check-runs")["total_count"] == 0


def test_a_required_check_says_so_for_its_pull_request(bob: Api, repo: RepositoryHandle, pull: PullHandle) -> None:
    repo.protect(checks=("build",))
    pull.check("build", "failure")
    pull.check("lint", "failure")
    said = bob.pull(
        "statusCheckRollup{state contexts(first:9){nodes{...on CheckRun{name isRequired(pullRequestNumber:1)}}}}"
    )["statusCheckRollup"]
    required = {one["name"]: one["isRequired"] for one in said["contexts"]["nodes"]}
    assert (said["state"], required) == ("FAILURE", {"build": True, "lint": False})


def test_a_renamed_branch_takes_its_base_along_and_closes_its_own(
    github: GitHubDouble, bob: Api, repo: RepositoryHandle, pull: PullHandle
) -> None:
    repo.rename_branch("main", "trunk")
    assert bob.json(f"{REPO}/pulls/1")["base"]["ref"] == "trunk"
    repo.rename_branch("feature", "other")
    assert not pull.open


def test_a_deleted_fork_leaves_no_head_repository(bob: Api, repo: RepositoryHandle) -> None:
    fork = repo.fork("stranger")
    pull = repo.pull("topic", by="stranger", files={"a": "b\n"}, source=fork)
    fork.delete()
    said = bob.json(f"{REPO}/pulls/{pull.number}")
    assert (said["head"]["repo"], said["state"]) == (None, "closed")


def test_the_api_lives_under_its_prefix_only(github: GitHubDouble, bob: Api, pull: PullHandle) -> None:
    assert bob.http.get(f"{github.url}{REPO}").status_code == 404
    assert github.api_url.endswith("/api/v3")
    assert github.graphql_url.endswith("/api/graphql")


def test_the_api_may_live_at_the_root() -> None:
    with GitHubDouble(prefix="") as github, Api(github, github.token("octocat")) as api:
        github.repo("acme/widget")
        assert api.json("/repos/acme/widget")["full_name"] == "acme/widget"
        assert (github.api_url, github.graphql_url) == (github.url, f"{github.url}/graphql")
        assert api.data("{viewer{login}}") == {"viewer": {"login": "octocat"}}


def test_a_head_in_a_fork_has_checks_of_no_pull_request_and_no_branch(bob: Api, repo: RepositoryHandle) -> None:
    fork = repo.fork("stranger")
    pull = repo.pull("topic", by="stranger", files={"a": "b\n"}, source=fork)
    pull.check("build", "success")
    said = bob.json(f"{REPO}/commits/{pull.head}/check-suites")["check_suites"][0]
    assert (said["pull_requests"], said["head_branch"]) == ([], None)


def test_only_a_pull_requests_conversation_says_it_is_one(
    github: GitHubDouble, bob: Api, repo: RepositoryHandle, pull: PullHandle
) -> None:
    issue = repo.issue("A question", by="bob")
    assert "pull_request" not in bob.json(f"{REPO}/issues/{issue.number}")
    assert "pull_request" in bob.json(f"{REPO}/issues/1")


def test_a_label_has_an_address_whatever_it_is_called(bob: Api, pull: PullHandle) -> None:
    pull.label("amends: on hold", "h\u00f6her/weiter")
    urls = [one["url"].partition("/labels/")[2] for one in bob.json(f"{REPO}/issues/1/labels")]
    assert urls == ["amends:%20on%20hold", "h%C3%B6her%2Fweiter"]


@pytest.mark.parametrize("sha", ["0", "-x", "f" * 40])
def test_a_tree_that_is_none_is_not_found(bob: Api, pull: PullHandle, sha: str) -> None:
    assert bob.get(f"{REPO}/git/trees/{sha}").status_code == 404


def test_what_the_double_lacks_is_remembered(github: GitHubDouble, bob: Api) -> None:
    assert bob.get("/gists").status_code == 404
    assert github.requests.unknown == ["GET /gists"]
