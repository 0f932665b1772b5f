"""Accounts, teams, Apps and their installations, and the tokens that speak for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from amends.doubles.github.state.repositories import Hook, Repository

Kind = Literal["User", "Bot", "Organization"]
Role = Literal["none", "read", "triage", "write", "maintain", "admin"]
Permissions = dict[str, str]
RANK: dict[str, int] = {"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}


@dataclass(eq=False, repr=False)
class Account:
    """A user, a bot or an organization. `gone` is a deleted one: the API shows null where it stood."""

    id: int
    node: str
    login: str
    kind: Kind = "User"
    name: str = ""
    gone: bool = False
    # A bot that GitHub lets people ask for reviews, as it does with Copilot.
    reviews_on_request: bool = False
    members: set[int] = field(default_factory=set)
    base_role: Role = "read"


@dataclass(eq=False, repr=False)
class Team:
    """People of an organization who get a role, and may be asked for reviews, together."""

    id: int
    node: str
    organization: Account
    slug: str
    members: set[int] = field(default_factory=set)


@dataclass(eq=False, repr=False)
class App:
    """A GitHub App with its key; its bot is the account it acts as."""

    id: int
    node: str
    slug: str
    owner: Account
    bot: Account
    permissions: Permissions
    events: list[str]
    pem: str
    created: datetime
    hook: Hook | None = None
    client_id: str = ""


@dataclass(eq=False, repr=False)
class Installation:
    """An App on an account; `selected` None means all repositories."""

    id: int
    node: str
    app: App
    account: Account
    permissions: Permissions
    created: datetime
    selected: list[Repository] | None = None
    suspended: datetime | None = None
    removed: bool = False

    def covers(self, repo: Repository) -> bool:
        if repo.owner is not self.account or self.removed:
            return False
        return self.selected is None or repo in self.selected


@dataclass(eq=False, repr=False)
class Grant:
    """A token: whom it speaks for and, for installations, how far. `workflow` is what Actions hands to a run.

    `scopes` are those of a classic token. They are shown, and bind nobody here.
    """

    token: str
    account: Account
    kind: Literal["user", "installation", "workflow"] = "user"
    installation: Installation | None = None
    permissions: Permissions | None = None
    repositories: frozenset[int] | None = None
    expires: datetime | None = None
    revoked: bool = False
    scopes: tuple[str, ...] = ("repo",)

    @property
    def classic(self) -> bool:
        """A personal token of the old kind, which has scopes instead of permissions."""
        return self.kind == "user" and self.permissions is None
