"""Git over HTTP: the real git against the double, with tokens, permissions and protections."""

from __future__ import annotations

from pathlib import Path

import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.apps import InstallationHandle
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from tests.doubles.client import Api, Git
from tests.doubles.receiver import Receiver
from tests.support.github import LINES


@pytest.fixture
def clone(github: GitHubDouble, tmp_path: Path, pull: PullHandle) -> Git:
    """Alice's, at the head of her pull request."""
    made = Git(tmp_path / "clone", pull.repo.clone_url, github.token("alice"))
    made.fetch("feature")
    return made


def test_a_push_moves_the_head_and_tells_so(
    github: GitHubDouble, clone: Git, pull: PullHandle, receiver: Receiver
) -> None:
    before = pull.head
    sha = clone.commit("new.py", "a = 1\n")
    assert clone.push("refs/heads/feature").returncode == 0
    github.webhooks.wait()
    told = receiver.find("pull_request.synchronize")[0].said
    assert (told["before"], told["after"], pull.head) == (before, sha, sha)
    assert (told["pull_request"]["head"]["sha"], told["sender"]["login"]) == (sha, "alice")


def test_a_push_outdates_comments(clone: Git, pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    clone.commit("app.py", LINES)
    clone.push("refs/heads/feature")
    assert thread.outdated


def test_a_lease_on_what_was_seen_refuses_a_moved_branch(clone: Git, pull: PullHandle) -> None:
    seen = pull.head
    pull.push({"b.py": "b\n"}, by="bob")
    clone.commit("new.py", "a = 1\n")
    done = clone.push("refs/heads/feature", f"--force-with-lease=refs/heads/feature:{seen}")
    assert (done.returncode, "stale info" in done.stdout) == (1, True)


def test_a_plain_push_behind_the_branch_is_refused(clone: Git, pull: PullHandle) -> None:
    pull.push({"b.py": "b\n"}, by="bob")
    clone.commit("new.py", "a = 1\n")
    done = clone.push("refs/heads/feature")
    assert (done.returncode, "fetch first" in done.stdout) == (1, True)


def test_a_force_push_is_told_as_forced(github: GitHubDouble, clone: Git, pull: PullHandle, receiver: Receiver) -> None:
    clone.run("reset", "--quiet", "--hard", "HEAD~1")
    clone.commit("other.py", "x\n")
    assert clone.push("refs/heads/feature", "--force").returncode == 0
    github.webhooks.wait()
    assert receiver.find("push")[0].said["forced"] is True
    assert len(pull.of.heads) == 2


def test_a_protected_branch_is_refused_with_gh006(clone: Git, repo: RepositoryHandle) -> None:
    repo.protect(approvals=1)
    before = repo.branches["main"]
    done = clone.push("refs/heads/main")
    assert done.returncode == 1
    assert "[remote rejected]" in done.stdout
    assert "GH006: Protected branch update failed for refs/heads/main" in done.stderr
    assert repo.branches["main"] == before


@pytest.mark.parametrize("login", ["rita", "stranger"])
def test_who_may_not_write_may_not_push(github: GitHubDouble, tmp_path: Path, pull: PullHandle, login: str) -> None:
    public = github.repo("acme/open", {"a": "b\n"}, private=False)
    public.collaborator("rita", "read")
    clone = Git(tmp_path / "clone", public.clone_url, github.token(login))
    clone.fetch("main")
    clone.commit("x", "y\n")
    done = clone.push("refs/heads/topic")
    assert done.returncode == 128
    assert "403" in done.stderr


def test_a_wrong_token_can_not_even_read(github: GitHubDouble, tmp_path: Path, pull: PullHandle) -> None:
    clone = Git(tmp_path / "clone", pull.repo.clone_url, "ghp_wrong")
    done = clone.try_to("fetch", clone.url)
    assert (done.returncode, "Authentication failed" in done.stderr) == (128, True)


def test_a_private_repository_asks_nobody_in(tmp_path: Path, pull: PullHandle) -> None:
    clone = Git(tmp_path / "clone", pull.repo.clone_url, None)
    assert clone.try_to("fetch", clone.url).returncode == 128


def test_an_app_pushes_with_contents_write_only(
    github: GitHubDouble, tmp_path: Path, installed: InstallationHandle, pull: PullHandle
) -> None:
    reading = Git(tmp_path / "r", pull.repo.clone_url, installed.token(None, {"contents": "read"}))
    reading.fetch("feature")
    reading.commit("x", "y\n")
    assert reading.push("refs/heads/feature").returncode == 128
    writing = Git(tmp_path / "w", pull.repo.clone_url, installed.token())
    writing.fetch("feature")
    sha = writing.commit("x", "y\n")
    assert writing.push("refs/heads/feature").returncode == 0
    assert pull.head == sha


def test_an_app_without_the_permission_touches_no_workflow(
    tmp_path: Path, installed: InstallationHandle, pull: PullHandle
) -> None:
    clone = Git(tmp_path / "clone", pull.repo.clone_url, installed.token())
    clone.fetch("feature")
    clone.commit(".github/workflows/ci.yml", "on: push\n")
    done = clone.push("refs/heads/feature")
    assert done.returncode == 1
    assert "without `workflows` permission" in done.stderr


def test_what_a_workflow_pushes_starts_no_checks(
    github: GitHubDouble, tmp_path: Path, repo: RepositoryHandle, pull: PullHandle
) -> None:
    repo.jobs(build="success")
    clone = Git(tmp_path / "clone", repo.clone_url, github.workflow_token(repo))
    clone.fetch("feature")
    clone.commit("x", "y\n")
    assert clone.push("refs/heads/feature").returncode == 0
    assert repo.of.suites == []


def test_a_fork_that_says_yes_refuses(github: GitHubDouble, tmp_path: Path, repo: RepositoryHandle) -> None:
    fork = repo.fork("stranger", refuses_pushes=True)
    pull = repo.pull("topic", by="stranger", files={"a": "b\n"}, source=fork, maintainer_can_modify=True)
    clone = Git(tmp_path / "clone", fork.clone_url, github.token("octocat"))
    assert pull.of.maintainer_can_modify
    assert clone.try_to("push", clone.url, "HEAD:refs/heads/topic").returncode != 0


def test_a_head_in_a_fork_can_be_fetched_from_the_base(
    github: GitHubDouble, tmp_path: Path, repo: RepositoryHandle, bob: Api
) -> None:
    fork = repo.fork("stranger")
    pull = repo.pull("topic", by="stranger", files={"a": "b\n"}, source=fork)
    clone = Git(tmp_path / "clone", repo.clone_url, github.token("bob"))
    clone.fetch(f"refs/pull/{pull.number}/head")
    assert clone.run("rev-parse", "HEAD").strip() == pull.head
    said = bob.json(f"/repos/acme/widget/pulls/{pull.number}")
    assert (said["head"]["repo"]["full_name"], said["head"]["label"]) == ("stranger/widget", "stranger:topic")


def test_a_deleted_branch_closes_its_pull_request(
    github: GitHubDouble, clone: Git, pull: PullHandle, receiver: Receiver
) -> None:
    assert clone.try_to("push", clone.url, ":refs/heads/feature").returncode == 0
    github.webhooks.wait()
    assert not pull.open
    assert receiver.find("pull_request.closed")[0].said["pull_request"]["merged"] is False


def test_a_branch_deleted_on_the_page_does_so_too_and_reopens_when_it_is_back(pull: PullHandle) -> None:
    head = pull.head
    pull.repo.delete_branch("feature")
    assert not pull.open
    pull.repo.point("feature", head)
    pull.reopen()
    assert (pull.open, pull.head) == (True, head)


def test_a_push_that_holds_the_head_merges_the_pull_request(clone: Git, pull: PullHandle) -> None:
    assert clone.push("refs/heads/main").returncode == 0
    assert pull.merged


def test_a_renamed_repository_redirects_git(clone: Git, pull: PullHandle, repo: RepositoryHandle) -> None:
    repo.rename("gadget")
    sha = clone.commit("x", "y\n")
    assert clone.push("refs/heads/feature").returncode == 0
    assert pull.head == sha


def test_an_answer_that_is_lost_leaves_the_push_done(github: GitHubDouble, clone: Git, pull: PullHandle) -> None:
    github.faults.next("POST", "git-receive-pack", status=502, stored=True)
    sha = clone.commit("x", "y\n")
    assert clone.push("refs/heads/feature").returncode != 0
    assert pull.head == sha


def test_a_big_push_arrives_in_chunks(clone: Git, pull: PullHandle) -> None:
    clone.run("config", "http.postBuffer", "1000")
    sha = clone.commit("big.txt", "".join(f"{n * 7919}\n" for n in range(30_000)))
    assert clone.push("refs/heads/feature").returncode == 0
    assert pull.head == sha


def test_a_shallow_clone_works_and_any_commit_can_be_fetched(
    github: GitHubDouble, tmp_path: Path, pull: PullHandle
) -> None:
    first = pull.head
    pull.push({"a": "b\n"}, by="alice")
    clone = Git(tmp_path / "shallow", pull.repo.clone_url, github.token("bob"))
    clone.run("fetch", "--quiet", "--depth=1", clone.url, first)
    assert clone.run("rev-parse", "FETCH_HEAD").strip() == first


def test_nobody_writes_to_the_refs_of_pull_requests(clone: Git) -> None:
    clone.commit("x", "y\n")
    done = clone.push("refs/pull/1/head")
    assert "deny updating a hidden ref" in done.stderr + done.stdout
