"""Inline comments: threads begin, are replied to, edited, resolved; each comment belongs to a review."""

from __future__ import annotations

from dataclasses import dataclass

from amends.doubles.github.acts.words import check_body, said
from amends.doubles.github.anchors import anchor_at, origin_of, settle
from amends.doubles.github.caller import Caller
from amends.doubles.github.refusal import forbidden, invalid
from amends.doubles.github.rules import check_edit, check_unlocked, may_resolve
from amends.doubles.github.state.talk import Anchor, Comment, Pull, Review, Thread
from amends.doubles.github.state.world import Happening, World


@dataclass(frozen=True)
class Remark:
    """An inline comment to be made; `position` is the old way of saying where."""

    body: str
    anchor: Anchor
    position: int | None = None
    commit: str | None = None


def silent_review(world: World, caller: Caller, pull: Pull, commit: str) -> Review:
    """The review that every comment outside a review gets: COMMENTED, without a body."""
    now = world.clock.moment()
    number = world.ids.take("review")
    review = Review(number, "", pull, said(world, caller, ""), "COMMENTED", commit, now)
    review.node = world.known("review", number, review)
    pull.reviews.append(review)
    return review


def begin(world: World, caller: Caller, review: Review, remark: Remark) -> Comment:
    """Start a thread within a review."""
    body = check_body(remark.body)
    pull = review.pull
    commit = remark.commit or pull.head
    if commit not in pull.heads and world.git.merge_base(pull.repo.folder, commit, pull.head) != commit:
        raise invalid("commit_id is not part of the pull request", message="Validation Failed")
    anchor = remark.anchor
    if remark.position is not None:
        anchor = anchor_at(world, pull, commit, (anchor.path, remark.position))
    origin = origin_of(world, pull, commit, anchor)
    number = world.ids.take("thread")
    thread = Thread(number, "", pull, origin, anchor, origin.position, commit)
    thread.node = world.known("thread", number, thread)
    if commit != pull.head:
        settle(world, thread)
    pull.threads.append(thread)
    return _add(world, caller, thread, review, body)


def comment(world: World, caller: Caller, pull: Pull, remark: Remark) -> Comment:
    """One comment for itself, published at once."""
    check_unlocked(caller, pull.issue)
    pending = _pending(pull, caller)
    review = pending or silent_review(world, caller, pull, remark.commit or pull.head)
    try:
        made = begin(world, caller, review, remark)
    except Exception:
        if pending is None:
            pull.reviews.remove(review)
        raise
    publish(world, caller, review, [made])
    return made


def reply(world: World, caller: Caller, thread: Thread, body: str) -> Comment:
    pull = thread.pull
    check_unlocked(caller, pull.issue)
    text = check_body(body)
    review = _pending(pull, caller) or silent_review(world, caller, pull, thread.commit)
    made = _add(world, caller, thread, review, text)
    publish(world, caller, review, [made])
    return made


def _add(world: World, caller: Caller, thread: Thread, review: Review, body: str) -> Comment:
    number = world.ids.take("comment")
    made = Comment(number, "", thread, review, said(world, caller, body))
    made.node = world.known("comment", number, made)
    made.reply_to = thread.comments[0].reply_to or thread.comments[0].id if thread.comments else None
    thread.comments.append(made)
    review.comments.append(made)
    world.lag.created(made.node)
    return made


def publish(world: World, caller: Caller, review: Review, comments: list[Comment]) -> None:
    """Tell of a review and of the comments that came with it, unless it is still a draft."""
    if review.state == "PENDING":
        return
    pull, actor = review.pull, caller.someone
    pull.issue.said.updated = world.clock.moment()
    world.lag.created(review.node)
    parts = {"review": review, "pull_request": pull}
    world.emit(Happening("pull_request_review", "submitted", actor, pull.repo, parts))
    for one in comments:
        tell(world, caller, one, "created")


def tell(world: World, caller: Caller, comment: Comment, action: str, **parts: object) -> None:
    pull = comment.thread.pull
    about = {**parts, "comment": comment, "pull_request": pull}
    world.emit(Happening("pull_request_review_comment", action, caller.someone, pull.repo, about))


def edit(world: World, caller: Caller, comment: Comment, body: str) -> None:
    check_edit(caller, comment.thread.pull.repo, comment.said)
    before, after = comment.said.body, check_body(body)
    comment.said.edit(after, caller.someone, world.clock.moment())
    comment.thread.pull.issue.said.updated = comment.said.updated
    if comment.review.state != "PENDING":
        tell(world, caller, comment, "edited", changes={"body": {"from": before}})


def delete(world: World, caller: Caller, comment: Comment) -> None:
    """Gone from its thread; with its last comment a thread is gone too."""
    check_edit(caller, comment.thread.pull.repo, comment.said)
    thread = comment.thread
    if comment.review.state != "PENDING":
        tell(world, caller, comment, "deleted")
    thread.comments.remove(comment)
    comment.review.comments.remove(comment)
    world.nodes.pop(comment.node, None)
    if not thread.comments:
        thread.pull.threads.remove(thread)
        world.nodes.pop(thread.node, None)
    thread.pull.issue.said.updated = world.clock.moment()


def resolve(world: World, caller: Caller, thread: Thread) -> None:
    if not may_resolve(caller, thread):
        raise forbidden()
    if thread.resolved_by is None:
        thread.resolved_by = caller.someone
        _tell_thread(world, caller, thread, "resolved")


def unresolve(world: World, caller: Caller, thread: Thread) -> None:
    if not may_resolve(caller, thread):
        raise forbidden()
    if thread.resolved_by is not None:
        thread.resolved_by = None
        _tell_thread(world, caller, thread, "unresolved")


def _tell_thread(world: World, caller: Caller, thread: Thread, action: str) -> None:
    parts = {"thread": thread, "pull_request": thread.pull}
    world.emit(Happening("pull_request_review_thread", action, caller.someone, thread.pull.repo, parts))


def _pending(pull: Pull, caller: Caller) -> Review | None:
    own = (one for one in pull.reviews if one.state == "PENDING" and one.said.author is caller.account)
    return next(own, None)
