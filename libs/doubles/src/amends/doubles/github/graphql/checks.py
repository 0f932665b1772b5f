"""Commits with their checks and statuses in GraphQL."""

from __future__ import annotations

from dataclasses import dataclass

from amends.doubles.github.clock import maybe_stamp, stamp
from amends.doubles.github.git import Commit
from amends.doubles.github.graphql.connections import Page, connection, page
from amends.doubles.github.graphql.fields import Arguments, Asking, add
from amends.doubles.github.graphql.people import shown
from amends.doubles.github.refusal import Refused
from amends.doubles.github.rules import protection_of
from amends.doubles.github.shapes.commits import account_of
from amends.doubles.github.standing import latest_runs, latest_statuses, rollup
from amends.doubles.github.state.repositories import CheckRun, CommitAt, Repository, Status


@dataclass(frozen=True)
class Rollup:
    """All checks and statuses of one commit."""

    repo: Repository
    sha: str
    state: str


def rollup_of(repo: Repository, sha: str) -> Rollup | None:
    state = rollup(repo, sha)
    return None if state is None else Rollup(repo, sha, state)


def _contexts(one: Rollup, _: Asking, arguments: Arguments) -> Page:
    """The last run of each name and the last status of each context."""
    found = [*latest_runs(one.repo, one.sha), *latest_statuses(one.repo, one.sha)]
    return page("contexts", arguments, found, lambda each: each.id)


def _required(one: CheckRun | Status, asking: Asking, arguments: Arguments) -> bool:
    repo, name = (one.suite.repo, one.name) if isinstance(one, CheckRun) else (None, one.context)
    if repo is None:
        repo = next(each for each in asking.world.repositories.values() if one in each.statuses)
    number, node = arguments.get("pullRequestNumber"), arguments.get("pullRequestId")
    found = (pull for pull in repo.pulls if number == pull.number or node == pull.node)
    if (pull := next(found, None)) is None:
        raise Refused(422, "A pull request ID or pull request number is required.")
    return name in protection_of(pull).checks


def _upper(text: str | None) -> str | None:
    return None if text is None else text.upper()


add(
    "CheckRun",
    {
        "id": lambda one, _, __: one.node,
        "databaseId": lambda one, _, __: one.id if one.id < 2**31 else None,
        "name": lambda one, _, __: one.name,
        "status": lambda one, _, __: one.status.upper(),
        "conclusion": lambda one, _, __: _upper(one.conclusion),
        "startedAt": lambda one, _, __: stamp(one.started),
        "completedAt": lambda one, _, __: maybe_stamp(one.completed),
        "title": lambda one, _, __: one.title,
        "summary": lambda one, _, __: one.summary,
        "text": lambda one, _, __: one.text,
        "externalId": lambda one, _, __: one.external_id or None,
        "detailsUrl": lambda one, _, __: one.details_url,
        "url": lambda one, asking, _: asking.world.urls.html(f"/{one.suite.repo.full_name}/runs/{one.id}"),
        "permalink": lambda one, asking, _: asking.world.urls.html(f"/{one.suite.repo.full_name}/runs/{one.id}"),
        "checkSuite": lambda one, _, __: one.suite,
        "repository": lambda one, _, __: one.suite.repo,
        "isRequired": _required,
    },
)
connection("CheckRun")
add(
    "CheckSuite",
    {
        "id": lambda one, _, __: one.node,
        "databaseId": lambda one, _, __: one.id if one.id < 2**31 else None,
        "status": lambda one, _, __: one.status.upper(),
        "conclusion": lambda one, _, __: _upper(one.conclusion),
        "app": lambda one, _, __: one.app,
        "createdAt": lambda one, _, __: stamp(one.created),
        "updatedAt": lambda one, _, __: stamp(one.updated),
        "repository": lambda one, _, __: one.repo,
        "commit": lambda one, asking, _: asking.world.commit(one.repo, one.sha),
        "checkRuns": lambda one, _, arguments: page("checkRuns", arguments, one.runs, lambda each: each.id),
    },
)
connection("CheckSuite")
add(
    "StatusContext",
    {
        "id": lambda one, _, __: one.node,
        "context": lambda one, _, __: one.context,
        "state": lambda one, _, __: one.state.upper(),
        "description": lambda one, _, __: one.description,
        "targetUrl": lambda one, _, __: one.target_url,
        "createdAt": lambda one, _, __: stamp(one.created),
        "creator": lambda one, _, __: shown(one.creator),
        "isRequired": _required,
    },
)
add(
    "StatusCheckRollup",
    {
        "id": lambda one, _, __: f"SCR_{one.sha}",
        "state": lambda one, _, __: one.state,
        "contexts": _contexts,
        "commit": lambda one, asking, _: asking.world.commit(one.repo, one.sha),
    },
)
connection("StatusCheckRollupContext")


def _git(one: CommitAt, asking: Asking) -> Commit:
    return asking.world.git.commit(one.repo.folder, one.sha)


add(
    "GitActor",
    {
        "name": lambda one, _, __: one.name,
        "email": lambda one, _, __: one.email,
        "date": lambda one, _, __: stamp(one.at),
        "user": lambda one, asking, _: shown(account_of(asking.world, one)),
    },
)
add(
    "Commit",
    {
        "id": lambda one, _, __: one.node,
        "oid": lambda one, _, __: one.sha,
        "abbreviatedOid": lambda one, _, __: one.sha[:7],
        "url": lambda one, asking, _: asking.world.urls.html(f"/{one.repo.full_name}/commit/{one.sha}"),
        "message": lambda one, asking, _: _git(one, asking).message,
        "messageHeadline": lambda one, asking, _: _git(one, asking).message.partition("\n")[0],
        "committedDate": lambda one, asking, _: stamp(_git(one, asking).committer.at),
        "authoredDate": lambda one, asking, _: stamp(_git(one, asking).author.at),
        "author": lambda one, asking, _: _git(one, asking).author,
        "committer": lambda one, asking, _: _git(one, asking).committer,
        "statusCheckRollup": lambda one, _, __: rollup_of(one.repo, one.sha),
        "checkSuites": lambda one, _, arguments: page(
            "checkSuites", arguments, [each for each in one.repo.suites if each.sha == one.sha], lambda each: each.id
        ),
        "repository": lambda one, _, __: one.repo,
    },
)
