"""Reviews, inline comments, conversation comments, reactions and issues as JSON."""

from __future__ import annotations

from collections import Counter

from amends.doubles.github.acts.words import REACTIONS
from amends.doubles.github.clock import maybe_stamp, stamp
from amends.doubles.github.refusal import Json
from amends.doubles.github.rules import association
from amends.doubles.github.shapes.accounts import maybe_app, maybe_user, told_app
from amends.doubles.github.shapes.repositories import label
from amends.doubles.github.state.talk import Comment, Issue, IssueComment, Pull, Reaction, Review, Said
from amends.doubles.github.state.world import World


def reactions(api: str, said: Said) -> Json:
    counts = Counter(one.content for one in said.reactions)
    return {"url": f"{api}/reactions", "total_count": counts.total(), **{one: counts[one] for one in REACTIONS}}


def reaction(world: World, one: Reaction) -> Json:
    return {
        "id": one.id,
        "node_id": f"REA_{one.id}",
        "user": maybe_user(world.urls, one.account),
        "content": one.content,
        "created_at": stamp(one.created),
    }


def review(world: World, one: Review) -> Json:
    """As REST lists it, with the state in capitals."""
    pull, urls = one.pull, world.urls
    html = urls.html(f"/{pull.repo.full_name}/pull/{pull.number}#pullrequestreview-{one.id}")
    api = urls.api(f"/repos/{pull.repo.full_name}/pulls/{pull.number}")
    shape = {
        "id": one.id,
        "node_id": one.node,
        "user": maybe_user(urls, one.said.author),
        "body": one.said.body,
        "state": one.state,
        "html_url": html,
        "pull_request_url": api,
        "author_association": association(pull.repo, one.said.author),
        "_links": {"html": {"href": html}, "pull_request": {"href": api}},
        "submitted_at": maybe_stamp(one.submitted),
        "commit_id": one.commit,
    }
    if one.submitted is None:
        del shape["submitted_at"]
    return shape


def told_review(world: World, one: Review) -> Json:
    """As webhooks tell it: the state in lower case, no body as null."""
    return {**review(world, one), "state": one.state.lower(), "body": one.said.body or None}


def comment(world: World, one: Comment) -> Json:
    """An inline comment: outdated, it has no line and no position, and keeps the original ones."""
    thread, urls = one.thread, world.urls
    pull, origin, anchor = thread.pull, thread.origin, thread.current
    api = urls.api(f"/repos/{pull.repo.full_name}/pulls/comments/{one.id}")
    html = urls.html(f"/{pull.repo.full_name}/pull/{pull.number}#discussion_r{one.id}")
    pull_api = urls.api(f"/repos/{pull.repo.full_name}/pulls/{pull.number}")
    lines = origin.anchor
    shape = {
        "url": api,
        "pull_request_review_id": one.review.id,
        "id": one.id,
        "node_id": one.node,
        "diff_hunk": origin.hunk,
        "path": (anchor or lines).path,
        "commit_id": thread.commit,
        "original_commit_id": origin.commit,
        "user": maybe_user(urls, one.said.author),
        "body": one.said.body,
        "created_at": stamp(one.said.created),
        "updated_at": stamp(one.said.updated),
        "html_url": html,
        "pull_request_url": pull_api,
        "author_association": association(pull.repo, one.said.author),
        "_links": {"self": {"href": api}, "html": {"href": html}, "pull_request": {"href": pull_api}},
        "reactions": reactions(api, one.said),
        "start_line": None if anchor is None else anchor.start_line,
        "original_start_line": lines.start_line,
        "start_side": _start_side(lines.start_line, lines.start_side or lines.side),
        "line": None if anchor is None else anchor.line,
        "original_line": lines.line,
        "side": lines.side,
        "original_position": origin.position,
        "position": thread.position,
        "subject_type": lines.subject,
    }
    return shape if one.reply_to is None else {**shape, "in_reply_to_id": one.reply_to}


def _start_side(line: int | None, side: str) -> str | None:
    return None if line is None else side


def review_listed(world: World, one: Comment) -> Json:
    """As `reviews/{id}/comments` has it: by position only, with no line anywhere."""
    lines = {"start_line", "original_start_line", "start_side", "line", "original_line", "side", "subject_type"}
    return {key: value for key, value in comment(world, one).items() if key not in lines}


def issue_comment(world: World, one: IssueComment) -> Json:
    issue, urls = one.issue, world.urls
    api = urls.api(f"/repos/{issue.repo.full_name}/issues/comments/{one.id}")
    page = "issues" if issue.pull is None else "pull"
    return {
        "url": api,
        "html_url": urls.html(f"/{issue.repo.full_name}/{page}/{issue.number}#issuecomment-{one.id}"),
        "issue_url": urls.api(f"/repos/{issue.repo.full_name}/issues/{issue.number}"),
        "id": one.id,
        "node_id": one.node,
        "user": maybe_user(urls, one.said.author),
        "created_at": stamp(one.said.created),
        "updated_at": stamp(one.said.updated),
        "author_association": association(issue.repo, one.said.author),
        "body": one.said.body,
        "reactions": reactions(api, one.said),
        "performed_via_github_app": maybe_app(urls, one.said.via),
    }


def told_issue_comment(world: World, one: IssueComment) -> Json:
    """As webhooks tell it."""
    via = None if one.said.via is None else told_app(world.urls, one.said.via)
    return {**issue_comment(world, one), "performed_via_github_app": via}


def issue(world: World, one: Issue) -> Json:
    """An issue; a pull request is one too, and says so."""
    urls, name = world.urls, one.repo.full_name
    api = urls.api(f"/repos/{name}/issues/{one.number}")
    page = "issues" if one.pull is None else "pull"
    shape: Json = {
        "url": api,
        "repository_url": urls.api(f"/repos/{name}"),
        "labels_url": f"{api}/labels{{/name}}",
        "comments_url": f"{api}/comments",
        "events_url": f"{api}/events",
        "html_url": urls.html(f"/{name}/{page}/{one.number}"),
        "id": one.id,
        "node_id": one.node if one.pull is None else one.pull.node,
        "number": one.number,
        "title": one.title,
        "user": maybe_user(urls, one.said.author),
        "labels": [label(world, one.repo, name) for name in one.labels],
        "state": "open" if one.open else "closed",
        "locked": one.locked,
        "assignee": maybe_user(urls, one.assignees[0]) if one.assignees else None,
        "assignees": [maybe_user(urls, account) for account in one.assignees],
        "milestone": None,
        "comments": len(one.comments),
        "created_at": stamp(one.said.created),
        "updated_at": stamp(one.said.updated),
        "closed_at": maybe_stamp(one.closed),
        "author_association": association(one.repo, one.said.author),
        "active_lock_reason": one.lock_reason,
        "body": one.said.body or None,
        "reactions": reactions(api, one.said),
        "timeline_url": f"{api}/timeline",
        "performed_via_github_app": maybe_app(urls, one.said.via),
        "state_reason": None,
    }
    return shape if one.pull is None else {**shape, **_as_pull(world, one, one.pull)}


def _as_pull(world: World, one: Issue, pull: Pull) -> Json:
    name, urls = one.repo.full_name, world.urls
    html = urls.html(f"/{name}/pull/{one.number}")
    marker = {
        "url": urls.api(f"/repos/{name}/pulls/{one.number}"),
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "merged_at": maybe_stamp(pull.merged),
    }
    return {"draft": pull.draft, "pull_request": marker}
