"""What a delivery says: facts about pull requests, or a named reason why it is none of our business. Pure.

Facts are hints. What they say is said again by the comment-fetcher, under the same keys, when a delivery is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amends.common.github.models import User
from amends.common.github.names import is_login, is_repository
from amends.common.github.sightings import NOBODY, Ours
from amends.gateway import access, checks, pulls
from amends.gateway.found import Found, Ignored, Sight
from amends.gateway.payloads import (
    Delivery,
    OfCheck,
    OfInstallation,
    OfIssueComment,
    OfPull,
    OfRepository,
    OfReview,
    OfReviewComment,
    OfStatus,
    OfThread,
    Unreadable,
    read,
    repository_of,
)

_SEEN: dict[str, tuple[type[Any], Callable[[Sight, Any], Found]]] = {
    "pull_request": (OfPull, pulls.pull),
    "pull_request_review": (OfReview, pulls.review),
    "pull_request_review_comment": (OfReviewComment, pulls.review_comment),
    "pull_request_review_thread": (OfThread, pulls.thread),
    "issue_comment": (OfIssueComment, pulls.issue_comment),
    "check_run": (OfCheck, checks.check_run),
    "status": (OfStatus, checks.status),
    "repository": (OfRepository, access.repository),
}
_INSTALLATIONS = frozenset({"installation", "installation_repositories"})
WANTED = tuple(_SEEN)  # what an App has to subscribe to; of its installations it is told in any case
FOLLOWED = frozenset({*_SEEN, *_INSTALLATIONS, "check_suite", "ping"})


def observe(event: str, body: bytes, ours: Ours = NOBODY) -> Found:
    """What the delivery says; Unreadable when it is not what the event says it is. `ours`: our own accounts."""
    if event == "ping":
        return Ignored("ping")
    if event == "check_suite":
        return Ignored("told_by_its_runs")
    if event in _INSTALLATIONS:
        delivery = read(OfInstallation, body)
        return access.installation(delivery, _actor(delivery.sender))
    if event not in _SEEN:
        return Ignored("not_followed")
    kind, seen = _SEEN[event]
    delivery = read(kind, body)
    return seen(_sight(delivery, ours), delivery)


def _sight(delivery: Delivery, ours: Ours) -> Sight:
    repository = repository_of(delivery)
    if not is_repository(repository.full_name):
        raise Unreadable("repository.full_name: it is not owner/name")
    return Sight(repository.id, repository.full_name, _actor(delivery.sender), ours)


def _actor(sender: User | None) -> str:
    return f"github/{sender.login if is_login(sender.login) else sender.id}" if sender else "github"
