"""The App about itself, its installations and their tokens; what an installation token reaches."""

from __future__ import annotations

from collections.abc import Iterable

from amends.doubles.github.acts.tenancy import covered, uninstall
from amends.doubles.github.clock import maybe_stamp
from amends.doubles.github.refusal import Json, Refused, not_found
from amends.doubles.github.rest.call import NO_CONTENT, Answer, Call
from amends.doubles.github.rest.pages import paged, wrapped
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.shapes import accounts, repositories
from amends.doubles.github.state.accounts import Installation
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.tokens import installation_token

ROUTES = Routes()
_ONE = "/app/installations/{installation_id}"


@ROUTES.on("GET /app")
def app(call: Call) -> Answer:
    one = call.app
    count = sum(found.app is one for found in call.world.installations.values())
    return Answer(200, {**accounts.app(call.world.urls, one), "installations_count": count})


@ROUTES.on("GET /app/installations")
def installations(call: Call) -> Answer:
    found = [one for one in call.world.installations.values() if one.app is call.app]
    return paged(call, found, lambda one: accounts.installation(call.world.urls, one))


@ROUTES.on(f"GET {_ONE}")
def installation(call: Call) -> Answer:
    return Answer(200, accounts.installation(call.world.urls, _installation(call)))


@ROUTES.on(f"DELETE {_ONE}")
def uninstalled(call: Call) -> Answer:
    uninstall(call.world, _installation(call))
    return NO_CONTENT


def _installation(call: Call) -> Installation:
    found = call.world.installations.get(call.number("installation_id"))
    if found is None or found.app is not call.app:
        raise not_found()
    return found


@ROUTES.on(f"POST {_ONE}/access_tokens")
def token(call: Call) -> Answer:
    """Narrowed by repositories and permissions, never widened."""
    one, world = _installation(call), call.world
    if one.suspended is not None:
        raise Refused(403, "This installation has been suspended")
    chosen = _chosen(call, one)
    ids = None if chosen is None else frozenset(repo.id for repo in chosen)
    grant = installation_token(world, one, ids, call.fields.get("permissions"))
    content: Json = {
        "token": grant.token,
        "expires_at": maybe_stamp(grant.expires),
        "permissions": grant.permissions,
        "repository_selection": "selected" if ids is not None or one.selected is not None else "all",
    }
    if chosen is not None:
        content["repositories"] = [repositories.embedded(world, repo) for repo in chosen]
    return Answer(201, content)


def _chosen(call: Call, one: Installation) -> list[Repository] | None:
    """The repositories asked for by name or by number; the installation has to hold each."""
    names, ids = call.names("repositories"), call.fields.get("repository_ids") or []
    if not names and not ids:
        return None
    held = covered(call.world, one)
    by_name, by_id = {repo.name.casefold(): repo for repo in held}, {repo.id: repo for repo in held}
    asked: Iterable[Repository | None] = [by_name.get(name.casefold()) for name in names] + [by_id.get(n) for n in ids]
    found = [repo for repo in asked if repo is not None]
    if len(found) < len(names) + len(ids):
        raise Refused(
            422, "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
    return found


@ROUTES.on("GET /installation/repositories")
def reached(call: Call) -> Answer:
    one, grant, world = call.caller.installation, call.caller.grant, call.world
    if one is None or grant is None:
        raise Refused(
            403,
            "You must authenticate with an installation access token to list repositories for an installation.",
        )
    found = [repo for repo in covered(world, one) if grant.repositories is None or repo.id in grant.repositories]
    answer = wrapped(call, "repositories", found, lambda repo: repositories.embedded(world, repo))
    selection = "all" if one.selected is None else "selected"
    return Answer(200, {**answer.content, "repository_selection": selection}, answer.headers)


@ROUTES.on("DELETE /installation/token")
def revoked(call: Call) -> Answer:
    if call.caller.grant is None or call.caller.installation is None:
        raise Refused(401, "Bad credentials")
    call.caller.grant.revoked = True
    return NO_CONTENT
