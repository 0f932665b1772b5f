"""Driving the double from outside, and reading what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.double import GitHubDouble as Double
from tests.doubles.receiver import Receiver


class Outside:
    """Knows an address and nothing else."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=f"{url}/_double/", timeout=10)

    def do(self, verb: str, **said: object) -> Any:
        answer = self.http.post(verb, json=said)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def look(self, what: str) -> Any:
        return self.http.get(what).json()


@pytest.fixture
def outside(github: GitHubDouble) -> Iterator[Outside]:
    made = Outside(github.url)
    yield made
    made.http.close()


def test_a_whole_story_can_be_told_from_outside(github: GitHubDouble, outside: Outside) -> None:
    outside.do("repo", repo="acme/widget", files={"a.py": "1\n"}, collaborators={"bob": "write", "alice": "write"})
    outside.do("pull", repo="acme/widget", head="f", by="alice", files={"a.py": "2\n"}, title="Two")
    inline = [{"path": "a.py", "line": 1, "body": "Three?"}]
    made = outside.do(
        "review", repo="acme/widget", pull=1, by="bob", state="changes_requested", body="No.", comments=inline
    )
    outside.do("reply", repo="acme/widget", pull=1, thread=made["threads"][0], by="alice", body="Two.")
    outside.do("commit", repo="acme/widget", branch="f", files={"a.py": "3\n"}, by="alice")
    outside.do("resolve", repo="acme/widget", pull=1, thread=made["threads"][0], by="bob")
    said = outside.look("state")["repositories"]["acme/widget"]["issues"]["1"]
    assert [one["body"] for one in said["threads"][0]["comments"]] == ["Three?", "Two."]
    assert (said["threads"][0]["outdated"], said["threads"][0]["resolved_by"], said["heads"]) == (True, "bob", 2)


def test_what_was_said_can_be_taken_back_from_outside(outside: Outside, pull: PullHandle) -> None:
    about = {"repo": "acme/widget", "pull": 1}
    one = outside.do("comment", **about, by="bob", body="Hm.", path="app.py", line=10)
    other = outside.do("comment", **about, by="bob", body="Hm.")
    review = outside.do("review", **about, by="bob", state="changes_requested", body="No.")
    outside.do("edit", **about, id=one["id"], body="Hm?")
    outside.do("delete", **about, id=other["id"])
    outside.do("dismiss", **about, id=review["id"])
    said = outside.look("state")["repositories"]["acme/widget"]["issues"]["1"]
    assert [one["body"] for one in said["threads"][0]["comments"]] == ["Hm?"]
    assert (said["comments"], said["reviews"][-1]["state"]) == ([], "DISMISSED")


def test_webhooks_and_their_mishaps_can_be_set_from_outside(
    github: GitHubDouble, outside: Outside, pull: PullHandle
) -> None:
    with Receiver() as receiver:
        outside.do("webhook", url=receiver.url, secret="x")
        outside.do("mishap", event="issue_comment", lose=True)
        outside.do("comment", repo="acme/widget", pull=1, by="bob", body="lost")
        outside.do("comment", repo="acme/widget", pull=1, by="bob", body="found")
        github.webhooks.wait()
    assert [one.said["comment"]["body"] for one in receiver.arrived] == ["found"]
    assert [one["outcome"]["code"] for one in outside.look("deliveries")] == [0, 202]


def test_faults_can_be_set_from_outside(github: GitHubDouble, outside: Outside) -> None:
    outside.do("fault", method="GET", path="/zen", status=502)
    said = [httpx.get(f"{github.api_url}/zen").status_code for _ in range(2)]
    assert said == [502, 200]
    assert [one["status"] for one in outside.look("requests")] == said


def test_a_refusal_is_told_as_one(outside: Outside, pull: PullHandle) -> None:
    own = {"repo": "acme/widget", "pull": 1, "by": "alice", "state": "approved"}
    assert outside.http.post("review", json=own).status_code == 422
    assert outside.http.post("nonsense", json={}).status_code == 404
    assert outside.http.post("review", json={}).status_code == 400


def test_a_form_from_a_browser_is_not_taken(outside: Outside) -> None:
    assert outside.http.post("user", content="login=x", headers={"content-type": "text/plain"}).status_code == 415


def test_the_changes_of_a_pull_request(outside: Outside, pull: PullHandle) -> None:
    outside.do("change", repo="acme/widget", pull=1, draft=True, locked=True, label="bug", reviewers=["bob"])
    assert (pull.of.draft, pull.of.issue.locked, pull.labels, pull.waiting_for) == (True, True, ["bug"], ["bob"])
    outside.do("change", repo="acme/widget", pull=1, open=False)
    assert not pull.open


def test_an_app_can_be_made_and_installed_from_outside(github: GitHubDouble, outside: Outside) -> None:
    outside.do("repo", repo="acme/widget")
    made = outside.do("app", slug="amends")
    assert made["pem"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    number = outside.do("install", app="amends", account="acme", repositories=["acme/widget"])["id"]
    assert github.world.installations[number].app.id == made["id"]


def story(github: GitHubDouble) -> None:
    repo = github.repo("acme/widget", {"a.py": "1\n"})
    pull = repo.pull("f", by="alice", files={"a.py": "2\n"})
    review = pull.review("bob", "changes_requested", "No.", [{"path": "a.py", "line": 1, "body": "Three?"}])
    review.threads[0].reply("Yes.", by="alice")
    pull.say("carol", "Nice.")
    pull.label("bug")


def test_two_runs_of_one_story_are_equal(github: GitHubDouble) -> None:
    story(github)
    with Double() as other:
        other.clock.advance(86_400)
        story(other)
        assert other.dump() == github.dump()
        other.repo("acme/widget").get_pull(1).say("carol", "More.")
        assert other.dump() != github.dump()


def test_a_pull_request_can_be_looked_at_in_a_browser(github: GitHubDouble) -> None:
    pull = github.repo("acme/open", private=False).pull("f", by="alice", files={"a": "b\n"}, title="A letter")
    pull.review("bob", "changes_requested", "No.")
    page = httpx.get(f"{github.url}/acme/open/pull/1").text
    assert "acme/open#1 A letter [open]" in page
    assert "bob (changes requested):\n    No." in page


def test_a_mistake_of_the_double_is_loud() -> None:
    def mistaken() -> None:
        with Double() as double:
            double.faults.next("GET", "/zen", before=lambda: 1 / 0)
            assert httpx.get(f"{double.api_url}/zen").status_code == 500

    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        mistaken()


def test_what_is_said_wrongly_is_answered_with_what_there_is(outside: Outside) -> None:
    outside.http.post("repo", json={"repo": "acme/till", "files": {"a.py": "a"}})
    outside.http.post("pull", json={"repo": "acme/till", "head": "b", "by": "ann", "files": {"a.py": "b"}})
    said = {"repo": "acme/till", "pull": 1, "by": "ben", "state": "REQUEST_CHANGES"}
    unknown, missing = outside.http.post("review", json=said), outside.http.post("review", json={"repo": "acme/till"})
    assert "there is approved, changes_requested" in unknown.json()["message"]
    assert missing.json()["message"].startswith("pull: it is missing")
