"""Which accounts are ours, found out at the start."""

from __future__ import annotations

import pytest

from amends.common.events import CommentAdded
from amends.common.github import ourselves
from amends.common.github.ourselves import our_accounts
from amends.common.settings import Settings
from tests.support.asynchronous import asynchronous
from tests.support.github import Scene
from tests.support.steering import steered


@asynchronous
async def test_the_bot_of_our_app_is_ours_without_a_setting(scene: Scene) -> None:
    known = Settings(github=scene.app_settings, our_accounts=(7,))
    assert await our_accounts(known) == {7, scene.app.account_id}


@asynchronous
async def test_the_owner_of_a_token_is_not_ours_for_he_speaks_himself_too(scene: Scene) -> None:
    assert await our_accounts(Settings(github=scene.token_settings)) == frozenset()
    assert scene.double.requests.count() == 0


@asynchronous
async def test_with_github_away_it_goes_on_with_what_is_set(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ourselves, "_PATIENCE", 0.2)
    scene.double.faults.next("GET", "/app", status=502, times=99)
    assert await our_accounts(Settings(github=scene.app_settings, our_accounts=(7,))) == {7}


@asynchronous
async def test_an_app_that_is_installed_nowhere_writes_nowhere(scene: Scene) -> None:
    scene.installation.uninstall()
    assert await our_accounts(Settings(github=scene.app_settings)) == frozenset()


@asynchronous
async def test_what_our_bot_says_is_nobodys_feedback_although_no_account_is_set(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene, known=()) as one:
        scene.pull.say("amends[bot]", "Fixed.")
        scene.pull.say("bob", "Thanks.")
        await one.heard()
        authors = [event.fact.author.login for event in one.events() if isinstance(event.fact, CommentAdded)]
        assert authors == ["bob"]
