"""What an event says, at the moment it happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from amends.doubles.github.acts.pushes import RefChange
from amends.doubles.github.clock import stamp
from amends.doubles.github.git import ZERO
from amends.doubles.github.refusal import Json
from amends.doubles.github.shapes import accounts, checks, commits, pulls, repositories, talk
from amends.doubles.github.state.accounts import Account, Installation, Team
from amends.doubles.github.state.repositories import CheckRun, CheckSuite, Label, Repository, Status
from amends.doubles.github.state.talk import Comment, Issue, IssueComment, Pull, Review, Thread
from amends.doubles.github.state.world import Happening, World


def payload(world: World, one: Happening) -> Json:
    """The event's body; what depends on the hook (the installation) is added when it is addressed."""
    said: Json = {"action": one.action} if one.action else {}
    for name, part in one.parts.items():
        said |= _top(world, one, part) or {name: shape(world, one, part)}
    pull = one.parts.get("pull_request")
    if one.event == "pull_request" and isinstance(pull, Pull):
        said["number"] = pull.number
    if one.repo is not None:
        said["repository"] = repositories.repository(world, one.repo)
        if one.repo.owner.kind == "Organization":
            said["organization"] = accounts.organization(world.urls, one.repo.owner)
    return {**said, "sender": accounts.user(world.urls, one.actor)}


def shape(world: World, one: Happening, part: object) -> object:  # noqa: C901 - one arm per kind of thing
    match part:
        case Pull():
            return _pull(world, one.event, part)
        case Review():
            return talk.told_review(world, part)
        case Comment():
            return talk.comment(world, part)
        case Thread():
            return {"node_id": part.node, "comments": [talk.comment(world, said) for said in part.comments]}
        case Issue():
            return talk.issue(world, part)
        case IssueComment():
            return talk.told_issue_comment(world, part)
        case CheckRun():
            return checks.told_run(world, part)
        case CheckSuite():
            return checks.told_suite(world, part)
        case _:
            return _small(world, one, part)


def _small(world: World, one: Happening, part: object) -> object:
    match part:
        case Account(kind="Organization"):
            return accounts.organization(world.urls, part)
        case Account():
            return accounts.user(world.urls, part)
        case Team():
            return accounts.told_team(world.urls, part)
        case Installation():
            return told_installation(world, part)
        case Label() if one.repo is not None:
            return repositories.label(world, one.repo, part)
        case Mapping():
            return {key: shape(world, one, value) for key, value in part.items()}
        case [Repository(), *_]:
            return accounts.installation_repositories(world, cast("list[Repository]", part))
        case _:
            return part


def _pull(world: World, event: str, pull: Pull) -> Json:
    if event == "pull_request":
        return pulls.full(world, pull, computed=False)
    if event == "pull_request_review_comment":
        return pulls.slim(world, pull)
    return pulls.simple(world, pull)


def _top(world: World, one: Happening, part: object) -> Json:
    """Parts whose fields are the event's own."""
    if one.repo is None:
        return {}
    if isinstance(part, Status):
        return checks.told_status(world, one.repo, part)
    if isinstance(part, RefChange):
        return push(world, one.repo, part, one.actor)
    return {}


def told_installation(world: World, one: Installation) -> Json:
    """With times as numbers, unlike everywhere else."""
    said = accounts.installation(world.urls, one)
    times = {"created_at": int(one.created.timestamp()), "updated_at": int(one.created.timestamp())}
    return {**said, **times}


def push(world: World, repo: Repository, change: RefChange, pusher: Account) -> Json:
    gone, new = change.after == ZERO, change.before == ZERO
    base = None if new else world.git.merge_base(repo.folder, change.before, change.after) if not gone else None
    shas: Sequence[str] = () if gone or new else world.git.log(repo.folder, change.before, change.after)
    told = [_pushed(world, repo, sha) for sha in shas]
    html = world.urls.html(f"/{repo.full_name}/compare/{change.before[:12]}...{change.after[:12]}")
    return {
        "ref": change.ref,
        "before": change.before,
        "after": change.after,
        "created": new,
        "deleted": gone,
        "forced": not new and not gone and base != change.before,
        "base_ref": None,
        "compare": html,
        "commits": told,
        "head_commit": None if gone else _pushed(world, repo, change.after),
        "pusher": {"name": pusher.login, "email": f"{pusher.id}+{pusher.login}@users.noreply.github.com"},
    }


def _pushed(world: World, repo: Repository, sha: str) -> Json:
    one = world.git.commit(repo.folder, sha)
    parent = one.parents[0] if one.parents else None
    files = world.git.diff(repo.folder, parent, sha) if parent else ()
    lists = {"added": ["added"], "removed": ["removed"], "modified": ["modified", "renamed", "changed"]}
    return {
        **commits.told_commit(world, repo, sha),
        "distinct": True,
        "url": world.urls.html(f"/{repo.full_name}/commit/{sha}"),
        "timestamp": stamp(one.committer.at),
        **{name: [file.path for file in files if file.status in kinds] for name, kinds in lists.items()},
    }
