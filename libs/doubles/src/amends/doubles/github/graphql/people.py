"""Accounts, teams and Apps in GraphQL."""

from __future__ import annotations

from amends.doubles.github.graphql.connections import connection
from amends.doubles.github.graphql.fields import Fields, add
from amends.doubles.github.state.accounts import Account


def shown(account: Account | None) -> Account | None:
    """Nobody, where an account was deleted."""
    return None if account is None or account.gone else account


_ACTOR: Fields = {
    "id": lambda one, _, __: one.node,
    "databaseId": lambda one, _, __: one.id,
    "login": lambda one, _, __: one.login,
    "url": lambda one, asking, _: asking.world.urls.html(f"/{one.login}"),
    "resourcePath": lambda one, _, __: f"/{one.login}",
    "avatarUrl": lambda one, asking, _: asking.world.urls.html(f"/avatars/u/{one.id}?v=4"),
}
add(
    "User",
    {**_ACTOR, "name": lambda one, _, __: one.name or None, "isViewer": lambda one, a, _: one is a.caller.account},
)
# Without the suffix that REST and webhooks have.
add("Bot", {**_ACTOR, "login": lambda one, _, __: one.login.removesuffix("[bot]")})
add("Organization", {**_ACTOR, "name": lambda one, _, __: one.name or None})
add(
    "Team",
    {
        "id": lambda one, _, __: one.node,
        "databaseId": lambda one, _, __: one.id,
        "slug": lambda one, _, __: one.slug,
        "name": lambda one, _, __: one.slug,
        "combinedSlug": lambda one, _, __: f"{one.organization.login}/{one.slug}",
        "organization": lambda one, _, __: one.organization,
    },
)
add(
    "App",
    {
        "id": lambda one, _, __: one.node,
        "databaseId": lambda one, _, __: one.id,
        "slug": lambda one, _, __: one.slug,
        "name": lambda one, _, __: one.slug,
    },
)
connection("User")
