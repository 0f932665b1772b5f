"""What `amends doctor` and `amends init` say about GitHub, each fault with its remedy."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from amends.cli.checks import Check
from amends.cli.forge import forge
from amends.common.policy import Overrides
from amends.common.sections import Fetcher, Gateway, GitHub
from amends.common.settings import Settings
from tests.support.github import Scene, github, set_scene

WIDGET = "acme/widget"
BELIEVING = Gateway(webhook_secrets=(SecretStr("s" * 20),))


@pytest.fixture
def scene() -> Iterator[Scene]:
    with github(checked=True) as double:
        yield set_scene(double)


def looked(
    github_: GitHub, *repositories: str, gateway: Gateway = BELIEVING, mode: str = "webhooks"
) -> dict[str, Check]:
    fetcher = Fetcher.model_validate({"mode": mode})
    known = Settings(github=github_, gateway=gateway, fetcher=fetcher, policy=Overrides())
    return {check.name: check for check in forge(known, repositories)}


def delivered(scene: Scene, url: str) -> None:
    """The App's webhook leads there, and something has happened."""
    scene.double.webhooks.to(url, "secret", scene.app)
    scene.pull.say("bob", "Hello")
    scene.double.webhooks.wait()


def test_an_app_with_all_it_needs_is_well_and_its_webhook_has_not_been_tried(scene: Scene) -> None:
    scene.double.webhooks.to("https://amends.test/webhooks/github", "secret", scene.app)
    found = looked(scene.app_settings, WIDGET)
    assert {name: check.status for name, check in found.items()} == {
        "github": "ok", "permissions": "ok", "events": "ok", "repository": "ok", "webhook": "warn", "reading": "ok",
        "cloning": "ok", "clock": "ok",
    }  # fmt: skip
    assert "was not tried yet" in found["webhook"].found


def test_what_an_app_lacks_is_named(scene: Scene) -> None:
    scene.app.of.permissions.update(contents="read")
    del scene.app.of.permissions["checks"]
    scene.app.of.events.remove("pull_request_review")
    found = looked(scene.app_settings, WIDGET)
    assert found["permissions"][1:3] == ("fail", "lacks checks: read, contents: write")
    assert found["events"].found == "not subscribed to pull_request_review"
    assert "Permissions & events" in found["permissions"].remedy


def test_permissions_that_nobody_accepted_yet_are_told_of_the_repository(scene: Scene) -> None:
    scene.installation.permit(issues="none")
    assert looked(scene.app_settings, WIDGET)["repository"][1:3] == ("fail", f"{WIDGET}: lacks issues: write")


def test_a_repository_without_the_app_says_where_to_install_it(scene: Scene) -> None:
    scene.double.repo("acme/other")
    found = looked(scene.app_settings, "acme/other")["repository"]
    assert (found.status, "/apps/amends/installations/new" in found.remedy) == ("fail", True)


def test_a_suspended_installation_is_told(scene: Scene) -> None:
    scene.installation.suspend()
    assert looked(scene.app_settings, WIDGET)["repository"][1:3] == ("fail", f"{WIDGET}: the installation is suspended")


def test_an_app_that_github_does_not_know_is_refused_with_the_setting_to_look_at(scene: Scene) -> None:
    found = looked(scene.app_settings.model_copy(update={"app_id": "999999"}))
    assert (found["github"].status, "private_key_file" in found["github"].remedy) == ("fail", True)


def test_a_github_that_is_not_there_is_told(scene: Scene) -> None:
    nowhere = {"api_url": "http://127.0.0.1:1/api/v3"}
    found = looked(scene.token_settings.model_copy(update=nowhere), WIDGET)
    assert (list(found), found["github"].status) == (["github"], "fail")
    assert "github.api_url" in found["github"].remedy


def test_a_webhook_that_leads_nowhere_is_told_in_githubs_own_words(scene: Scene) -> None:
    delivered(scene, "http://127.0.0.1:1/webhooks/github")
    found = looked(scene.app_settings, WIDGET)["webhook"]
    assert (found.status, "failed" in found.found, "firewall" in found.remedy) == ("fail", True, True)


def test_a_webhook_with_the_wrong_address_is_told_and_one_that_is_not_there_yet(scene: Scene) -> None:
    assert looked(scene.app_settings, WIDGET)["webhook"][1:3] == ("warn", "the App has no webhook")
    scene.double.webhooks.to("https://amends.test/", "secret", scene.app)
    found = looked(scene.app_settings, WIDGET)["webhook"]
    assert (found.status, "has to end in /webhooks/github" in found.remedy) == ("fail", True)


def test_without_a_secret_no_webhook_is_believed_unless_none_is_wanted(scene: Scene) -> None:
    assert looked(scene.app_settings, WIDGET, gateway=Gateway())["webhook"].status == "fail"
    polled = looked(scene.app_settings, WIDGET, gateway=Gateway(), mode="poll")["webhook"]
    assert polled[1:3] == ("ok", "none is needed: GitHub is looked at every 120 s")


def test_a_token_is_told_by_whose_it_is_and_its_scopes(scene: Scene) -> None:
    found = looked(scene.token_settings, WIDGET, mode="poll")
    assert {check.status for check in found.values()} == {"ok"}
    assert found["github"].found.startswith("token of octocat")
    assert found["scopes"].found == "the token has repo"


def test_a_token_that_may_too_little_is_told(scene: Scene) -> None:
    token = SecretStr(scene.double.token("rita", scopes=("read:org",)))
    found = looked(scene.token_settings.model_copy(update={"token": token}), WIDGET)
    assert found["scopes"][1:3] == ("fail", "the token has the scopes read:org")
    assert found["repository"][1:3] == ("fail", f"{WIDGET}: rita may not push")
    assert found["webhook"].status == "warn"


def test_a_fine_grained_token_does_not_say_what_it_may(scene: Scene) -> None:
    token = SecretStr(scene.double.token("alice", {"contents": "write", "metadata": "read"}))
    found = looked(scene.token_settings.model_copy(update={"token": token}), WIDGET)
    assert (found["scopes"].status, "pull_requests: write" in found["scopes"].remedy) == ("warn", True)


def test_a_wrong_clock_is_told_and_hinders_nothing(scene: Scene) -> None:
    scene.double.clock.advance(3_600)
    found = looked(scene.app_settings, WIDGET, mode="poll")
    assert found["clock"].status == "warn"
    assert "behind GitHub's" in found["clock"].found
    assert found["repository"].status == "ok"


def test_that_nobody_is_known_is_no_fault(scene: Scene) -> None:
    assert looked(GitHub())["github"].status == "warn"
