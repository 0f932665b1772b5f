"""Reviews, threads and inline comments in GraphQL: the only place that knows what is resolved."""

from __future__ import annotations

from amends.doubles.github.caller import at_least
from amends.doubles.github.clock import maybe_stamp
from amends.doubles.github.graphql.connections import Page, connection, page
from amends.doubles.github.graphql.fields import Arguments, Asking, add
from amends.doubles.github.graphql.people import shown
from amends.doubles.github.graphql.said import at, minimizable, text_fields
from amends.doubles.github.refusal import Refused
from amends.doubles.github.rules import check_unlocked, may_resolve, shown_reviews, shown_threads, standing
from amends.doubles.github.state.talk import Comment, Pull, Review, Thread


def reviews(pull: Pull, asking: Asking, arguments: Arguments) -> Page:
    wanted, author = arguments.get("states"), arguments.get("author")
    found = [
        one
        for one in _visible(pull, asking)
        if (not wanted or one.state in wanted) and (not author or one.said.author.login == author)
    ]
    return page("reviews", arguments, found, lambda one: one.id)


def _visible(pull: Pull, asking: Asking) -> list[Review]:
    return [one for one in shown_reviews(pull, asking.caller.account) if not asking.world.lag.hidden(one.node)]


def opinions(pull: Pull, _: Asking, arguments: Arguments) -> Page:
    """`latestOpinionatedReviews`: a later comment is no opinion."""
    found = standing(pull)
    if arguments.get("writersOnly"):
        found = [one for one in found if at_least(pull.repo, one.said.author, "write")]
    return page("latestOpinionatedReviews", arguments, sorted(found, key=lambda one: one.id), lambda one: one.id)


def latest(pull: Pull, asking: Asking, arguments: Arguments) -> Page:
    """`latestReviews`: each reviewer's last of any kind, unless he is asked again."""
    last = {one.said.author.id: one for one in _visible(pull, asking) if one.state != "PENDING"}
    found = [one for one in last.values() if one.said.author not in pull.reviewers]
    return page("latestReviews", arguments, sorted(found, key=lambda one: one.id), lambda one: one.id)


def threads(pull: Pull, asking: Asking, arguments: Arguments) -> Page:
    """Oldest first, always: there is no order to ask for."""
    return page("reviewThreads", arguments, shown_threads(pull, asking.caller.account), lambda one: one.id)


def _comments(thread: Thread, asking: Asking, arguments: Arguments) -> Page:
    return page("comments", arguments, _said(thread.comments, asking), lambda one: one.id)


def _said(comments: list[Comment], asking: Asking) -> list[Comment]:
    viewer, lag = asking.caller.account, asking.world.lag
    return [
        one
        for one in comments
        if (one.review.state != "PENDING" or one.said.author is viewer) and not lag.hidden(one.node)
    ]


def _may_reply(thread: Thread, asking: Asking, _: Arguments) -> bool:
    try:
        check_unlocked(asking.caller, thread.pull.issue)
    except Refused:
        return False
    return asking.caller.account is not None


def _may_resolve(thread: Thread, asking: Asking, _: Arguments) -> bool:
    return thread.resolved_by is None and may_resolve(asking.caller, thread)


def _may_unresolve(thread: Thread, asking: Asking, _: Arguments) -> bool:
    return thread.resolved_by is not None and may_resolve(asking.caller, thread)


add(
    "PullRequestReviewThread",
    {
        "id": lambda one, _, __: one.node,
        "isResolved": lambda one, _, __: one.resolved_by is not None,
        "isOutdated": lambda one, _, __: one.current is None,
        "isCollapsed": lambda one, _, __: one.resolved_by is not None,
        "path": lambda one, _, __: (one.current or one.origin.anchor).path,
        "line": lambda one, _, __: one.current.line if one.current else None,
        "startLine": lambda one, _, __: one.current.start_line if one.current else None,
        "originalLine": lambda one, _, __: one.origin.anchor.line,
        "originalStartLine": lambda one, _, __: one.origin.anchor.start_line,
        "diffSide": lambda one, _, __: one.origin.anchor.side,
        "startDiffSide": lambda one, _, __: one.origin.anchor.start_side,
        "subjectType": lambda one, _, __: one.origin.anchor.subject.upper(),
        "resolvedBy": lambda one, _, __: shown(one.resolved_by),
        "viewerCanReply": _may_reply,
        "viewerCanResolve": _may_resolve,
        "viewerCanUnresolve": _may_unresolve,
        "pullRequest": lambda one, _, __: one.pull,
        "repository": lambda one, _, __: one.pull.repo,
        "comments": _comments,
    },
)
connection("PullRequestReviewThread")
add(
    "PullRequestReviewComment",
    {
        **text_fields(),
        **minimizable(),
        **at(lambda one: f"/{one.thread.pull.repo.full_name}/pull/{one.thread.pull.number}#discussion_r{one.id}"),
        "path": lambda one, _, __: (one.thread.current or one.thread.origin.anchor).path,
        "diffHunk": lambda one, _, __: one.thread.origin.hunk,
        "line": lambda one, _, __: one.thread.current.line if one.thread.current else None,
        "startLine": lambda one, _, __: one.thread.current.start_line if one.thread.current else None,
        "originalLine": lambda one, _, __: one.thread.origin.anchor.line,
        "originalStartLine": lambda one, _, __: one.thread.origin.anchor.start_line,
        "position": lambda one, _, __: one.thread.position,
        "originalPosition": lambda one, _, __: one.thread.origin.position or 1,
        "outdated": lambda one, _, __: one.thread.current is None,
        "subjectType": lambda one, _, __: one.thread.origin.anchor.subject.upper(),
        "state": lambda one, _, __: "PENDING" if one.review.state == "PENDING" else "SUBMITTED",
        "replyTo": lambda one, _, __: _by_number(one, one.reply_to),
        "commit": lambda one, asking, _: asking.world.commit(one.thread.pull.repo, one.thread.commit),
        "originalCommit": lambda one, asking, _: asking.world.commit(one.thread.pull.repo, one.thread.origin.commit),
        "pullRequest": lambda one, _, __: one.thread.pull,
        "pullRequestReview": lambda one, _, __: one.review,
    },
)
connection("PullRequestReviewComment")


def _by_number(one: Comment, number: int | None) -> Comment | None:
    return next((each for each in one.thread.comments if each.id == number), None)


add(
    "PullRequestReview",
    {
        **text_fields(),
        **minimizable(),
        **at(lambda one: f"/{one.pull.repo.full_name}/pull/{one.pull.number}#pullrequestreview-{one.id}"),
        "state": lambda one, _, __: one.state,
        "submittedAt": lambda one, _, __: maybe_stamp(one.submitted),
        "commit": lambda one, asking, _: asking.world.commit(one.pull.repo, one.commit),
        "pullRequest": lambda one, _, __: one.pull,
        "comments": lambda one, asking, arguments: page(
            "comments", arguments, _said(one.comments, asking), lambda each: each.id
        ),
    },
)
connection("PullRequestReview")
