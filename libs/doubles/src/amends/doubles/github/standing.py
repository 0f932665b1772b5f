"""How a pull request stands: its checks, whether it merges, and why not."""

from __future__ import annotations

from amends.doubles.github.anchors import base_tip
from amends.doubles.github.rules import decision, protection_of, shown_threads
from amends.doubles.github.state.repositories import CheckRun, Repository, Status
from amends.doubles.github.state.talk import Pull
from amends.doubles.github.state.world import World

_BAD = {"failure", "timed_out", "cancelled", "action_required", "startup_failure", "stale"}


def conflicts(world: World, pull: Pull) -> bool:
    return world.git.conflicts(pull.repo.folder, base_tip(pull), pull.head)


def mergeable_state(world: World, pull: Pull) -> str:
    """`mergeable_state` of REST; GraphQL says the same in capitals."""
    rule = protection_of(pull)
    if conflicts(world, pull):
        return "dirty"
    if pull.draft:
        return "draft"
    missing = any(outcome(pull.repo, pull.head, name) != "success" for name in rule.checks)
    unresolved = rule.resolve_conversations and any(thread.resolved_by is None for thread in shown_threads(pull, None))
    if missing or unresolved or decision(pull) in {"CHANGES_REQUESTED", "REVIEW_REQUIRED"}:
        return "blocked"
    return "unstable" if rollup(pull.repo, pull.head) not in {None, "SUCCESS"} else "clean"


def latest_runs(repo: Repository, sha: str) -> list[CheckRun]:
    """The last run of each name of each App; earlier ones of the same name stay listed elsewhere."""
    last: dict[tuple[int, str], CheckRun] = {}
    for suite in repo.suites:
        if suite.sha == sha:
            last |= {(suite.app.id, run.name): run for run in suite.runs}
    return list(last.values())


def latest_statuses(repo: Repository, sha: str) -> list[Status]:
    """The last status of each context, newest first."""
    last = {one.context: one for one in repo.statuses if one.sha == sha}
    return sorted(last.values(), key=lambda one: one.id, reverse=True)


def combined(repo: Repository, sha: str) -> str:
    """The combined status; `pending` also where there is none at all."""
    states = {one.state for one in latest_statuses(repo, sha)}
    if states & {"failure", "error"}:
        return "failure"
    return "success" if states == {"success"} else "pending"


def outcome(repo: Repository, sha: str, name: str) -> str | None:
    """What the check or status of this name came to, None as long as it did not."""
    for run in latest_runs(repo, sha):
        if run.name == name:
            return "success" if run.conclusion in {"success", "neutral", "skipped"} else run.conclusion
    return next((one.state for one in latest_statuses(repo, sha) if one.context == name), None)


def rollup(repo: Repository, sha: str) -> str | None:
    """The state of all checks and statuses together, None where there are none."""
    runs, statuses = latest_runs(repo, sha), latest_statuses(repo, sha)
    if not runs and not statuses:
        return None
    if any(one.state == "error" for one in statuses):
        return "ERROR"
    if any(run.conclusion in _BAD for run in runs) or any(one.state == "failure" for one in statuses):
        return "FAILURE"
    waiting = any(run.status != "completed" for run in runs) or any(one.state == "pending" for one in statuses)
    return "PENDING" if waiting else "SUCCESS"
