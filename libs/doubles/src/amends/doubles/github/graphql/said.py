"""Texts in GraphQL: what comments, reviews, issues and pull requests have in common, and each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amends.doubles.github.acts.words import REACTIONS
from amends.doubles.github.caller import at_least
from amends.doubles.github.clock import maybe_stamp, stamp
from amends.doubles.github.graphql.connections import Page, connection, page
from amends.doubles.github.graphql.fields import Arguments, Asking, Fields, add
from amends.doubles.github.graphql.people import shown
from amends.doubles.github.rules import association
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.talk import Comment, Issue, IssueComment, Pull, Review, Said

CONTENTS = dict(
    zip(REACTIONS, ("THUMBS_UP", "THUMBS_DOWN", "LAUGH", "CONFUSED", "HEART", "HOORAY", "ROCKET", "EYES"), strict=True)
)


def said_of(one: Comment | IssueComment | Review | Issue | Pull) -> Said:
    return one.issue.said if isinstance(one, Pull) else one.said


def repository_of(one: Comment | IssueComment | Review | Issue | Pull) -> Repository:
    match one:
        case Comment():
            return one.thread.pull.repo
        case IssueComment():
            return one.issue.repo
        case Review():
            return one.pull.repo
        case _:
            return one.repo


def text_fields() -> Fields:
    """Fields of everything that somebody wrote."""
    fields: Fields = {
        "id": lambda one, _, __: one.node,
        "databaseId": lambda one, _, __: _small(one.id),
        "fullDatabaseId": lambda one, _, __: str(one.id),
        "author": lambda one, _, __: shown(said_of(one).author),
        "authorAssociation": lambda one, _, __: association(repository_of(one), said_of(one).author),
        "body": lambda one, _, __: said_of(one).body,
        "bodyText": lambda one, _, __: said_of(one).body,
        "createdAt": lambda one, _, __: stamp(said_of(one).created),
        "publishedAt": lambda one, _, __: stamp(said_of(one).created),
        "updatedAt": lambda one, _, __: stamp(said_of(one).updated),
        "lastEditedAt": lambda one, _, __: maybe_stamp(said_of(one).edited),
        "editor": lambda one, _, __: shown(said_of(one).editor),
        "includesCreatedEdit": lambda one, _, __: said_of(one).edited is not None,
        "viewerDidAuthor": lambda one, asking, _: said_of(one).author is asking.caller.account,
        "viewerCanUpdate": _may_update,
        "repository": lambda one, _, __: repository_of(one),
        "userContentEdits": _edits,
        "reactions": _reactions,
        "reactionGroups": _groups,
    }
    return fields


def minimizable() -> Fields:
    return {
        "isMinimized": lambda one, _, __: said_of(one).minimized is not None,
        "minimizedReason": lambda one, _, __: said_of(one).minimized,
        "viewerCanMinimize": _may_update,
    }


def at(make: Callable[[Any], str]) -> Fields:
    """`url` and `resourcePath`."""
    return {
        "url": lambda one, asking, _: asking.world.urls.html(make(one)),
        "resourcePath": lambda one, _, __: make(one),
    }


def _small(number: int) -> int | None:
    """`databaseId` is an Int: an id beyond 32 bits is not in it."""
    return number if number < 2**31 else None


def _may_update(one: Any, asking: Asking, _: Arguments) -> bool:  # noqa: ANN401 - any text
    account = asking.caller.account
    if account is None:
        return False
    return said_of(one).author is account or at_least(repository_of(one), account, "write")


def _edits(one: Any, _: Asking, arguments: Arguments) -> Page:  # noqa: ANN401 - any text
    """Newest first; the first version is one of them."""
    return page("userContentEdits", arguments, list(reversed(list(enumerate(said_of(one).versions)))))


def _reactions(one: Any, _: Asking, arguments: Arguments) -> Page:  # noqa: ANN401 - any text
    wanted = arguments.get("content")
    found = [each for each in said_of(one).reactions if wanted in {None, CONTENTS[each.content]}]
    return page("reactions", arguments, found, lambda each: each.id)


def _groups(one: Any, _: Asking, __: Arguments) -> list[tuple[str, list[Any]]]:  # noqa: ANN401 - any text
    reactions = said_of(one).reactions
    return [(word, [each for each in reactions if each.content == name]) for name, word in CONTENTS.items()]


add(
    "UserContentEdit",
    {
        "id": lambda one, _, __: f"UCE_{one[0]}_{int(one[1].at.timestamp())}",
        "createdAt": lambda one, _, __: stamp(one[1].at),
        "editedAt": lambda one, _, __: stamp(one[1].at),
        "updatedAt": lambda one, _, __: stamp(one[1].at),
        "editor": lambda one, _, __: shown(one[1].editor),
        "diff": lambda one, _, __: one[1].body,
    },
)
connection("UserContentEdit")
add(
    "Reaction",
    {
        "id": lambda one, _, __: f"REA_{one.id}",
        "databaseId": lambda one, _, __: one.id,
        "content": lambda one, _, __: CONTENTS[one.content],
        "createdAt": lambda one, _, __: stamp(one.created),
        "user": lambda one, _, __: shown(one.account),
    },
)
connection("Reaction")
add(
    "ReactionGroup",
    {
        "content": lambda one, _, __: one[0],
        "createdAt": lambda one, _, __: stamp(one[1][0].created) if one[1] else None,
        "viewerHasReacted": lambda one, asking, _: any(each.account is asking.caller.account for each in one[1]),
        "reactors": lambda one, _, arguments: page("reactors", arguments, [each.account for each in one[1]]),
    },
)
add(
    "ReactorConnection",
    {"totalCount": lambda one, _, __: one.total, "pageInfo": lambda one, _, __: one},
)
add(
    "IssueComment",
    {
        **text_fields(),
        **minimizable(),
        **at(lambda one: f"/{one.issue.repo.full_name}/pull/{one.issue.number}#issuecomment-{one.id}"),
        "issue": lambda one, _, __: one.issue,
        "pullRequest": lambda one, _, __: one.issue.pull,
    },
)
connection("IssueComment")
add(
    "Label",
    {
        "id": lambda one, _, __: one.node,
        "name": lambda one, _, __: one.name,
        "color": lambda one, _, __: one.color,
        "description": lambda one, _, __: one.description,
    },
)
connection("Label")


def conversation(issue: Issue, asking: Asking, arguments: Arguments) -> Page:
    found = [one for one in issue.comments if not asking.world.lag.hidden(one.node)]
    order = arguments.get("orderBy")
    if order is not None:
        found.sort(key=lambda one: (one.said.updated, one.id), reverse=order["direction"] == "DESC")
    return page("comments", arguments, found, lambda one: one.id)


add(
    "Issue",
    {
        **text_fields(),
        **at(lambda one: f"/{one.repo.full_name}/issues/{one.number}"),
        "number": lambda one, _, __: one.number,
        "title": lambda one, _, __: one.title,
        "state": lambda one, _, __: "OPEN" if one.open else "CLOSED",
        "closed": lambda one, _, __: not one.open,
        "closedAt": lambda one, _, __: maybe_stamp(one.closed),
        "locked": lambda one, _, __: one.locked,
        "labels": lambda one, _, arguments: page("labels", arguments, one.labels, lambda each: each.id),
        "comments": conversation,
    },
)
