"""What GitHub's objects say, as facts: a webhook and a poller see the same and say it under the same key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal
from urllib.parse import quote

from amends.common.events import (
    Author,
    ChecksFinished,
    CommandGiven,
    CommentAdded,
    CommentDeleted,
    CommentEdited,
    PrClosed,
    PrObserved,
    ReviewApproved,
    ReviewCommented,
    ReviewDismissed,
    ReviewRejected,
    ThreadResolved,
    ThreadUnresolved,
)
from amends.common.github.commands import beside_order, order_in
from amends.common.github.models import Check, IssueComment, Pull, Review, ReviewComment, Status, Thread, User
from amends.common.github.names import is_address, is_branch, is_login, is_sha
from amends.common.github.text import EMPTY, MARK, body_hash, name

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOKEN = re.compile(r"[!-~]{1,150}")
_LONGEST_CHECK = 150
Comment = CommentAdded | CommentEdited
Opinion = ReviewRejected | ReviewApproved | ReviewCommented | ReviewDismissed
Speech = ReviewComment | IssueComment | Review
Conclusion = Literal["success", "failure", "neutral"]


@dataclass(frozen=True)
class Ours:
    """The accounts that amends writes under: alone, or `shared` with the owner of a token, who speaks for himself, too.

    Of a shared one's words those are ours that begin with our marker. Anybody can copy a marker, nobody a number.
    """

    alone: frozenset[int] = frozenset()
    shared: frozenset[int] = frozenset()

    def wrote(self, user: User, text: str) -> bool:
        """Whether these words of this account are ours."""
        return user.id in self.alone or (user.id in self.shared and text.lstrip().startswith(MARK))


NOBODY = Ours()


def author(user: User | None, ours: Ours = NOBODY, text: str = "") -> Author:
    """The account; with its words, whether they are ours."""
    if user is None:
        return Author(id=0, kind="ghost")
    login = user.login if is_login(user.login) else ""
    if ours.wrote(user, text):
        return Author(id=user.id, login=login, kind="self")
    return Author(id=user.id, login=login, kind="bot" if user.type.lower() == "bot" else "user")


def whose(said: Speech, ours: Ours = NOBODY) -> Author:
    """Whose words these are."""
    return author(said.user, ours, said.body)


def own(said: Speech, ours: Ours) -> bool:
    """Whether these words are ours."""
    return said.user is not None and ours.wrote(said.user, said.body)


# --- pull requests -------------------------------------------------------------------------------------------------


def pull_seen(pull: Pull, full_name: str) -> PrObserved | PrClosed | None:
    """How the pull request stands; None when it was not sent whole, or its branches have names that git refuses."""
    updated = pull.updated_at or EPOCH
    if pull.state.lower() == "closed":
        merged = bool(pull.merged or pull.merged_at)
        return None if pull.merged is None and pull.merged_at is None else PrClosed(merged=merged, updated_at=updated)
    if pull.draft is None or not is_sha(pull.head.sha) or not is_branch(pull.head.ref) or not is_branch(pull.base.ref):
        return None
    return PrObserved(
        full_name=full_name,
        title=name(pull.title),
        url=pull.html_url if is_address(pull.html_url) else "",
        author=author(pull.user),
        head=pull.head.sha,
        head_ref=pull.head.ref,
        head_repo=pull.head.repo.id if pull.head.repo else None,
        base_ref=pull.base.ref,
        draft=pull.draft,
        labels=tuple(sorted({name(label.name) for label in pull.labels})),
        updated_at=updated,
    )


# --- reviews -------------------------------------------------------------------------------------------------------


def reviewed(review: Review, ours: Ours = NOBODY) -> Opinion | None:
    """What a review says; None for one that is not submitted yet, or that says something we do not know."""
    who = whose(review, ours)
    if review.state.lower() == "dismissed":
        return ReviewDismissed(review=review.id, author=who)
    cls = _OPINIONS.get(review.state.lower())
    if cls is None:
        return None
    # A rejection says something without words; what only comments and holds nothing but a command does not.
    body = EMPTY if cls is not ReviewRejected and only_orders(review) else body_hash(review.body)
    said: Opinion = cls(
        review=review.id,
        node=node(review.node_id, "review", review.id),
        author=who,
        head=review.commit_id if is_sha(review.commit_id) else "",
        body=None if body == EMPTY else body,
        submitted_at=review.submitted_at or EPOCH,
    )
    return said


_OPINIONS = {"changes_requested": ReviewRejected, "approved": ReviewApproved, "commented": ReviewCommented}


def review_body_edited(review: Review, ours: Ours = NOBODY) -> CommentEdited:
    """The text of a review, changed after it was submitted."""
    return CommentEdited(
        kind="review",
        root=review.id,
        comment=review.id,
        node=node(review.node_id, "review", review.id),
        author=whose(review, ours),
        body=body_hash(review.body),
        review=review.id,
        updated_at=review.updated_at or review.submitted_at or EPOCH,
    )


# --- comments ------------------------------------------------------------------------------------------------------


def line_comment(comment: ReviewComment, ours: Ours = NOBODY, *, edited: bool = False) -> Comment:
    """A comment in a thread; the thread is named after its root."""
    return (CommentEdited if edited else CommentAdded)(
        kind="thread",
        root=comment.in_reply_to_id or comment.id,
        comment=comment.id,
        node=node(comment.node_id, "thread", comment.id),
        author=whose(comment, ours),
        body=body_hash(comment.body),
        review=comment.pull_request_review_id,
        updated_at=comment.updated_at or comment.created_at or EPOCH,
    )


def conversation_comment(comment: IssueComment, ours: Ours = NOBODY, *, edited: bool = False) -> Comment:
    """A comment in the conversation: an item of its own."""
    return (CommentEdited if edited else CommentAdded)(
        kind="comment",
        root=comment.id,
        comment=comment.id,
        node=node(comment.node_id, "comment", comment.id),
        author=whose(comment, ours),
        body=body_hash(comment.body),
        updated_at=comment.updated_at or comment.created_at or EPOCH,
    )


def comment_gone(comment: ReviewComment | IssueComment) -> CommentDeleted:
    """A comment that was deleted."""
    if isinstance(comment, ReviewComment):
        root = comment.in_reply_to_id or comment.id
        return CommentDeleted(
            kind="thread", root=root, comment=comment.id, node=node(comment.node_id, "thread", comment.id)
        )
    return CommentDeleted(
        kind="comment", root=comment.id, comment=comment.id, node=node(comment.node_id, "comment", comment.id)
    )


def commanded(said: Speech, ours: Ours = NOBODY) -> CommandGiven | None:
    """The command in a comment or a review by a person, if there is one; whether he may give it is checked later."""
    order = order_in(said.body)
    if order is None:
        return None
    who = whose(said, ours)
    if who.kind != "user":
        return None
    kind = {ReviewComment: "thread", IssueComment: "comment", Review: "review"}[type(said)]
    return CommandGiven(id=f"{kind}-{said.id}", name=order.name, text=order.text, author=who)


def only_orders(said: Speech) -> bool:
    """Whether a person says nothing there but a command: that is no feedback."""
    is_person = said.user is not None and said.user.type.lower() != "bot"
    return is_person and order_in(said.body) is not None and not beside_order(said.body).strip()


def thread_turned(
    thread: Thread, at: datetime | None = None, *, resolved: bool
) -> ThreadResolved | ThreadUnresolved | None:
    """A thread that somebody resolved or opened again; None when nobody can say which one it is."""
    if not thread.comments:
        return None
    first = thread.comments[0]
    return (ThreadResolved if resolved else ThreadUnresolved)(root=first.in_reply_to_id or first.id, updated_at=at)


# --- checks --------------------------------------------------------------------------------------------------------


def check_finished(check: Check | Status, *, required: bool | None = None) -> ChecksFinished | None:
    """How a check ended; None while it runs, and for what says nothing of the code. Webhooks do not say `required`."""
    if isinstance(check, Status):
        said, sha, context, at = check.state, check.sha, check.context, check.updated_at
    else:
        said, sha, context, at = check.conclusion, check.head_sha, check.name, check.completed_at or check.updated_at
    conclusion = _CONCLUSIONS.get(said.lower())
    if conclusion is None or not is_sha(sha):
        return None
    if conclusion != "failure":
        required = bool(required)  # only of a failure does it matter
    return ChecksFinished(name=check_name(context), head=sha, conclusion=conclusion, required=required, updated_at=at)


# Not in it: what was cancelled, went stale or waits for somebody has not said whether the code is right.
_CONCLUSIONS: dict[str, Conclusion] = {
    "success": "success",
    "neutral": "neutral",
    "skipped": "neutral",
    "failure": "failure",
    "error": "failure",
    "timed_out": "failure",
    "startup_failure": "failure",
}
FAILED = frozenset(said for said, conclusion in _CONCLUSIONS.items() if conclusion == "failure")


def check_name(context: str) -> str:
    """A check's name as one token, readable where it can be."""
    token = quote(name(context), safe="!#$&'()*+,-./:;<=>?@[]^_`{|}~") or "-"
    if len(token) <= _LONGEST_CHECK:
        return token
    return f"{token[: _LONGEST_CHECK - 17]}-{sha256(context.encode('utf-8', 'replace')).hexdigest()[:16]}"


def node(node_id: str, kind: str, number: int) -> str:
    """GitHub's global name of an object; where a forge sends none, its kind and number are as good."""
    return node_id if _TOKEN.fullmatch(node_id) and "/" not in node_id else f"{kind}-{number}"


# --- reviewers outside GitHub --------------------------------------------------------------------------------------

# Their reviews are numbered far above GitHub's, and below what JavaScript can still count. See docs/reviewers.md.
OUTSIDE = 2**52
_OUTSIDE_NODE = "outside-"


def outside_node(review: int) -> str:
    """What stands for the node of a review that GitHub does not know."""
    return f"{_OUTSIDE_NODE}{review}"


def is_outside(node_id: str) -> bool:
    """Whether nobody needs to look for it on GitHub: its text is in the log."""
    return node_id.startswith(_OUTSIDE_NODE)
