"""The whole state as plain data, in the same order for the same story: two runs can be compared by `==`.

Left out is what differs between equal runs: ids, times, tokens, delivery ids and shas of commits (their trees stay).
"""

from __future__ import annotations

from amends.doubles.github.git import Commit
from amends.doubles.github.refusal import Json
from amends.doubles.github.standing import latest_runs, latest_statuses
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.talk import Comment, Issue, IssueComment, Pull, Review, Said, Thread
from amends.doubles.github.state.world import World


def dump(world: World) -> Json:
    repositories = sorted(world.repositories.values(), key=lambda one: one.id)
    return {
        "accounts": {one.login: "gone" if one.gone else one.kind for one in world.accounts.values()},
        "installations": [
            {"app": one.app.slug, "account": one.account.login, "suspended": one.suspended is not None}
            for one in world.installations.values()
        ],
        "repositories": {one.full_name: repository(world, one) for one in repositories if not one.gone},
    }


def repository(world: World, repo: Repository) -> Json:
    return {
        "archived": repo.archived,
        "branches": {name: history(world, repo, sha) for name, sha in sorted(repo.branches.items())},
        "labels": sorted(label.name for label in repo.labels),
        "issues": {number: issue(world, one) for number, one in sorted(repo.issues.items())},
    }


def history(world: World, repo: Repository, sha: str) -> list[Json]:
    """Newest first, by content: the same commit made at another time is the same."""
    found = [world.git.commit(repo.folder, one) for one in world.git.log(repo.folder, None, sha)]
    return [_commit(one) for one in reversed(found)]


def _commit(one: Commit) -> Json:
    return {"message": one.message, "tree": one.tree, "author": one.author.email, "parents": len(one.parents)}


def issue(world: World, one: Issue) -> Json:
    said: Json = {
        "title": one.title,
        "author": one.said.author.login,
        "open": one.open,
        "locked": one.locked,
        "labels": sorted(label.name for label in one.labels),
        "assignees": sorted(account.login for account in one.assignees),
        "comments": [_talk(comment) for comment in one.comments],
    }
    return said if one.pull is None else {**said, **pull(world, one.pull)}


def pull(world: World, one: Pull) -> Json:
    repo = one.repo
    return {
        "head": _commit(world.git.commit(repo.folder, one.head)),
        "head_ref": one.head_ref,
        "base_ref": one.base_ref,
        "draft": one.draft,
        "merged": one.merged is not None,
        "queued": one.queued,
        "heads": len(one.heads),
        "reviewers": sorted(account.login for account in one.reviewers),
        "teams": sorted(team.slug for team in one.teams),
        "reviews": [_review(review) for review in one.reviews if review.said.body or review.state != "COMMENTED"],
        "threads": [_thread(thread) for thread in one.threads],
        "checks": sorted([run.name, run.status, run.conclusion or ""] for run in latest_runs(repo, one.head)),
        "statuses": sorted([status.context, status.state] for status in latest_statuses(repo, one.head)),
    }


def _thread(one: Thread) -> Json:
    anchor = one.origin.anchor
    return {
        "path": anchor.path,
        "line": anchor.line,
        "side": anchor.side,
        "outdated": one.current is None,
        "resolved_by": one.resolved_by.login if one.resolved_by else None,
        "comments": [_talk(comment) for comment in one.comments],
    }


def _review(one: Review) -> Json:
    return {**_said(one.said), "state": one.state}


def _talk(one: Comment | IssueComment) -> Json:
    return _said(one.said)


def _said(said: Said) -> Json:
    reactions = sorted(f"{one.account.login} {one.content}" for one in said.reactions)
    return {"author": said.author.login, "body": said.body, "versions": len(said.versions), "reactions": reactions}
