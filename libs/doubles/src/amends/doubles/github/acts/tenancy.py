"""Who is here and what is whose: Apps installed and removed, repositories made, renamed, moved, accounts deleted."""

from __future__ import annotations

from collections.abc import Sequence

from amends.doubles.github.acts import pulls, pushes
from amends.doubles.github.acts.pushes import RefChange
from amends.doubles.github.caller import Caller
from amends.doubles.github.git import ZERO
from amends.doubles.github.ids import node_id
from amends.doubles.github.refusal import invalid
from amends.doubles.github.state.accounts import Account, App, Installation, Permissions, Team
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.world import Happening, World
from amends.doubles.github.tokens import private_key

# What a GitHub App of this product asks for (facts, section 3).
USUAL: Permissions = {
    "metadata": "read",
    "pull_requests": "write",
    "contents": "write",
    "checks": "read",
    "statuses": "read",
    "issues": "write",
    "members": "read",
}
EVENTS = (
    "pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread",
    "issue_comment", "check_suite", "check_run", "status", "repository",
)  # fmt: skip


def add_repository(world: World, owner: Account, name: str, *, private: bool = True) -> Repository:
    full_name = f"{owner.login}/{name}".casefold()
    taken = world.names.get(full_name)
    if taken is not None and not taken.gone and taken.full_name.casefold() == full_name:
        raise invalid(f"{name} already exists on this account")
    number = world.ids.take("repository")
    folder = world.git.root / f"{number}.git"
    repo = Repository(number, "", owner, name, folder, world.clock.moment(), private)
    repo.node = world.known("repository", number, repo)
    world.repositories[number] = repo
    world.names[full_name] = repo
    world.git.create(folder, repo.default_branch)
    return repo


def fork(world: World, parent: Repository, owner: Account) -> Repository:
    made = add_repository(world, owner, parent.name, private=parent.private)
    made.parent = parent
    world.git.copy(parent.folder, made.folder)
    made.branches = world.git.branches(made.folder)
    return made


def add_team(world: World, organization: Account, slug: str, members: Sequence[Account]) -> Team:
    number = world.ids.take("team")
    team = Team(number, "", organization, slug, {one.id for one in members})
    team.node = world.known("team", number, team)
    world.teams[number] = team
    return team


def add_app(world: World, slug: str, owner: Account, permissions: Permissions | None = None) -> App:
    number = 15_368 if slug == "github-actions" else world.ids.take("app")
    bot = world.add_account(f"{slug}[bot]", "Bot")
    held = {"metadata": "read", **(USUAL if permissions is None else permissions)}
    app = App(number, "", slug, owner, bot, held, list(EVENTS), private_key(slug), world.clock.moment())
    app.node, app.client_id = world.known("app", number, app), f"Iv23li{number:014d}"
    world.apps.append(app)
    return app


def install(world: World, app: App, account: Account, selected: Sequence[Repository] | None = None) -> Installation:
    number, now = world.ids.take("installation"), world.clock.moment()
    chosen = None if selected is None else list(selected)
    made = Installation(number, "", app, account, dict(app.permissions), now, chosen)
    made.node = node_id("installation", str(number))
    world.installations[number] = made
    _tell(world, made, "installation", "created", repositories=covered(world, made))
    return made


def covered(world: World, installation: Installation) -> list[Repository]:
    return [repo for repo in world.repositories.values() if installation.covers(repo) and not repo.gone]


def uninstall(world: World, installation: Installation) -> None:
    """Its tokens die at once; the last webhook is about that."""
    repositories = covered(world, installation)
    installation.removed = True
    _tell(world, installation, "installation", "deleted", repositories=repositories)
    world.installations.pop(installation.id, None)


def suspend(world: World, installation: Installation, *, on: bool = True) -> None:
    installation.suspended = world.clock.moment() if on else None
    action = "suspend" if on else "unsuspend"
    _tell(world, installation, "installation", action, repositories=covered(world, installation))


def select(world: World, installation: Installation, repo: Repository, *, on: bool) -> None:
    """Add a repository to an installation, or take it out."""
    before = covered(world, installation)
    if (repo in before) == on:
        return
    installation.selected = [*before, repo] if on else [one for one in before if one is not repo]
    parts = {
        "repositories_added": [repo] if on else [],
        "repositories_removed": [] if on else [repo],
        "repository_selection": "selected",
        "requester": None,
    }
    _tell(world, installation, "installation_repositories", "added" if on else "removed", **parts)


def _tell(world: World, installation: Installation, event: str, action: str, **parts: object) -> None:
    about = {"installation": installation, **parts}
    world.emit(Happening(event, action, installation.account, None, about))


def rename(world: World, caller: Caller, repo: Repository, name: str) -> None:
    """The old name redirects; the number stays."""
    before, repo.name = repo.name, name
    world.names[repo.full_name.casefold()] = repo
    changes = {"repository": {"name": {"from": before}}}
    world.emit(Happening("repository", "renamed", caller.someone, repo, {"changes": changes}))


def transfer(world: World, caller: Caller, repo: Repository, owner: Account) -> None:
    """To another owner: installations of the old one lose it."""
    before, repo.owner = repo.owner, owner
    world.names[repo.full_name.casefold()] = repo
    kind = "organization" if before.kind == "Organization" else "user"
    parts = {"changes": {"owner": {"from": {kind: before}}}}
    world.emit(Happening("repository", "transferred", caller.someone, repo, parts))


def archive(world: World, caller: Caller, repo: Repository) -> None:
    repo.archived = True
    world.emit(Happening("repository", "archived", caller.someone, repo))


def delete_repository(world: World, caller: Caller, repo: Repository) -> None:
    """Pull requests from it lose their head repository and are closed."""
    repo.gone = True
    world.emit(Happening("repository", "deleted", caller.someone, repo))
    for owner in world.repositories.values():
        for pull in owner.pulls:
            if pull.head_repo is repo and owner is not repo:
                pull.head_repo = None
                pulls.close(world, caller, pull.issue)


def rename_branch(world: World, caller: Caller, repo: Repository, old: str, new: str) -> None:
    """Pull requests against it follow; those from it are closed (GitHub documents both)."""
    tip = repo.branches[old]
    world.git.set_ref(repo.folder, f"refs/heads/{new}", tip)
    repo.branches[new] = tip
    for pull in repo.pulls:
        if pull.issue.open and pull.base_ref == old:
            pulls.retarget(world, caller, pull, new)
    if old in repo.protections:
        repo.protections[new] = repo.protections.pop(old)
    repo.default_branch = new if repo.default_branch == old else repo.default_branch
    world.git.delete_ref(repo.folder, f"refs/heads/{old}")
    pushes.note(world, caller, repo, [RefChange(f"refs/heads/{old}", tip, ZERO)])


def delete_account(world: World, account: Account) -> None:
    """What was said stays, by nobody."""
    account.gone = True
    for repo in world.repositories.values():
        repo.collaborators.pop(account.id, None)
        for pull in repo.pulls:
            pull.reviewers[:] = [one for one in pull.reviewers if one is not account]
    for grant in world.grants.values():
        grant.revoked = grant.revoked or grant.account is account
