"""Repositories, their collaborators and branch rules; accounts."""

from __future__ import annotations

from amends.doubles.github.acts import tenancy
from amends.doubles.github.caller import Need, role_of
from amends.doubles.github.refusal import Json, Refused, not_found
from amends.doubles.github.rest.call import NO_CONTENT, Answer, Call
from amends.doubles.github.rest.pages import paged
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.shapes import accounts, repositories
from amends.doubles.github.shapes.protection import rules
from amends.doubles.github.state.accounts import Account, Role

ROUTES = Routes()
_READ, _ADMIN = Need("metadata"), Need("administration", "write", "admin")
_AT = "/repos/{owner}/{repo}"
# What this endpoint knows: maintain counts as write, triage as read.
_LEGACY: dict[Role, str] = {
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
    "none": "none",
}


@ROUTES.on(f"GET {_AT}", _READ)
def one(call: Call) -> Answer:
    return Answer(200, repositories.full(call.world, call.repository, call.caller.account))


@ROUTES.on(f"PATCH {_AT}", _ADMIN)
def changed(call: Call) -> Answer:
    repo, world = call.repository, call.world
    if (name := call.text("name")) and name != repo.name:
        tenancy.rename(world, call.caller, repo, name)
    if call.fields.get("archived") is True:
        tenancy.archive(world, call.caller, repo)
    return Answer(200, repositories.full(world, repo, call.caller.account))


@ROUTES.on(f"GET {_AT}/collaborators", Need("metadata", "read", "write"))
def collaborators(call: Call) -> Answer:
    repo = call.repository
    everyone = [one for one in call.world.accounts.values() if one.kind == "User" and not one.gone]
    named = repo.collaborators.keys() | repo.owner.members | {repo.owner.id}
    found = [one for one in everyone if one.id in named and role_of(repo, one) != "none"]
    return paged(call, found, lambda one: {**_member(call, one), "role_name": role_of(repo, one)})


def _member(call: Call, account: Account) -> Json:
    granted = {"permissions": repositories.permissions(call.repository, account)}
    return {**accounts.user(call.world.urls, account), **granted}


@ROUTES.on(f"GET {_AT}/collaborators/{{username}}", Need("metadata", "read", "write"))
def is_collaborator(call: Call) -> Answer:
    account, repo = call.world.account(call.params["username"]), call.repository
    if account.id not in repo.collaborators.keys() | repo.owner.members | {repo.owner.id}:
        raise not_found()
    return NO_CONTENT


@ROUTES.on(f"GET {_AT}/collaborators/{{username}}/permission", _READ)
def permission(call: Call) -> Answer:
    """What somebody may now. An App's bot is no user and has no answer."""
    login, repo = call.params["username"], call.repository
    account = call.world.find_account(login)
    if account is None:
        raise not_found()
    if account.kind != "User":
        raise Refused(404, f"{login} is not a user")
    role = role_of(repo, account)
    user = {**_member(call, account), "role_name": role}
    return Answer(200, {"permission": _LEGACY[role], "role_name": role, "user": user})


@ROUTES.on(f"GET {_AT}/rules/branches/{{branch}}", _READ)
def rules_of_branch(call: Call) -> Answer:
    return paged(call, rules(call.repository, call.params["branch"]), lambda one: one)


@ROUTES.on(f"GET {_AT}/installation")
def installation(call: Call) -> Answer:
    """For the App itself, by its JWT."""
    found = call.world.installation_of(call.app, call.repository)
    if found is None:
        raise not_found()
    return Answer(200, accounts.installation(call.world.urls, found))


@ROUTES.on("GET /user")
def myself(call: Call) -> Answer:
    account, grant = call.caller.someone, call.caller.grant
    if grant is not None and grant.kind != "user":
        raise Refused(403, "Resource not accessible by integration")
    return Answer(200, accounts.public_user(call.world.urls, account))


@ROUTES.on("GET /users/{username}")
def by_login(call: Call) -> Answer:
    return Answer(200, accounts.public_user(call.world.urls, call.world.account(call.params["username"])))


@ROUTES.on("GET /user/{account_id}")
def by_id(call: Call) -> Answer:
    account = call.world.accounts.get(call.number("account_id"))
    if account is None or account.gone:
        raise not_found()
    return Answer(200, accounts.public_user(call.world.urls, account))
