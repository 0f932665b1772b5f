"""Checks and statuses of commits."""

from __future__ import annotations

from amends.doubles.github.acts import checks as acts
from amends.doubles.github.caller import Need
from amends.doubles.github.refusal import Refused, field_error, forbidden, invalid, not_found
from amends.doubles.github.rest.call import Answer, Call
from amends.doubles.github.rest.pages import paged, wrapped
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.shapes import checks
from amends.doubles.github.shapes.repositories import minimal
from amends.doubles.github.standing import combined, latest_runs, latest_statuses
from amends.doubles.github.state.repositories import CheckRun, CheckSuite

ROUTES = Routes()
_READ, _WRITE = Need("checks"), Need("checks", "write")
_AT = "/repos/{owner}/{repo}"


def sha_of(call: Call, name: str = "ref") -> str:
    """The commit that a part of the path names: a sha, a branch, `heads/x`."""
    found = call.world.git.resolve(call.repository.folder, call.params[name])
    if found is None:
        raise Refused(422, f"No commit found for SHA: {call.params[name]}")
    return found


@ROUTES.on(f"GET {_AT}/commits/{{ref}}/check-runs", _READ)
def runs_of_commit(call: Call) -> Answer:
    """`filter=latest`, the usual, shows one run per name; `all` shows those before it too."""
    repo, sha = call.repository, sha_of(call)
    everything = [run for suite in repo.suites if suite.sha == sha for run in suite.runs]
    shown = everything if call.query.get("filter") == "all" else latest_runs(repo, sha)
    for name, value in (("name", "check_name"), ("status", "status")):
        if wanted := call.query.get(value):
            shown = [run for run in shown if getattr(run, name) == wanted]
    shown = sorted(shown, key=lambda run: run.id, reverse=True)
    return wrapped(call, "check_runs", shown, lambda run: checks.run(call.world, run))


@ROUTES.on(f"GET {_AT}/commits/{{ref}}/check-suites", _READ)
def suites_of_commit(call: Call) -> Answer:
    sha = sha_of(call)
    found = [suite for suite in call.repository.suites if suite.sha == sha]
    return wrapped(call, "check_suites", found, lambda suite: checks.suite(call.world, suite))


@ROUTES.on(f"GET {_AT}/check-runs/{{check_run_id}}", _READ)
def run(call: Call) -> Answer:
    return Answer(200, checks.run(call.world, _run(call)))


def _run(call: Call) -> CheckRun:
    number = call.number("check_run_id")
    runs = (run for suite in call.repository.suites for run in suite.runs)
    if (found := next((run for run in runs if run.id == number), None)) is None:
        raise not_found()
    return found


@ROUTES.on(f"GET {_AT}/check-runs/{{check_run_id}}/annotations", _READ)
def annotated(call: Call) -> Answer:
    return paged(call, checks.annotations_of(call.world, _run(call)), lambda one: one)


@ROUTES.on(f"POST {_AT}/check-runs", _WRITE)
def started(call: Call) -> Answer:
    """Only Apps make check runs."""
    repo, app = call.repository, call.caller.via
    if app is None:
        raise forbidden("You must authenticate via a GitHub App.")
    sha = call.needed("head_sha")
    suite = next((one for one in repo.suites if one.app is app and one.sha == sha), None)
    suite = suite or acts.suite(call.world, app, repo, sha)
    made = acts.start(call.world, suite, call.needed("name"))
    _update(call, made)
    return Answer(201, checks.run(call.world, made))


@ROUTES.on(f"PATCH {_AT}/check-runs/{{check_run_id}}", _WRITE)
def updated(call: Call) -> Answer:
    found = _run(call)
    if found.suite.app is not call.caller.via:
        raise forbidden("Invalid app_id. The check run can only be modified by the GitHub App that created it.")
    _update(call, found)
    return Answer(200, checks.run(call.world, found))


def _update(call: Call, one: CheckRun) -> None:
    output = call.fields.get("output") or {}
    one.title, one.summary = output.get("title", one.title), output.get("summary", one.summary)
    one.text, one.external_id = output.get("text", one.text), call.text("external_id") or one.external_id
    one.details_url = call.text("details_url") or one.details_url
    conclusion, status = call.text("conclusion"), call.text("status")
    if status == "completed" and conclusion is None:
        raise invalid(field_error("CheckRun", "conclusion", "missing_field"))
    if conclusion is not None:
        acts.finish(call.world, one, conclusion)


@ROUTES.on(f"GET {_AT}/check-suites/{{check_suite_id}}", _READ)
def suite(call: Call) -> Answer:
    return Answer(200, checks.suite(call.world, _suite(call)))


def _suite(call: Call) -> CheckSuite:
    number = call.number("check_suite_id")
    if (found := next((one for one in call.repository.suites if one.id == number), None)) is None:
        raise not_found()
    return found


@ROUTES.on(f"GET {_AT}/check-suites/{{check_suite_id}}/check-runs", _READ)
def runs_of_suite(call: Call) -> Answer:
    return wrapped(call, "check_runs", _suite(call).runs, lambda one: checks.run(call.world, one))


@ROUTES.on(f"POST {_AT}/check-suites/{{check_suite_id}}/rerequest", _WRITE)
def rerequested(call: Call) -> Answer:
    acts.rerequest(call.world, _suite(call))
    return Answer(201, {})


@ROUTES.on(f"POST {_AT}/statuses/{{sha}}", Need("statuses", "write", "write"))
def reported(call: Call) -> Answer:
    sha, repo = call.params["sha"], call.repository
    if call.world.git.resolve(repo.folder, sha) != sha:
        raise Refused(422, f"No commit found for SHA: {sha}")
    said = {name: call.text(name) for name in ("state", "context", "description", "target_url")}
    made = acts.report_status(call.world, call.caller, repo, sha, said)
    return Answer(201, checks.status(call.world, repo, made))


@ROUTES.on(f"GET {_AT}/commits/{{ref}}/statuses", Need("statuses"))
def statuses(call: Call) -> Answer:
    sha, repo = sha_of(call), call.repository
    found = [one for one in reversed(repo.statuses) if one.sha == sha]
    return paged(call, found, lambda one: checks.status(call.world, repo, one))


@ROUTES.on(f"GET {_AT}/commits/{{ref}}/status", Need("statuses"))
def combined_status(call: Call) -> Answer:
    """Says `pending` also where nobody ever reported anything."""
    sha, repo, world = sha_of(call), call.repository, call.world
    found = latest_statuses(repo, sha)
    api = world.urls.api(f"/repos/{repo.full_name}/commits/{sha}")
    shown = paged(call, found, lambda one: checks.simple_status(world, repo, one))
    content = {
        "state": combined(repo, sha),
        "statuses": shown.content,
        "sha": sha,
        "total_count": len(found),
        "repository": minimal(world, repo),
        "commit_url": api,
        "url": f"{api}/status",
    }
    return Answer(200, content, shown.headers)
