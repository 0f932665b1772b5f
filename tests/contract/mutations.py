"""Every change that GraphQL can make, with what it needs, in an order in which all are possible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amends.doubles.github import GitHubDouble
from amends.doubles.github.control.pulls import PullHandle

Json = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """`document` takes $input; what it answers is of no interest here."""

    name: str
    input: Callable[[GitHubDouble, PullHandle], Json]
    answer: str = ""
    by: str = "octocat"

    @property
    def document(self) -> str:
        kind = self.name[0].upper() + self.name[1:]
        return f"mutation($input:{kind}Input!){{{self.name}(input:$input){{clientMutationId {self.answer}}}}}"


def _pull(**more: object) -> Callable[[GitHubDouble, PullHandle], Json]:
    return lambda _, pull: {"pullRequestId": pull.node_id, **more}


def _thread(_: GitHubDouble, pull: PullHandle) -> Json:
    return {"threadId": pull.threads[0].id}


def _pending(_: GitHubDouble, pull: PullHandle) -> str:
    return next(one.node for one in pull.of.reviews if one.state == "PENDING")


def _said(github: GitHubDouble, pull: PullHandle, **more: object) -> Json:
    return {"subjectId": pull.conversation[0].node_id, **more}


def _request(github: GitHubDouble, pull: PullHandle) -> Json:
    bot = github.bot("copilot-pull-request-reviewer", reviews_on_request=True)
    team = pull.repo.of.known_teams[0]
    people = {"userIds": [github.user("bob").node], "botIds": [bot.node], "teamIds": [team.node]}
    return {"pullRequestId": pull.node_id, **people, "union": True}


_REVIEW = "pullRequestReview{state}"
_HERE = {"path": "app.py", "line": 11, "side": "RIGHT", "body": "Here."}
_LABELS: Callable[[GitHubDouble, PullHandle], Json] = lambda _, pull: {  # noqa: E731
    "labelableId": pull.node_id,
    "labelIds": [pull.repo.of.labels[0].node],
}

MUTATIONS = [
    Change("resolveReviewThread", _thread, "thread{isResolved}"),
    Change("unresolveReviewThread", _thread, "thread{isResolved}"),
    Change(
        "addPullRequestReviewThreadReply",
        lambda _, pull: {"pullRequestReviewThreadId": pull.threads[0].id, "body": "Reply."},
        "comment{body}",
    ),
    Change("addPullRequestReviewThread", _pull(**_HERE), "thread{line}"),
    Change("addPullRequestReview", _pull(body="Draft.", threads=[_HERE]), _REVIEW, "bob"),
    Change(
        "updatePullRequestReview",
        lambda github, pull: {"pullRequestReviewId": _pending(github, pull), "body": "Better."},
        _REVIEW,
        "bob",
    ),
    Change("submitPullRequestReview", _pull(event="APPROVE"), _REVIEW, "bob"),
    Change(
        "dismissPullRequestReview",
        lambda _, pull: {"pullRequestReviewId": pull.of.reviews[-1].node, "message": "Again."},
        _REVIEW,
    ),
    Change(
        "deletePullRequestReview",
        lambda _, pull: {"pullRequestReviewId": pull.review("carol", "pending", "x").node_id},
        _REVIEW,
        "carol",
    ),
    Change("requestReviews", _request, "pullRequest{number} actor{login}"),
    Change(
        "addComment", lambda _, pull: {"subjectId": pull.node_id, "body": "Said."}, "commentEdge{cursor node{body}}"
    ),
    Change(
        "updateIssueComment",
        lambda _, pull: {"id": pull.conversation[-1].node_id, "body": "Edited."},
        "issueComment{body}",
    ),
    Change("deleteIssueComment", lambda _, pull: {"id": pull.conversation[-1].node_id}),
    Change(
        "updatePullRequestReviewComment",
        lambda _, pull: {"pullRequestReviewCommentId": pull.threads[0].root.node_id, "body": "Edited."},
        "pullRequestReviewComment{body}",
    ),
    Change("minimizeComment", lambda g, p: _said(g, p, classifier="OUTDATED"), "minimizedComment{isMinimized}"),
    Change("unminimizeComment", _said, "unminimizedComment{isMinimized}"),
    Change("addReaction", lambda g, p: _said(g, p, content="HEART"), "reaction{content} subject{id}"),
    Change("removeReaction", lambda g, p: _said(g, p, content="HEART"), "reaction{content} subject{id}"),
    Change("addLabelsToLabelable", _LABELS, "labelable{labels(first:9){totalCount}}"),
    Change("removeLabelsFromLabelable", _LABELS, "labelable{__typename}"),
    Change("convertPullRequestToDraft", _pull(), "pullRequest{isDraft}"),
    Change("markPullRequestReadyForReview", _pull(), "pullRequest{isDraft}"),
    Change("closePullRequest", _pull(), "pullRequest{state}"),
    Change("reopenPullRequest", _pull(), "pullRequest{state}"),
    Change("updatePullRequest", _pull(title="Titled", body="Text."), "pullRequest{title}"),
    Change(
        "deletePullRequestReviewComment",
        lambda _, pull: {"id": pull.threads[0].comments[-1].node_id},
        "pullRequestReview{state} pullRequestReviewComment{body}",
    ),
]
