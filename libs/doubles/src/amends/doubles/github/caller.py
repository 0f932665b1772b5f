"""Who asks, and what he may: people by their role, Apps by the permissions of their token."""

from __future__ import annotations

from dataclasses import dataclass

from amends.doubles.github.refusal import Refused, forbidden, not_found
from amends.doubles.github.state.accounts import RANK, Account, App, Grant, Installation, Role
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.world import World


@dataclass(frozen=True)
class Caller:
    """Nobody (no account, no app), an App by its own name (JWT), or whom a token speaks for."""

    account: Account | None = None
    app: App | None = None
    grant: Grant | None = None

    @property
    def installation(self) -> Installation | None:
        return None if self.grant is None else self.grant.installation

    @property
    def someone(self) -> Account:
        """The account, for what nobody may do anonymously."""
        if self.account is None:
            raise Refused(401, "Requires authentication")
        return self.account

    @property
    def via(self) -> App | None:
        """The App that what is said will be marked with."""
        return self.installation.app if self.installation else None

    @property
    def bucket(self) -> str:
        """Whose rate limit it is."""
        if self.installation is not None:
            return f"installation ID {self.installation.id}"
        if self.account is not None:
            return f"user ID {self.account.id}"
        return f"app ID {self.app.id}" if self.app else "127.0.0.1"


@dataclass(frozen=True)
class Need:
    """What a request needs: an App's permission (either of two areas), and a person's role (none: who can see it)."""

    area: str
    level: str = "read"
    role: Role = "none"
    also: str = ""


def role_of(repo: Repository, account: Account) -> Role:
    """The best of what an account got: as owner, collaborator, member or through a team."""
    if account is repo.owner:
        return "admin"
    roles: list[Role] = [repo.collaborators.get(account.id, "none")]
    if account.id in repo.owner.members:
        roles.append(repo.owner.base_role)
    roles += [repo.teams[team.id] for team in repo.known_teams if account.id in team.members]
    best = max(roles, key=RANK.__getitem__)
    return "read" if best == "none" and not repo.private else best


def at_least(repo: Repository, account: Account, role: Role) -> bool:
    return RANK[role_of(repo, account)] >= RANK[role]


def sees(caller: Caller, repo: Repository) -> bool:
    if repo.gone:
        return False
    return not repo.private or _inside(caller, repo)


def _inside(caller: Caller, repo: Repository) -> bool:
    """Whether this caller was let in, whoever else may look."""
    grant = caller.grant
    if grant is None or caller.account is None:
        return False
    if grant.installation is None:
        if grant.repositories is not None and repo.id not in grant.repositories:
            return False
        return grant.kind == "workflow" or role_of(repo, caller.account) != "none"
    named = grant.repositories is None or repo.id in grant.repositories
    return named and grant.installation.covers(repo)


def allows(caller: Caller, repo: Repository, need: Need) -> bool:
    """Whether the caller has what it takes in a repository that he sees."""
    grant = caller.grant
    public = need.level == "read" and not repo.private and need.area not in {"administration", "repository_hooks"}
    if grant is None:
        return public
    if not _inside(caller, repo) and not (grant.installation is None and need.role == "none"):
        return public
    if grant.permissions is not None and not public:
        held = max(RANK[grant.permissions.get(area, "none")] for area in (need.area, need.also))
        if held < RANK[need.level]:
            return False
    if grant.installation is None and grant.kind == "user" and caller.account is not None:
        return RANK[role_of(repo, caller.account)] >= RANK[need.role]
    return True


def demand(caller: Caller, repo: Repository, need: Need) -> None:
    """Pass, or refuse as GitHub does: 404 for what one cannot see, 403 for what one may not."""
    if not sees(caller, repo):
        raise not_found()
    if repo.archived and need.level == "write":
        raise Refused(403, "Repository was archived so is read-only.")
    if allows(caller, repo, need):
        return
    if caller.grant is None:
        raise Refused(401, "Requires authentication")
    if caller.grant.installation is not None or caller.grant.kind == "workflow":
        raise Refused(403, forbidden().message, headers={"x-accepted-github-permissions": f"{need.area}={need.level}"})
    if caller.grant.permissions is not None:
        raise forbidden("Resource not accessible by personal access token")
    raise Refused(403, "Must have push access to the repository." if need.level == "write" else "Forbidden")


def caller_of(world: World, token: str) -> Caller:
    """Whom a token speaks for, or 401."""
    grant = world.grants.get(token)
    if grant is None or grant.revoked or grant.account.gone:
        raise Refused(401, "Bad credentials")
    if grant.expires is not None and grant.expires <= world.clock.now():
        raise Refused(401, "Bad credentials")
    installation = grant.installation
    if installation is not None and installation.removed:
        raise Refused(401, "Bad credentials")
    if installation is not None and installation.suspended is not None:
        raise Refused(403, "This installation has been suspended")
    return Caller(grant.account, None, grant)
