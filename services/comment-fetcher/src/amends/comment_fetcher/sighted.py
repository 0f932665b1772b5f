"""What a snapshot shows, as the facts that webhooks would have brought: the same facts, under the same keys. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from amends.comment_fetcher.checks import failing
from amends.comment_fetcher.shapes import CheckSeen
from amends.comment_fetcher.snapshot import Said, Snapshot
from amends.common.events import AnyFact, CommandGiven, CommentDeleted, ThreadResolved, ThreadUnresolved
from amends.common.github.models import Check, IssueComment, Review, ReviewComment
from amends.common.github.sightings import (
    Ours,
    check_finished,
    commanded,
    comment_gone,
    conversation_comment,
    line_comment,
    only_orders,
    own,
    pull_seen,
    review_body_edited,
    reviewed,
)

# An order that nobody heard is carried out late, but not when everybody has forgotten it.
ORDERS_FOR = timedelta(days=3)


@dataclass(frozen=True)
class Before:
    """What an earlier snapshot showed, for what only its absence tells."""

    comments: dict[str, CommentDeleted] = field(default_factory=dict)


def before(snapshot: Snapshot, ours: Ours) -> Before:
    """What the next snapshot is compared with."""
    said = (one for one in snapshot.everything() if not own(one.comment, ours))
    return Before({one.node: comment_gone(one.comment) for one in said if not isinstance(one.comment, Review)})


@dataclass(frozen=True)
class Sight:
    """How to look: who we are, what time it is on GitHub, and which checks fail on the base too."""

    ours: Ours
    at: datetime
    on_base: frozenset[str] = frozenset()


def sighted(snapshot: Snapshot, sight: Sight, earlier: Before) -> list[AnyFact]:
    """All that the snapshot says, and what has gone since an earlier one; how the pull request stands comes first."""
    stands = pull_seen(snapshot.pull, snapshot.full_name)
    return [
        *([stands] if stands else []),
        *(fact for said in snapshot.reviews for fact in _review(said, sight)),
        *(fact for thread in snapshot.threads for said in thread.said for fact in _comment(said, sight)),
        *(fact for said in snapshot.talk for fact in _comment(said, sight)),
        *_turned(snapshot),
        *_gone(snapshot, earlier),
        *_checks(snapshot, sight),
    ]


def _review(said: Said, sight: Sight) -> Iterator[AnyFact]:
    review = said.comment
    if not isinstance(review, Review) or own(review, sight.ours):
        return
    if opinion := reviewed(review, sight.ours):
        yield opinion
        if said.edited:
            yield review_body_edited(review, sight.ours)
        yield from _order(said, sight)


def _comment(said: Said, sight: Sight) -> Iterator[AnyFact]:
    comment = said.comment
    if own(comment, sight.ours):
        return
    if only_orders(comment) and not said.edited:
        pass  # a command is no feedback
    elif isinstance(comment, ReviewComment):
        yield line_comment(comment, sight.ours, edited=said.edited)
    elif isinstance(comment, IssueComment):
        yield conversation_comment(comment, sight.ours, edited=said.edited)
    yield from _order(said, sight)


def _order(said: Said, sight: Sight) -> Iterator[CommandGiven]:
    """As with webhooks, an edit counts only by the author himself; what is folded away counts as taken back."""
    comment, by = said.comment, said.comment.user
    at = comment.submitted_at if isinstance(comment, Review) else comment.created_at
    edited_by_another = said.edited and (said.editor is None or by is None or said.editor.id != by.id)
    if said.minimized or edited_by_another or at is None or sight.at - at > ORDERS_FOR:
        return
    if order := commanded(comment, sight.ours):
        yield order


def _turned(snapshot: Snapshot) -> Iterator[AnyFact]:
    """Of each thread, since it may have been opened again while nobody looked: the log knows whether that is news."""
    for thread in snapshot.threads:
        if thread.resolved:
            yield ThreadResolved(root=thread.root)
        elif thread.node:  # what is in no list yet has no state that anybody could see
            yield ThreadUnresolved(root=thread.root)


def _gone(snapshot: Snapshot, earlier: Before) -> Iterator[CommentDeleted]:
    there = {said.node for said in snapshot.everything()}
    yield from (fact for node, fact in earlier.comments.items() if node not in there)


def _checks(snapshot: Snapshot, sight: Sight) -> Iterator[AnyFact]:
    """A failure is told once as webhooks tell it, when it is not required, and else with what they cannot know."""
    sha = snapshot.pull.head.sha
    failed = {check.called: check for check in failing(snapshot.checks)}
    for check in snapshot.checks:
        if failed.get(check.called, check) is not check:
            continue
        required = True if check.called in failed and check.is_required else None
        fact = check_finished(_sent(check, sha), required=required)
        if fact is not None:
            yield (
                fact.model_copy(update={"fails_on_base": True}) if required and check.called in sight.on_base else fact
            )


def _sent(check: CheckSeen, sha: str) -> Check:
    return Check(
        name=check.called,
        conclusion=check.ended.lower(),
        head_sha=sha,
        completed_at=check.completed_at or check.created_at,
    )
