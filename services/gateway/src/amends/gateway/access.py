"""Deliveries about our access: the App was installed, taken away, or a repository put out of its reach."""

from __future__ import annotations

from typing import Literal

from amends.common.events import AccessChanged
from amends.common.github.names import is_login, is_repository
from amends.gateway.found import Access, Found, Ignored, Observed, Sight
from amends.gateway.payloads import OfInstallation, OfRepository

_LOST = frozenset({"deleted", "suspend"})
_GRANTED = frozenset({"created", "unsuspend", "new_permissions_accepted"})


def installation(delivery: OfInstallation, actor: str) -> Found:
    """All that it reaches, or the repositories that were put into its reach or taken out of it.

    GitHub's dates of an installation do not tell which of two such events was the later one, so they are not used.
    """
    match delivery.action:
        case "added":
            granted, owner, named = True, "", delivery.repositories_added
        case "removed":
            granted, owner, named = False, "", delivery.repositories_removed
        case action if action in _LOST | _GRANTED:
            account = delivery.installation.account
            granted, owner, named = action in _GRANTED, account.login if account else "", delivery.repositories
        case _:
            return Ignored("action_not_followed")
    fact = AccessChanged(access="granted" if granted else "lost", reason=f"installation {delivery.action}")
    repositories = tuple((one.id, one.full_name) for one in named if is_repository(one.full_name))
    if not repositories and not is_login(owner):
        return Ignored("nobody_concerned")
    return Observed(actor=actor, access=Access(fact, repositories, "" if repositories else owner))


def repository(sight: Sight, delivery: OfRepository) -> Found:
    """It was deleted or archived, or is back. A new name comes with the next sight of a pull request; the id stays."""
    if delivery.action not in {"deleted", "archived", "unarchived"}:
        return sight.ignored("action_not_followed")
    access: Literal["granted", "lost"] = "granted" if delivery.action == "unarchived" else "lost"
    fact = AccessChanged(access=access, reason=f"repository {delivery.action}")
    where = ((sight.repo, sight.full_name),)
    return Observed(sight.repo, sight.full_name, sight.actor, access=Access(fact, where))
