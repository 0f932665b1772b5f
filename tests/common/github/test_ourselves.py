"""Which accounts are ours, found out at the start."""

from __future__ import annotations

import pytest

from amends.common.events import CommentAdded
from amends.common.github import ourselves
from amends.common.github.auth import Scope
from amends.common.github.client import Client
from amends.common.github.models import User
from amends.common.github.ourselves import our_accounts
from amends.common.github.sightings import Ours, author
from amends.common.settings import Settings
from tests.support.asynchronous import asynchronous
from tests.support.github import Scene
from tests.support.steering import steered


@asynchronous
async def test_the_bot_of_our_app_is_ours_without_a_setting(scene: Scene) -> None:
    known = Settings(github=scene.app_settings, our_accounts=(7,))
    assert await our_accounts(known) == Ours(frozenset({7, scene.app.account_id}))


@asynchronous
async def test_the_account_of_a_token_is_shared_with_its_owner_who_speaks_himself_too(scene: Scene) -> None:
    settings = Settings(github=scene.token_settings, our_accounts=(7,))
    async with Client(settings.github) as client:
        owner = await client.ourselves(Scope())
    assert await our_accounts(settings) == Ours(frozenset({7}), shared=frozenset({owner.id}))


def test_inv_16_of_a_shared_account_what_bears_our_marker_is_ours_and_nobody_elses_marker_means_anything() -> None:
    ours, marked = Ours(shared=frozenset({5})), "<!-- amends:1-pr-2/notified -->\nFixed."
    owner, other = User(id=5, login="owner"), User(id=6, login="other")
    assert author(owner, ours, marked).kind == "self"
    assert author(owner, ours, f"I quote {marked}").kind == "user"
    assert author(other, ours, marked).kind == "user"


@asynchronous
async def test_with_github_away_it_goes_on_with_what_is_set(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ourselves, "_PATIENCE", 0.2)
    scene.double.faults.next("GET", "/app", status=502, times=99)
    assert await our_accounts(Settings(github=scene.app_settings, our_accounts=(7,))) == Ours(frozenset({7}))


@asynchronous
async def test_with_a_sign_in_page_before_github_it_goes_on_too(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ourselves, "_PATIENCE", 0.2)
    page = {"location": "http://127.0.0.1:9/sign-in"}
    scene.double.faults.next("GET", "/app", status=302, headers=page, times=99)
    assert await our_accounts(Settings(github=scene.app_settings)) == Ours()


@asynchronous
async def test_an_app_that_is_installed_nowhere_writes_nowhere(scene: Scene) -> None:
    scene.installation.uninstall()
    assert await our_accounts(Settings(github=scene.app_settings)) == Ours()


@asynchronous
async def test_what_our_bot_says_is_nobodys_feedback_although_no_account_is_set(sqlite_url: str, scene: Scene) -> None:
    async with steered(sqlite_url, scene, known=()) as one:
        scene.pull.say("amends[bot]", "Fixed.")
        scene.pull.say("bob", "Thanks.")
        await one.heard()
        authors = [event.fact.author.login for event in one.events() if isinstance(event.fact, CommentAdded)]
        assert authors == ["bob"]
