"""The whole pretended GitHub: who and what there is, by id, by name and by node id."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from amends.doubles.github.clock import Clock
from amends.doubles.github.git import Git
from amends.doubles.github.ids import Ids, node_id
from amends.doubles.github.lag import Lag
from amends.doubles.github.refusal import not_found
from amends.doubles.github.state.accounts import Account, App, Grant, Installation, Kind, Team
from amends.doubles.github.state.repositories import CommitAt, Hook, Repository


@dataclass(frozen=True)
class Happening:
    """Something that webhooks tell; `parts` are the things it is about, under the payload's names."""

    event: str
    action: str
    actor: Account
    repo: Repository | None = None
    parts: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Urls:
    """Where this GitHub is reached: the API may live under a prefix, as on an Enterprise Server."""

    root: str
    prefix: str = "/api/v3"

    def api(self, path: str) -> str:
        return f"{self.root}{self.prefix}{path}"

    def html(self, path: str) -> str:
        return f"{self.root}{path}"

    @property
    def graphql(self) -> str:
        """Beside `/api/v3`, not below it."""
        return f"{self.root}{graphql_path(self.prefix)}"

    def git(self, repo: Repository) -> str:
        return f"{self.root}/{repo.full_name}.git"


def graphql_path(prefix: str) -> str:
    return prefix.removesuffix("/v3") + "/graphql"


class World:
    """State under one lock: requests, pushes and tests change it one at a time."""

    def __init__(self, folder: Path, urls: Urls) -> None:
        self.lock = threading.RLock()
        self.clock = Clock()
        self.ids = Ids()
        self.urls = urls
        self.git = Git(folder)
        self.lag = Lag()
        self.accounts: dict[int, Account] = {}
        self.teams: dict[int, Team] = {}
        self.repositories: dict[int, Repository] = {}
        # Former names stay, as redirects, until somebody else takes them.
        self.names: dict[str, Repository] = {}
        self.nodes: dict[str, object] = {}
        self.apps: list[App] = []
        self.installations: dict[int, Installation] = {}
        self.grants: dict[str, Grant] = {}
        self.hooks: list[Hook] = []
        self.listeners: list[Callable[[Happening], None]] = []

    def emit(self, happening: Happening) -> None:
        for listener in self.listeners:
            listener(happening)

    def known(self, kind: str, number: int | str, thing: object) -> str:
        """Make something reachable by the node id that is returned."""
        node = node_id(kind, number)
        self.nodes[node] = thing
        return node

    def add_account(self, login: str, kind: Kind = "User") -> Account:
        number = self.ids.take("user")
        account = Account(number, node_id(kind.lower(), number), login, kind)
        self.nodes[account.node] = account
        self.accounts[number] = account
        return account

    def find_account(self, login: str) -> Account | None:
        wanted = login.casefold()
        # Deleted logins are free again, and what was theirs shows nobody.
        found = [one for one in self.accounts.values() if one.login.casefold() == wanted and not one.gone]
        return found[-1] if found else None

    def account(self, login: str) -> Account:
        if (found := self.find_account(login)) is None:
            raise not_found()
        return found

    def find_repository(self, full_name: str) -> Repository | None:
        repo = self.names.get(full_name.casefold())
        return None if repo is None or repo.gone else repo

    def repository(self, full_name: str) -> Repository:
        if (found := self.find_repository(full_name)) is None:
            raise not_found()
        return found

    def commit(self, repo: Repository, sha: str) -> CommitAt:
        return CommitAt(repo, sha, self._commit_node(repo, sha))

    def _commit_node(self, repo: Repository, sha: str) -> str:
        node = node_id("commit", f"{repo.id}:{sha}")
        if node not in self.nodes:
            self.nodes[node] = CommitAt(repo, sha, node)
        return node

    def installation_of(self, app: App, repo: Repository) -> Installation | None:
        """The App's installation that covers this repository."""
        return next((one for one in self.installations.values() if one.app is app and one.covers(repo)), None)
