"""Deliveries about pull requests and about what is said in them."""

from __future__ import annotations

from amends.common.events import AnyFact, CommandGiven
from amends.common.github.models import Pull
from amends.common.github.sightings import (
    Speech,
    commanded,
    comment_gone,
    conversation_comment,
    line_comment,
    only_orders,
    own,
    pull_seen,
    review_body_edited,
    reviewed,
    thread_turned,
)
from amends.gateway.found import Found, Sight
from amends.gateway.payloads import (
    Delivery,
    OfIssueComment,
    OfPull,
    OfReview,
    OfReviewComment,
    OfThread,
    Unreadable,
)


def pull(sight: Sight, delivery: OfPull) -> Found:
    pull = _its(sight, delivery.pull_request).whole
    return sight.of(pull, pull_seen(pull, sight.full_name))


def review(sight: Sight, delivery: OfReview) -> Found:
    pull, review = _its(sight, delivery.pull_request), delivery.review
    stands = pull_seen(pull, sight.full_name)
    if own(review, sight.ours):
        return sight.of(pull, stands, otherwise="our_own")
    said: list[AnyFact | None]
    match delivery.action:
        case "submitted":
            said = [reviewed(review, sight.ours), commanded(review, sight.ours)]
        case "dismissed":
            said = [reviewed(review.model_copy(update={"state": "dismissed"}), sight.ours)]
        case "edited":  # in case nobody told us of the review itself
            order = _order(sight, review, delivery, edited=True)
            said = [reviewed(review, sight.ours), review_body_edited(review, sight.ours), order]
        case _:
            return sight.ignored("action_not_followed")
    if said[0] is None:
        return sight.ignored("not_submitted")
    return sight.of(pull, stands, *said)


def review_comment(sight: Sight, delivery: OfReviewComment) -> Found:
    pull, comment = _its(sight, delivery.pull_request), delivery.comment
    stands = pull_seen(pull, sight.full_name)
    if own(comment, sight.ours):
        return sight.of(pull, stands, otherwise="our_own")
    if delivery.action == "deleted":
        return sight.of(pull, stands, comment_gone(comment))
    if delivery.action not in {"created", "edited"}:
        return sight.ignored("action_not_followed")
    edited = delivery.action == "edited"
    order = _order(sight, comment, delivery, edited=edited)
    # A command is no feedback; one that feedback was edited into is news of that feedback.
    said = None if only_orders(comment) and not edited else line_comment(comment, sight.ours, edited=edited)
    return sight.of(pull, stands, said, order)


def issue_comment(sight: Sight, delivery: OfIssueComment) -> Found:
    number, comment = delivery.issue.number, delivery.comment
    if delivery.issue.pull_request is None:
        return sight.ignored("not_a_pull_request")
    told = delivery.issue.repository_url
    if told and not told.lower().endswith(f"/{sight.full_name.lower()}"):
        raise Unreadable("issue.repository_url: it is not what repository.full_name says")
    if own(comment, sight.ours):
        return sight.ignored("our_own")
    if delivery.action == "deleted":
        return sight.of(number, comment_gone(comment))
    if delivery.action not in {"created", "edited"}:
        return sight.ignored("action_not_followed")
    edited = delivery.action == "edited"
    order = _order(sight, comment, delivery, edited=edited)
    said = None if only_orders(comment) and not edited else conversation_comment(comment, sight.ours, edited=edited)
    return sight.of(number, said, order)


def thread(sight: Sight, delivery: OfThread) -> Found:
    pull = _its(sight, delivery.pull_request)
    if delivery.action not in {"resolved", "unresolved"}:
        return sight.ignored("action_not_followed")
    turned = thread_turned(delivery.thread, delivery.updated_at, resolved=delivery.action == "resolved")
    return sight.of(pull, pull_seen(pull, sight.full_name), turned) if turned else sight.ignored("not_named")


def _its(sight: Sight, pull: Pull) -> Pull:
    """The pull request, which must be one of the repository that the delivery is about."""
    base = pull.base.repo
    if base and (base.id != sight.repo or base.full_name.lower() not in {"", sight.full_name.lower()}):
        raise Unreadable("pull_request.base.repo: it is another repository than `repository`")
    return pull


def _order(sight: Sight, said: Speech, delivery: Delivery, *, edited: bool) -> CommandGiven | None:
    """The command in a text. Who may write may also put words into another's mouth: an edit counts by its author."""
    by, sender = said.user, delivery.sender
    if edited and (by is None or sender is None or by.id != sender.id):
        return None
    return commanded(said, sight.ours)
