"""Which fields of which types there are, and what they answer. The schema is cut to exactly these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from amends.doubles.github.caller import Caller
from amends.doubles.github.graphql.weight import NOTHING, Weight
from amends.doubles.github.limits import Limits
from amends.doubles.github.state.world import World


@dataclass(frozen=True)
class Asking:
    """One GraphQL request."""

    world: World
    caller: Caller
    limits: Limits
    weight: Weight = NOTHING


Arguments = Mapping[str, Any]
# A field's answer, from the thing it is a field of, the request, and the arguments.
Resolver = Callable[[Any, Asking, Arguments], Any]
Fields = dict[str, Resolver]

# Type name -> field name -> resolver.
TYPES: dict[str, Fields] = {}
# Interfaces and unions: type name -> the fields an interface keeps.
ABSTRACT: dict[str, tuple[str, ...]] = {
    "Actor": ("login", "url", "avatarUrl", "resourcePath"),
    "Closable": ("closed", "closedAt"),
    "Comment": (
        "id", "body", "author", "authorAssociation", "createdAt", "updatedAt", "lastEditedAt", "editor",
        "viewerDidAuthor", "publishedAt", "includesCreatedEdit",
    ),
    "GitObject": ("id", "oid"),
    "Labelable": ("labels",),
    "Minimizable": ("isMinimized", "minimizedReason"),
    "Node": ("id",),
    "Reactable": ("id", "databaseId", "reactionGroups", "reactions"),
    "RepositoryOwner": ("id", "login", "url"),
    "RequirableByPullRequest": ("isRequired",),
    "IssueOrPullRequest": (),
    "RequestedReviewer": (),
    "StatusCheckRollupContext": (),
    "Assignee": (),
}  # fmt: skip


def add(name: str, fields: Fields) -> None:
    TYPES.setdefault(name, {}).update(fields)
