"""Reviews: written, submitted, edited, dismissed."""

from __future__ import annotations

from dataclasses import dataclass

from amends.doubles.github.acts.threads import Remark, begin, publish
from amends.doubles.github.acts.words import check_body, said
from amends.doubles.github.caller import Caller, Need, allows
from amends.doubles.github.refusal import Refused, forbidden, invalid
from amends.doubles.github.rules import check_edit, check_own_review, check_unlocked
from amends.doubles.github.state.talk import Mark, Pull, Review, ReviewState
from amends.doubles.github.state.world import Happening, World

_STATES: dict[str, ReviewState] = {
    "APPROVE": "APPROVED",
    "REQUEST_CHANGES": "CHANGES_REQUESTED",
    "COMMENT": "COMMENTED",
}


@dataclass(frozen=True)
class Draft:
    """A review to be written; without an event it stays pending."""

    event: str | None = None
    body: str = ""
    commit: str | None = None
    remarks: tuple[Remark, ...] = ()


def write(world: World, caller: Caller, pull: Pull, draft: Draft) -> Review:
    account = caller.someone
    check_unlocked(caller, pull.issue)
    check_own_review(pull, account, draft.event)
    if any(one.state == "PENDING" and one.said.author is account for one in pull.reviews):
        raise invalid("User can only have one pending review per pull request", message="Unprocessable Entity")
    _check_event(draft.event, draft.body, has_remarks=bool(draft.remarks))
    number = world.ids.take("review")
    text = said(world, caller, check_body(draft.body, may_be_empty=True))
    review = Review(number, "", pull, text, "PENDING", draft.commit or pull.head)
    review.node = world.known("review", number, review)
    pull.reviews.append(review)
    threads = len(pull.threads)
    try:
        for remark in draft.remarks:
            begin(world, caller, review, remark)
    except Refused:
        # All or nothing: one bad comment refuses the whole review.
        del pull.threads[threads:]
        pull.reviews.remove(review)
        raise
    if draft.event is not None:
        _submit(world, caller, review, draft.event)
    return review


def submit(world: World, caller: Caller, review: Review, event: str, body: str | None = None) -> None:
    """Publish one's pending review."""
    if review.said.author is not caller.someone or review.state != "PENDING":
        raise invalid("Can not submit a review that is not pending", message="Unprocessable Entity")
    check_own_review(review.pull, caller.someone, event)
    if body is not None:
        review.said.body = check_body(body, may_be_empty=True)
    _check_event(event, review.said.body, has_remarks=bool(review.comments))
    _submit(world, caller, review, event)


def _submit(world: World, caller: Caller, review: Review, event: str) -> None:
    pull, account = review.pull, caller.someone
    review.state = _STATES[event]
    review.submitted = review.said.updated = world.clock.moment()
    # It keeps its id and its place in lists: a review that was begun long ago is not on the last page.
    if account in pull.reviewers:
        pull.reviewers.remove(account)
    pull.issue.timeline.append(Mark("reviewed", account, review.submitted, review))
    publish(world, caller, review, review.comments)


def _check_event(event: str | None, body: str, *, has_remarks: bool) -> None:
    if event is None:
        return
    if event not in _STATES:
        raise invalid(f"Variable $event of type PullRequestReviewEvent was provided invalid value: {event}")
    if event != "APPROVE" and not body.strip() and not has_remarks:
        said_wrong = "You need to leave a comment indicating the requested changes."
        raise invalid(said_wrong if event == "REQUEST_CHANGES" else "Body can't be blank", message="Validation Failed")


def edit(world: World, caller: Caller, review: Review, body: str) -> None:
    check_edit(caller, review.pull.repo, review.said)
    before = review.said.body
    review.said.edit(check_body(body, may_be_empty=True), caller.someone, world.clock.moment())
    if review.state != "PENDING":
        _tell(world, caller, review, "edited", changes={"body": {"from": before}})


def dismiss(world: World, caller: Caller, review: Review, message: str) -> None:
    """Rewrites the state in place, and leaves the body as it was."""
    if not allows(caller, review.pull.repo, Need("pull_requests", "write", "write")):
        raise forbidden()
    if review.state not in {"APPROVED", "CHANGES_REQUESTED"}:
        raise invalid(f"Can not dismiss a {review.state.lower()} pull request review", message="Unprocessable Entity")
    drop(world, caller, review, message)


def drop(world: World, caller: Caller, review: Review, message: str) -> None:
    review.state = "DISMISSED"
    now = review.pull.issue.said.updated = world.clock.moment()
    review.pull.issue.timeline.append(Mark("review_dismissed", caller.someone, now, (review, message)))
    _tell(world, caller, review, "dismissed")


def discard(world: World, caller: Caller, review: Review) -> None:
    """Throw a pending review away, with its comments."""
    if review.state != "PENDING" or review.said.author is not caller.someone:
        raise invalid("Can not delete a non-pending pull request review", message="Unprocessable Entity")
    for one in list(review.comments):
        one.thread.comments.remove(one)
    pull = review.pull
    pull.threads[:] = [thread for thread in pull.threads if thread.comments]
    pull.reviews.remove(review)
    world.nodes.pop(review.node, None)


def _tell(world: World, caller: Caller, review: Review, action: str, **parts: object) -> None:
    about = {**parts, "review": review, "pull_request": review.pull}
    world.emit(Happening("pull_request_review", action, caller.someone, review.pull.repo, about))
