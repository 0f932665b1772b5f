"""Checks and statuses: what runs on a head, what people report about a commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from amends.doubles.github.caller import Caller
from amends.doubles.github.git import ZERO
from amends.doubles.github.refusal import invalid
from amends.doubles.github.state.accounts import App
from amends.doubles.github.state.repositories import CheckRun, CheckSuite, Job, Repository, Status
from amends.doubles.github.state.world import Happening, World

STATES = ("error", "failure", "pending", "success")


def report_status(world: World, caller: Caller, repo: Repository, sha: str, said: Mapping[str, str | None]) -> Status:
    state = said.get("state") or ""
    if state not in STATES:
        raise invalid(f"State {state!r} is not included in the list", message="Validation Failed")
    number = world.ids.take("status")
    now = world.clock.moment()
    made = Status(number, "", sha, state, said.get("context") or "default", caller.someone, now)
    made.node = world.known("status", number, made)
    made.description, made.target_url = said.get("description"), said.get("target_url")
    repo.statuses.append(made)
    world.emit(Happening("status", "", caller.someone, repo, {"status": made}))
    return made


def suite(world: World, app: App, repo: Repository, sha: str) -> CheckSuite:
    """A new suite for one try: running again makes another one, with runs of the same names."""
    number, now = world.ids.take("check_suite"), world.clock.moment()
    # Known by the branch that points there; a fork's head is no branch of this repository.
    branch = next((name for name, tip in repo.branches.items() if tip == sha), None)
    made = CheckSuite(number, "", repo, app, sha, branch, ZERO, now, now)
    made.node = world.known("check_suite", number, made)
    repo.suites.append(made)
    return made


def start(world: World, of: CheckSuite, name: str) -> CheckRun:
    number = world.ids.take("check_run")
    run = CheckRun(number, "", of, name, world.clock.moment(), "in_progress")
    run.node = world.known("check_run", number, run)
    of.runs.append(run)
    _tell(world, "check_run", "created", run)
    return run


def finish(world: World, run: CheckRun, conclusion: str, summary: str | None = None) -> None:
    now = run.suite.updated = world.clock.moment()
    run.status, run.conclusion, run.completed = "completed", conclusion, now
    run.summary = summary if summary is not None else run.summary
    _tell(world, "check_run", "completed", run)
    if run.suite.status == "completed":
        _tell(world, "check_suite", "completed", run.suite)


def run_jobs(world: World, app: App, repo: Repository, sha: str, jobs: Iterable[Job]) -> CheckSuite:
    """One suite with a run per job; a job without a conclusion stays in progress."""
    made = suite(world, app, repo, sha)
    _tell(world, "check_suite", "requested", made)
    runs = [(start(world, made, job.name), job) for job in jobs]
    for run, job in runs:
        if job.conclusion is not None:
            finish(world, run, job.conclusion)
    return made


def rerequest(world: World, of: CheckSuite) -> CheckSuite:
    _tell(world, "check_suite", "rerequested", of)
    return run_jobs(world, of.app, of.repo, of.sha, of.repo.jobs)


def _tell(world: World, event: str, action: str, thing: CheckRun | CheckSuite) -> None:
    of = thing.suite if isinstance(thing, CheckRun) else thing
    world.emit(Happening(event, action, of.app.bot, of.repo, {event: thing}))
