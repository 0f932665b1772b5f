"""Labels and assignees of issues and pull requests."""

from __future__ import annotations

from collections.abc import Sequence

from amends.doubles.github.caller import Caller
from amends.doubles.github.refusal import Refused, field_error, invalid
from amends.doubles.github.state.accounts import Account
from amends.doubles.github.state.repositories import Label, Repository
from amends.doubles.github.state.talk import Issue, Mark
from amends.doubles.github.state.world import Happening, World


def label(world: World, repo: Repository, name: str) -> Label:
    """The repository's label; adding one that nobody made makes it."""
    found = find(repo, name)
    return found or create(world, repo, name)


def find(repo: Repository, name: str) -> Label | None:
    return next((one for one in repo.labels if one.name.casefold() == name.casefold()), None)


def create(world: World, repo: Repository, name: str, color: str = "ededed", description: str | None = None) -> Label:
    if find(repo, name) is not None:
        raise invalid(field_error("Label", "name", "already_exists"))
    number = world.ids.take("label")
    made = Label(number, "", name, color, description)
    made.node = world.known("label", number, made)
    repo.labels.append(made)
    return made


def add(world: World, caller: Caller, issue: Issue, names: Sequence[str]) -> None:
    for name in names:
        one = label(world, issue.repo, name)
        if one not in issue.labels:
            issue.labels.append(one)
            _tell(world, caller, issue, "labeled", one)


def remove(world: World, caller: Caller, issue: Issue, name: str) -> None:
    one = find(issue.repo, name)
    if one is None or one not in issue.labels:
        raise Refused(404, "Label does not exist")
    issue.labels.remove(one)
    _tell(world, caller, issue, "unlabeled", one)


def replace(world: World, caller: Caller, issue: Issue, names: Sequence[str]) -> None:
    wanted = {name.casefold() for name in names}
    for one in [one for one in issue.labels if one.name.casefold() not in wanted]:
        remove(world, caller, issue, one.name)
    add(world, caller, issue, names)


def assign(world: World, caller: Caller, issue: Issue, accounts: Sequence[Account]) -> None:
    for one in accounts:
        if one not in issue.assignees:
            issue.assignees.append(one)
            _tell(world, caller, issue, "assigned", one)


def unassign(world: World, caller: Caller, issue: Issue, accounts: Sequence[Account]) -> None:
    for one in accounts:
        if one in issue.assignees:
            issue.assignees.remove(one)
            _tell(world, caller, issue, "unassigned", one)


def _tell(world: World, caller: Caller, issue: Issue, action: str, one: Label | Account) -> None:
    issue.said.updated = world.clock.moment()
    issue.timeline.append(Mark(action, caller.someone, issue.said.updated, one))
    if issue.pull is not None:
        name = "label" if isinstance(one, Label) else "assignee"
        parts = {"pull_request": issue.pull, name: one}
        world.emit(Happening("pull_request", action, caller.someone, issue.repo, parts))
