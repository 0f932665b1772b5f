"""Accounts, teams, Apps and installations as JSON."""

from __future__ import annotations

from amends.doubles.github.clock import maybe_stamp, stamp
from amends.doubles.github.refusal import Json
from amends.doubles.github.state.accounts import Account, App, Installation, Team
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.world import Urls, World

_NEWER = {"type", "organization_id", "notification_setting"}
_URLS = {
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}


def user(urls: Urls, account: Account) -> Json:
    """A "simple user"."""
    name = account.login.replace("[", "%5B").replace("]", "%5D")
    api = urls.api(f"/users/{name}")
    html = f"/apps/{account.login.removesuffix('[bot]')}" if account.kind == "Bot" else f"/{account.login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node,
        "avatar_url": urls.html(f"/avatars/u/{account.id}?v=4"),
        "gravatar_id": "",
        "url": api,
        "html_url": urls.html(html),
        **{key: api + tail for key, tail in _URLS.items()},
        "type": account.kind,
        "site_admin": False,
    }


def maybe_user(urls: Urls, account: Account | None) -> Json | None:
    """Null for nobody, and for an account that was deleted."""
    return None if account is None or account.gone else user(urls, account)


def public_user(urls: Urls, account: Account) -> Json:
    return {
        **user(urls, account),
        "user_view_type": "public",
        "name": account.name or None,
        "company": None,
        "blog": None,
        "location": None,
        "email": None,
        "hireable": None,
        "bio": None,
        "public_repos": 0,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": "2020-01-01T00:00:00Z",
        "updated_at": "2020-01-01T00:00:00Z",
    }


def organization(urls: Urls, account: Account) -> Json:
    api = urls.api(f"/orgs/{account.login}")
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node,
        "url": api,
        "repos_url": f"{api}/repos",
        "events_url": f"{api}/events",
        "hooks_url": f"{api}/hooks",
        "issues_url": f"{api}/issues",
        "members_url": f"{api}/members{{/member}}",
        "public_members_url": f"{api}/public_members{{/member}}",
        "avatar_url": urls.html(f"/avatars/u/{account.id}?v=4"),
        "description": "",
    }


def team(urls: Urls, one: Team) -> Json:
    org = one.organization
    api = urls.api(f"/organizations/{org.id}/team/{one.id}")
    return {
        "name": one.slug,
        "id": one.id,
        "node_id": one.node,
        "slug": one.slug,
        "description": "",
        "privacy": "closed",
        "url": api,
        "html_url": urls.html(f"/orgs/{org.login}/teams/{one.slug}"),
        "members_url": f"{api}/members{{/member}}",
        "repositories_url": f"{api}/repos",
        "permission": "pull",
        "parent": None,
        "type": "organization",
        "organization_id": org.id,
        "notification_setting": "notifications_enabled",
    }


def told_team(urls: Urls, one: Team) -> Json:
    """As `requested_team` tells it, with less than the lists of teams have."""
    return {key: value for key, value in team(urls, one).items() if key not in _NEWER}


def app(urls: Urls, one: App) -> Json:
    return {
        "id": one.id,
        "slug": one.slug,
        "node_id": one.node,
        "client_id": one.client_id,
        "owner": user(urls, one.owner),
        "name": one.slug,
        "description": "",
        "external_url": urls.html(f"/apps/{one.slug}"),
        "html_url": urls.html(f"/apps/{one.slug}"),
        "created_at": stamp(one.created),
        "updated_at": stamp(one.created),
        "permissions": one.permissions,
        "events": one.events,
    }


def told_app(urls: Urls, one: App) -> Json:
    """As webhooks tell it."""
    return {key: value for key, value in app(urls, one).items() if key != "client_id"}


def maybe_app(urls: Urls, one: App | None) -> Json | None:
    return None if one is None else app(urls, one)


def installation(urls: Urls, one: Installation) -> Json:
    path = f"/app/installations/{one.id}"
    org = one.account.kind == "Organization"
    html = f"/organizations/{one.account.login}/settings" if org else "/settings"
    return {
        "id": one.id,
        "account": user(urls, one.account),
        "repository_selection": "all" if one.selected is None else "selected",
        "access_tokens_url": urls.api(f"{path}/access_tokens"),
        "repositories_url": urls.api("/installation/repositories"),
        "html_url": urls.html(f"{html}/installations/{one.id}"),
        "app_id": one.app.id,
        "app_slug": one.app.slug,
        "target_id": one.account.id,
        "target_type": one.account.kind,
        "permissions": one.permissions,
        "events": one.app.events,
        "created_at": stamp(one.created),
        "updated_at": stamp(one.created),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": None if one.suspended is None else user(urls, one.account),
        "suspended_at": maybe_stamp(one.suspended),
    }


def installation_repositories(world: World, repositories: list[Repository]) -> list[Json]:
    """What installation events say of repositories."""
    keys = ("id", "node_id", "name", "full_name", "private")
    values = [
        (one.id, one.node, one.name, one.full_name, one.private) for one in repositories if one.id in world.repositories
    ]
    return [dict(zip(keys, value, strict=True)) for value in values]
