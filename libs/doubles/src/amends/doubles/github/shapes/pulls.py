"""Pull requests as JSON: listed, in full, and slim as review events carry them."""

from __future__ import annotations

from amends.doubles.github.anchors import files_of, merge_base
from amends.doubles.github.clock import maybe_stamp, stamp
from amends.doubles.github.refusal import Json
from amends.doubles.github.rules import association, shown_threads
from amends.doubles.github.shapes.accounts import maybe_user, team, user
from amends.doubles.github.shapes.repositories import embedded, label
from amends.doubles.github.standing import mergeable_state
from amends.doubles.github.state.talk import Pull
from amends.doubles.github.state.world import World


def simple(world: World, pull: Pull, head: str | None = None) -> Json:
    """As a list has it. `head` is what a replica that is behind still shows."""
    issue, urls, name = pull.issue, world.urls, pull.repo.full_name
    api = urls.api(f"/repos/{name}/pulls/{pull.number}")
    html = urls.html(f"/{name}/pull/{pull.number}")
    sha = head or pull.head
    return {
        "url": api,
        "id": pull.id,
        "node_id": pull.node,
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": urls.api(f"/repos/{name}/issues/{pull.number}"),
        "number": pull.number,
        "state": "open" if issue.open else "closed",
        "locked": issue.locked,
        "title": issue.title,
        "user": maybe_user(urls, issue.said.author),
        "body": issue.said.body or None,
        "created_at": stamp(issue.said.created),
        "updated_at": stamp(issue.said.updated),
        "closed_at": maybe_stamp(issue.closed),
        "merged_at": maybe_stamp(pull.merged),
        "merge_commit_sha": pull.merge_commit,
        "assignee": maybe_user(urls, issue.assignees[0]) if issue.assignees else None,
        "assignees": [user(urls, one) for one in issue.assignees],
        "requested_reviewers": [user(urls, one) for one in pull.reviewers if one.kind == "User"],
        "requested_teams": [team(urls, one) for one in pull.teams],
        "labels": [label(world, pull.repo, one) for one in issue.labels],
        "milestone": None,
        "draft": pull.draft,
        "commits_url": f"{api}/commits",
        "review_comments_url": f"{api}/comments",
        "review_comment_url": urls.api(f"/repos/{name}/pulls/comments{{/number}}"),
        "comments_url": urls.api(f"/repos/{name}/issues/{pull.number}/comments"),
        "statuses_url": urls.api(f"/repos/{name}/statuses/{sha}"),
        "head": _head(world, pull, sha),
        "base": _end(world, pull),
        "_links": _links(world, pull, sha),
        "author_association": association(pull.repo, issue.said.author),
        "auto_merge": None,
        "active_lock_reason": issue.lock_reason,
    }


def full(world: World, pull: Pull, head: str | None = None, *, computed: bool = True) -> Json:
    """The answer to a question for one pull request. Whether it merges is computed later than webhooks are sent."""
    sha = head or pull.head
    base = merge_base(world, pull, sha)
    files = files_of(world, pull, sha)
    known = computed and pull.issue.open
    state = mergeable_state(world, pull) if known else "unknown"
    return {
        **simple(world, pull, head),
        "merged": pull.merged is not None,
        "mergeable": state != "dirty" if known else None,
        "rebaseable": state != "dirty" if known else None,
        "mergeable_state": state,
        "merged_by": maybe_user(world.urls, pull.merged_by),
        "comments": len(pull.issue.comments),
        "review_comments": sum(len(one.comments) for one in shown_threads(pull, None)),
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": len(world.git.log(pull.repo.folder, base, sha)),
        "additions": sum(one.additions for one in files),
        "deletions": sum(one.deletions for one in files),
        "changed_files": len(files),
    }


def slim(world: World, pull: Pull) -> Json:
    """As inline comment events carry it: they do not even say whether it is a draft."""
    return {key: value for key, value in simple(world, pull).items() if key != "draft"}


def reference(world: World, pull: Pull) -> Json:
    """As checks refer to it."""

    def end(ref: str, sha: str) -> Json:
        repo = pull.repo
        where = {"id": repo.id, "url": world.urls.api(f"/repos/{repo.full_name}"), "name": repo.name}
        return {"ref": ref, "sha": sha, "repo": where}

    return {
        "url": world.urls.api(f"/repos/{pull.repo.full_name}/pulls/{pull.number}"),
        "id": pull.id,
        "number": pull.number,
        "head": end(pull.head_ref, pull.head),
        "base": end(pull.base_ref, pull.base),
    }


def _head(world: World, pull: Pull, sha: str) -> Json:
    repo = None if pull.head_repo is None or pull.head_repo.gone else pull.head_repo
    owner = pull.head_owner if repo is None else repo.owner
    return {
        "label": f"{owner.login}:{pull.head_ref}",
        "ref": pull.head_ref,
        "sha": sha,
        "user": maybe_user(world.urls, owner),
        "repo": None if repo is None else embedded(world, repo),
    }


def _end(world: World, pull: Pull) -> Json:
    repo = pull.repo
    return {
        "label": f"{repo.owner.login}:{pull.base_ref}",
        "ref": pull.base_ref,
        "sha": pull.base,
        "user": user(world.urls, repo.owner),
        "repo": embedded(world, repo),
    }


def _links(world: World, pull: Pull, sha: str) -> Json:
    urls, name, number = world.urls, pull.repo.full_name, pull.number
    pulls, issues = urls.api(f"/repos/{name}/pulls"), urls.api(f"/repos/{name}/issues/{number}")
    hrefs = {
        "self": f"{pulls}/{number}",
        "html": urls.html(f"/{name}/pull/{number}"),
        "issue": issues,
        "comments": f"{issues}/comments",
        "review_comments": f"{pulls}/{number}/comments",
        "review_comment": f"{pulls}/comments{{/number}}",
        "commits": f"{pulls}/{number}/commits",
        "statuses": urls.api(f"/repos/{name}/statuses/{sha}"),
    }
    return {name: {"href": href} for name, href in hrefs.items()}
