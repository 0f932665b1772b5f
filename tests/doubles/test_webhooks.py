"""How events are told: signed, numbered, and with every way of going astray."""

from __future__ import annotations

import json
import time
from urllib.parse import parse_qs

import jwt

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.apps import AppHandle, InstallationHandle
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from tests.doubles.client import Api, Ask
from tests.doubles.receiver import Receiver

SAID = "issue_comment.created"


def bodies(receiver: Receiver) -> list[str]:
    return [one.said["comment"]["body"] for one in receiver.find(SAID)]


def test_a_delivery_is_signed_over_its_bytes(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    pull.say("bob", "Grüße \N{WAVING HAND SIGN}")
    github.webhooks.wait()
    told = receiver.find(SAID)[0]
    assert told.signed_with("shh")
    assert not told.signed_with("other")
    assert told.headers["user-agent"].startswith("GitHub-Hookshot/")


def test_a_delivery_names_its_hook(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    pull.say("bob", "hm")
    github.webhooks.wait()
    headers = receiver.find(SAID)[0].headers
    assert len(headers["x-github-delivery"]) == 36
    assert headers["x-github-hook-id"] == str(github.world.hooks[0].id)
    assert "x-github-hook-installation-target-id" in headers


def test_an_app_hears_of_what_it_is_installed_on_only(
    github: GitHubDouble, app: AppHandle, installed: InstallationHandle, pull: PullHandle
) -> None:
    other = github.repo("acme/other").pull("f", by="alice", files={"a": "b\n"})
    with Receiver() as own:
        github.webhooks.to(own.url, "app secret", app)
        pull.say("bob", "here")
        other.say("bob", "there")
        github.webhooks.wait()
    assert bodies(own) == ["here"]
    assert own.arrived[0].said["installation"]["id"] == installed.id
    assert own.arrived[0].headers["x-github-hook-installation-target-type"] == "integration"


def test_a_hook_hears_of_the_events_it_asked_for(github: GitHubDouble, pull: PullHandle) -> None:
    with Receiver() as own:
        github.webhooks.to(own.url, "x", events=("pull_request",))
        pull.say("bob", "hm")
        pull.label("bug")
        github.webhooks.wait()
    assert own.names == ["pull_request.labeled"]


def test_events_of_one_story_come_in_order(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    for n in range(20):
        pull.say("bob", str(n))
    github.webhooks.wait()
    assert bodies(receiver) == [str(n) for n in range(20)]


def test_a_dropped_one_never_arrives_and_is_listed_as_failed(
    github: GitHubDouble, pull: PullHandle, receiver: Receiver
) -> None:
    github.webhooks.drop("issue_comment")
    pull.say("bob", "lost")
    pull.say("bob", "found")
    github.webhooks.wait()
    assert bodies(receiver) == ["found"]
    outcome = github.webhooks.find("issue_comment")[0].outcome
    assert outcome is not None
    assert outcome.code == 0


def test_copies_have_the_same_delivery_id_or_new_ones(
    github: GitHubDouble, pull: PullHandle, receiver: Receiver
) -> None:
    github.webhooks.duplicate("issue_comment", copies=50)
    pull.say("bob", "often")
    github.webhooks.wait()
    assert len({one.delivery for one in receiver.find(SAID)}) == 1
    github.webhooks.duplicate("issue_comment", copies=2, new_ids=True)
    pull.say("bob", "again")
    github.webhooks.wait()
    assert (len(receiver.find(SAID)), len({one.delivery for one in receiver.find(SAID)})) == (54, 4)


def test_a_delayed_one_arrives_after_later_ones(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    github.webhooks.delay(0.1, "issue_comment")
    pull.say("bob", "first")
    pull.say("bob", "second")
    github.webhooks.wait()
    assert bodies(receiver) == ["second", "first"]


def test_what_is_held_is_released_backwards(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    github.webhooks.hold()
    for n in range(3):
        pull.say("bob", str(n))
    github.webhooks.release(backwards=True)
    github.webhooks.wait()
    assert bodies(receiver) == ["2", "1", "0"]


def test_a_disorder_is_the_same_for_the_same_seed(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    with github.webhooks.reordered(seed=7):
        [pull.say("bob", str(n)) for n in range(9)]
    github.webhooks.wait()
    first = bodies(receiver)
    receiver.clear()
    with github.webhooks.reordered(seed=7):
        [pull.say("bob", str(n)) for n in range(9)]
    github.webhooks.wait()
    assert first == bodies(receiver) != sorted(first)


def test_a_redelivery_keeps_its_id_and_a_replay_does_not(
    github: GitHubDouble, pull: PullHandle, receiver: Receiver
) -> None:
    pull.say("bob", "hm")
    github.webhooks.wait()
    told = github.webhooks.find("issue_comment")[0]
    github.webhooks.redeliver(told)
    github.webhooks.replay(told)
    github.webhooks.wait()
    first, again, replayed = receiver.find(SAID)
    assert first.delivery == again.delivery != replayed.delivery
    assert first.body == again.body == replayed.body


def test_an_app_finds_what_failed_and_asks_for_it_again(
    github: GitHubDouble, app: AppHandle, installed: InstallationHandle, pull: PullHandle, api: Ask
) -> None:
    now = int(time.time())
    asking = api(jwt.encode({"iat": now, "exp": now + 60, "iss": str(app.id)}, app.pem, algorithm="RS256"))
    with Receiver() as own:
        github.webhooks.to(own.url, "x", app)
        own.status = 503
        pull.say("bob", "hm")
        github.webhooks.wait()
        failed = asking.json("/app/hook/deliveries", status="failure")
        assert [(one["event"], one["status_code"]) for one in failed] == [("issue_comment", 503)]
        assert asking.post(f"/app/hook/deliveries/{failed[0]['id']}/attempts").status_code == 202
        github.webhooks.wait()
    assert [one.delivery for one in own.arrived] == [failed[0]["guid"]] * 2
    assert [one["redelivery"] for one in asking.json("/app/hook/deliveries")] == [True, False]


def test_deliveries_are_listed_newest_first_with_a_cursor(
    github: GitHubDouble, app: AppHandle, installed: InstallationHandle, pull: PullHandle, api: Ask
) -> None:
    now = int(time.time())
    asking = api(jwt.encode({"iat": now, "exp": now + 60, "iss": str(app.id)}, app.pem, algorithm="RS256"))
    with Receiver() as own:
        github.webhooks.to(own.url, "x", app)
        [pull.say("bob", str(n)) for n in range(5)]
        github.webhooks.wait()
    first = asking.get("/app/hook/deliveries", per_page=3)
    rest = asking.http.get(first.links["next"]["url"]).json()
    listed = [one["id"] for one in first.json() + rest]
    assert listed == sorted(listed, reverse=True)
    assert len(listed) == 5


def test_a_repository_has_hooks_of_its_own(
    github: GitHubDouble, repo: RepositoryHandle, pull: PullHandle, api: Ask
) -> None:
    admin = api(github.token("octocat"))
    with Receiver() as own:
        config = {"url": own.url, "content_type": "json", "secret": "own"}
        made = admin.post("/repos/acme/widget/hooks", {"config": config, "events": ["issue_comment"]})
        pull.say("bob", "hm")
        github.webhooks.wait()
    assert made.status_code == 201
    assert own.names == ["ping", SAID]
    assert all(one.signed_with("own") for one in own.arrived)


def test_a_hook_may_want_forms(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    github.world.hooks[0].form = True
    pull.say("bob", "a & b")
    github.webhooks.wait()
    sent = receiver.arrived[0]
    assert sent.headers["content-type"] == "application/x-www-form-urlencoded"
    assert json.loads(parse_qs(sent.body.decode())["payload"][0])["comment"]["body"] == "a & b"
    assert sent.signed_with("shh")


def test_what_happens_says_what_changed(github: GitHubDouble, pull: PullHandle, receiver: Receiver) -> None:
    pull.edit(title="Better")
    pull.draft()
    pull.draft(on=False)
    pull.close()
    pull.reopen()
    github.webhooks.wait()
    told = [one.said["action"] for one in receiver.find("pull_request")]
    assert told == ["edited", "converted_to_draft", "ready_for_review", "closed", "reopened"]
    assert receiver.find("pull_request.edited")[0].said["changes"] == {"title": {"from": "Pull feature"}}


def test_a_story_without_a_hearer_costs_no_payloads(github: GitHubDouble, pull: PullHandle) -> None:
    pull.say("bob", "hm")
    assert github.webhooks.deliveries == []


def test_tenancy_is_told_to_the_app(github: GitHubDouble, app: AppHandle, repo: RepositoryHandle) -> None:
    with Receiver() as own:
        github.webhooks.to(own.url, "x", app, events=())
        installed = app.install("acme", [repo])
        installed.add(github.repo("acme/other"))
        installed.suspend()
        installed.suspend(on=False)
        installed.uninstall()
        github.webhooks.wait()
    assert own.names == [
        "installation.created",
        "installation_repositories.added",
        "installation.suspend",
        "installation.unsuspend",
        "installation.deleted",
    ]


def test_every_event_carries_the_organization_of_its_repository(
    github: GitHubDouble, bob: Api, pull: PullHandle, receiver: Receiver
) -> None:
    pull.say("bob", "hm")
    github.webhooks.wait()
    told = receiver.find(SAID)[0].said
    assert (told["organization"]["login"], told["sender"]["login"]) == ("acme", "bob")
    assert told["issue"]["pull_request"]["url"].endswith("/pulls/1")
