"""Checks and statuses as JSON."""

from __future__ import annotations

from amends.doubles.github.clock import maybe_stamp, stamp
from amends.doubles.github.refusal import Json
from amends.doubles.github.shapes.accounts import app, maybe_user, told_app
from amends.doubles.github.shapes.commits import commit, told_commit
from amends.doubles.github.shapes.pulls import reference
from amends.doubles.github.shapes.repositories import minimal
from amends.doubles.github.state.repositories import CheckRun, CheckSuite, Repository, Status
from amends.doubles.github.state.world import World


def pulls_of(world: World, suite: CheckSuite) -> list[Json]:
    """The open pull requests of this head; none where the head is in a fork."""
    return [
        reference(world, pull)
        for pull in suite.repo.pulls
        if pull.head == suite.sha and pull.issue.open and not pull.foreign
    ]


def run(world: World, one: CheckRun) -> Json:
    suite = one.suite
    api = world.urls.api(f"/repos/{suite.repo.full_name}/check-runs/{one.id}")
    html = world.urls.html(f"/{suite.repo.full_name}/runs/{one.id}")
    return {
        "id": one.id,
        "name": one.name,
        "node_id": one.node,
        "head_sha": suite.sha,
        "external_id": one.external_id,
        "url": api,
        "html_url": html,
        "details_url": one.details_url or html,
        "status": one.status,
        "conclusion": one.conclusion,
        "started_at": stamp(one.started),
        "completed_at": maybe_stamp(one.completed),
        "output": {
            "title": one.title,
            "summary": one.summary,
            "text": one.text,
            "annotations_count": len(one.annotations),
            "annotations_url": f"{api}/annotations",
        },
        "check_suite": {"id": suite.id},
        "app": app(world.urls, suite.app),
        "pull_requests": pulls_of(world, suite),
    }


def told_run(world: World, one: CheckRun) -> Json:
    """As the webhook tells it, with more of its suite."""
    told = told_app(world.urls, one.suite.app)
    return {**run(world, one), "app": told, "check_suite": {**suite_core(world, one.suite), "app": told}}


def suite_core(world: World, one: CheckSuite) -> Json:
    return {
        "id": one.id,
        "node_id": one.node,
        "head_branch": one.branch,
        "head_sha": one.sha,
        "status": one.status,
        "conclusion": one.conclusion,
        "url": world.urls.api(f"/repos/{one.repo.full_name}/check-suites/{one.id}"),
        "before": one.before,
        "after": one.sha,
        "pull_requests": pulls_of(world, one),
        "app": app(world.urls, one.app),
        "created_at": stamp(one.created),
        "updated_at": stamp(one.updated),
    }


def told_suite(world: World, one: CheckSuite) -> Json:
    core = suite_core(world, one)
    return {
        **core,
        "app": told_app(world.urls, one.app),
        "latest_check_runs_count": len(one.runs),
        "check_runs_url": f"{core['url']}/check-runs",
        "head_commit": told_commit(world, one.repo, one.sha),
    }


def suite(world: World, one: CheckSuite) -> Json:
    return {**told_suite(world, one), "app": app(world.urls, one.app), "repository": minimal(world, one.repo)}


def annotations_of(world: World, one: CheckRun) -> list[Json]:
    blob = world.urls.html(f"/{one.suite.repo.full_name}/blob/{one.suite.sha}")
    return [
        {
            "path": note.path,
            "start_line": note.start_line,
            "end_line": note.end_line,
            "start_column": None,
            "end_column": None,
            "annotation_level": note.level,
            "title": note.title,
            "message": note.message,
            "raw_details": None,
            "blob_href": f"{blob}/{note.path}",
        }
        for note in one.annotations
    ]


def status(world: World, repo: Repository, one: Status) -> Json:
    return {**simple_status(world, repo, one), "creator": maybe_user(world.urls, one.creator)}


def simple_status(world: World, repo: Repository, one: Status) -> Json:
    return {
        "url": world.urls.api(f"/repos/{repo.full_name}/statuses/{one.sha}"),
        "avatar_url": world.urls.html(f"/avatars/u/{one.creator.id}?v=4"),
        "id": one.id,
        "node_id": one.node,
        "state": one.state,
        "description": one.description,
        "target_url": one.target_url,
        "context": one.context,
        "created_at": stamp(one.created),
        "updated_at": stamp(one.created),
    }


def told_status(world: World, repo: Repository, one: Status) -> Json:
    """The status event has its fields at the top, and the branches that point there."""
    api = world.urls.api(f"/repos/{repo.full_name}/commits")
    branches = [
        {"name": name, "commit": {"sha": sha, "url": f"{api}/{sha}"}, "protected": name in repo.protections}
        for name, sha in repo.branches.items()
        if sha == one.sha
    ]
    return {
        "id": one.id,
        "sha": one.sha,
        "name": repo.full_name,
        "target_url": one.target_url,
        "avatar_url": world.urls.html(f"/avatars/u/{one.creator.id}?v=4"),
        "context": one.context,
        "description": one.description,
        "state": one.state,
        "commit": commit(world, repo, one.sha),
        "branches": branches,
        "created_at": stamp(one.created),
        "updated_at": stamp(one.created),
    }
