"""Pull requests in GraphQL."""

from __future__ import annotations

from amends.doubles.github.anchors import files_of, merge_base
from amends.doubles.github.clock import maybe_stamp
from amends.doubles.github.diff import FileDiff
from amends.doubles.github.graphql.checks import rollup_of
from amends.doubles.github.graphql.connections import Page, connection, page
from amends.doubles.github.graphql.fields import Arguments, Asking, Fields, add
from amends.doubles.github.graphql.people import shown
from amends.doubles.github.graphql.reviews import latest, opinions, reviews, threads
from amends.doubles.github.graphql.said import at, conversation, text_fields
from amends.doubles.github.ids import node_id
from amends.doubles.github.rules import decision
from amends.doubles.github.shapes.protection import rules
from amends.doubles.github.standing import conflicts, mergeable_state
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.talk import Pull

_STATES = {"draft": "DRAFT", "dirty": "DIRTY", "blocked": "BLOCKED", "unstable": "UNSTABLE", "clean": "CLEAN"}
_CHANGES = {"added": "ADDED", "removed": "DELETED", "modified": "MODIFIED", "renamed": "RENAMED", "copied": "COPIED"}


def _head(pull: Pull, asking: Asking, _: Arguments) -> str:
    return asking.world.lag.head(pull.node, pull.head)


def _state(pull: Pull, _: Asking, __: Arguments) -> str:
    if pull.merged is not None:
        return "MERGED"
    return "OPEN" if pull.issue.open else "CLOSED"


def _mergeable(pull: Pull, asking: Asking, _: Arguments) -> str:
    if not pull.issue.open or asking.world.lag.unmerged(pull.node):
        return "UNKNOWN"
    return "CONFLICTING" if conflicts(asking.world, pull) else "MERGEABLE"


def _merge_state(pull: Pull, asking: Asking, _: Arguments) -> str:
    return _STATES[mergeable_state(asking.world, pull)] if pull.issue.open else "UNKNOWN"


def _requests(pull: Pull, _: Asking, arguments: Arguments) -> Page:
    """People, teams and, unlike in REST, bots."""
    asked = [(pull, one) for one in [*pull.reviewers, *pull.teams]]
    return page("reviewRequests", arguments, asked, lambda each: each[1].id)


def _commits(pull: Pull, asking: Asking, arguments: Arguments) -> Page:
    base = merge_base(asking.world, pull, pull.head)
    shas = asking.world.git.log(pull.repo.folder, base, pull.head)
    return page("commits", arguments, [asking.world.commit(pull.repo, sha) for sha in shas])


def _files(pull: Pull, asking: Asking, arguments: Arguments) -> Page:
    return page("files", arguments, files_of(asking.world, pull), lambda one: one.path)


def _sum(pull: Pull, asking: Asking, name: str) -> int:
    return sum(int(getattr(one, name)) for one in files_of(asking.world, pull))


def _own(pull: Pull) -> Repository | None:
    return None if pull.head_repo is None or pull.head_repo.gone else pull.head_repo


_CORE: Fields = {
    "id": lambda one, _, __: one.node,
    "number": lambda one, _, __: one.number,
    "title": lambda one, _, __: one.issue.title,
    "state": _state,
    "closed": lambda one, _, __: not one.issue.open,
    "closedAt": lambda one, _, __: maybe_stamp(one.issue.closed),
    "merged": lambda one, _, __: one.merged is not None,
    "mergedAt": lambda one, _, __: maybe_stamp(one.merged),
    "mergedBy": lambda one, _, __: shown(one.merged_by),
    "isDraft": lambda one, _, __: one.draft,
    "locked": lambda one, _, __: one.issue.locked,
    "isInMergeQueue": lambda one, _, __: one.queued,
    "isCrossRepository": lambda one, _, __: one.foreign,
    "maintainerCanModify": lambda one, _, __: one.maintainer_can_modify,
    "headRefName": lambda one, _, __: one.head_ref,
    "headRefOid": _head,
    "headRef": lambda one, _, __: None if _own(one) is None else ref_of(one.head_repo, one.head_ref),
    "headRepository": lambda one, _, __: _own(one),
    "headRepositoryOwner": lambda one, _, __: shown(one.head_owner),
    "baseRefName": lambda one, _, __: one.base_ref,
    "baseRefOid": lambda one, _, __: one.base,
    "baseRef": lambda one, _, __: ref_of(one.repo, one.base_ref),
    "baseRepository": lambda one, _, __: one.repo,
    "mergeCommit": lambda one, a, __: None if one.merge_commit is None else a.world.commit(one.repo, one.merge_commit),
    "mergeable": _mergeable,
    "mergeStateStatus": _merge_state,
    "reviewDecision": lambda one, _, __: decision(one),
    "statusCheckRollup": lambda one, _, __: rollup_of(one.repo, one.head),
}
_LISTS: Fields = {
    "labels": lambda one, _, arguments: page("labels", arguments, one.issue.labels, lambda each: each.id),
    "assignees": lambda one, _, arguments: page("assignees", arguments, one.issue.assignees, lambda each: each.id),
    "comments": lambda one, asking, arguments: conversation(one.issue, asking, arguments),
    "reviews": reviews,
    "latestReviews": latest,
    "latestOpinionatedReviews": opinions,
    "reviewThreads": threads,
    "reviewRequests": _requests,
    "commits": _commits,
    "files": _files,
    "changedFiles": lambda one, asking, _: len(files_of(asking.world, one)),
    "additions": lambda one, asking, _: _sum(one, asking, "additions"),
    "deletions": lambda one, asking, _: _sum(one, asking, "deletions"),
    "totalCommentsCount": lambda one, _, __: len(one.issue.comments) + sum(len(each.comments) for each in one.threads),
}


def ref_of(repo: Repository, name: str) -> tuple[Repository, str] | None:
    return (repo, name) if name in repo.branches else None


def _rule(one: tuple[Repository, str], _: Asking, __: Arguments) -> tuple[Repository, str] | None:
    return one if rules(*one) else None


add("PullRequest", {**text_fields(), **at(lambda one: f"/{one.repo.full_name}/pull/{one.number}"), **_CORE, **_LISTS})
add("PullRequest", {"permalink": lambda one, a, _: a.world.urls.html(f"/{one.repo.full_name}/pull/{one.number}")})
connection("PullRequest")
add(
    "ReviewRequest",
    {
        "id": lambda one, _, __: node_id("request", f"{one[0].id}:{one[1].id}"),
        "databaseId": lambda one, _, __: one[1].id,
        "asCodeOwner": lambda _, __, ___: False,
        "requestedReviewer": lambda one, _, __: one[1],
        "pullRequest": lambda one, _, __: one[0],
    },
)
connection("ReviewRequest")
add("PullRequestCommit", {"id": lambda one, _, __: f"PRC_{one.sha}", "commit": lambda one, _, __: one})
connection("PullRequestCommit")


def _change(one: FileDiff, _: Asking, __: Arguments) -> str:
    return _CHANGES.get(one.status, "CHANGED")


add(
    "PullRequestChangedFile",
    {
        "path": lambda one, _, __: one.path,
        "additions": lambda one, _, __: one.additions,
        "deletions": lambda one, _, __: one.deletions,
        "changeType": _change,
    },
)
connection("PullRequestChangedFile")
add(
    "Ref",
    {
        "id": lambda one, _, __: node_id("ref", f"{one[0].id}:refs/heads/{one[1]}"),
        "name": lambda one, _, __: one[1],
        "prefix": lambda _, __, ___: "refs/heads/",
        "target": lambda one, asking, _: asking.world.commit(one[0], one[0].branches[one[1]]),
        "repository": lambda one, _, __: one[0],
        "branchProtectionRule": _rule,
    },
)
add(
    "BranchProtectionRule",
    {
        "id": lambda one, _, __: f"BPR_{one[0].id}_{one[1]}",
        "pattern": lambda one, _, __: one[1],
        "requiresApprovingReviews": lambda one, _, __: one[0].protections[one[1]].approvals is not None,
        "requiredApprovingReviewCount": lambda one, _, __: one[0].protections[one[1]].approvals,
        "dismissesStaleReviews": lambda one, _, __: one[0].protections[one[1]].dismiss_stale,
        "requiresConversationResolution": lambda one, _, __: one[0].protections[one[1]].resolve_conversations,
        "requireLastPushApproval": lambda one, _, __: one[0].protections[one[1]].last_push_approval,
        "requiredStatusCheckContexts": lambda one, _, __: list(one[0].protections[one[1]].checks),
    },
)
