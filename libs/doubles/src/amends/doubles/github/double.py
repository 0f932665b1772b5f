"""The double of GitHub, as tests and the demo hold it.

with GitHubDouble() as github:
    repo = github.repo("acme/widget", {"app.py": "a = 1"})
    repo.collaborator("bob", "write")
    pull = repo.pull("feature", by="alice", files={"app.py": "a = 2"})
    github.webhooks.to(url, secret)
    github.faults.next("POST", "/comments", status=502, stored=True)
    pull.review("bob", "changes_requested", "No.", [{"path": "app.py", "line": 1, "body": "Why?"}])
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Self

from amends.doubles.github.acts import tenancy
from amends.doubles.github.app import Application, Contract
from amends.doubles.github.clock import Clock
from amends.doubles.github.control import actors
from amends.doubles.github.control.apps import AppHandle
from amends.doubles.github.control.repositories import Files, RepositoryHandle
from amends.doubles.github.control.webhooks import Webhooks
from amends.doubles.github.control.wire import Wire
from amends.doubles.github.dump import dump
from amends.doubles.github.faults import Faults
from amends.doubles.github.journal import Asked, Journal
from amends.doubles.github.lag import Lag
from amends.doubles.github.limits import Limits
from amends.doubles.github.refusal import Json
from amends.doubles.github.rest import hooks, meta
from amends.doubles.github.rest.dispatch import Rest, table
from amends.doubles.github.state.accounts import Account, Kind, Permissions
from amends.doubles.github.state.world import Urls, World
from amends.doubles.github.tokens import user_token, workflow_token
from amends.doubles.github.webhooks.post import Post
from amends.doubles.server import Server, listening


class GitHubDouble:
    """A GitHub of its own on a free port of this machine; nothing of it outlives `stop`."""

    def __init__(self, folder: Path | None = None, *, port: int = 0, prefix: str = "/api/v3") -> None:
        self._own_folder = None if folder is not None else tempfile.TemporaryDirectory(prefix="amends-github-")
        root = folder or Path(self._own_folder.name if self._own_folder else "")
        root.mkdir(parents=True, exist_ok=True)
        self._socket = listening(port)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.world = World(root, Urls(self.url, prefix))
        self.limits = Limits(self.world.clock)
        self.faults = Faults()
        self.requests = Journal()
        self._post = Post(self.world)
        self.webhooks = Webhooks(self.world, self._post)
        routes = table(hooks.routes(self._post), meta.routes(self.limits))
        rest = Rest(self.world, self.limits, routes)
        self.application = Application(self.world, rest, self.limits, self.faults, self.requests)
        self.application.control = Wire(self)
        self._server = Server(self.application, self._socket)

    def start(self) -> Self:
        self._server.start()
        return self

    def stop(self) -> None:
        self._post.close()
        self._server.stop()
        if self._own_folder is not None:
            self._own_folder.cleanup()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.stop()
        if kind is None and self.requests.crashes:
            raise RuntimeError("the double itself failed\n" + "\n".join(self.requests.crashes))

    @property
    def api_url(self) -> str:
        return self.world.urls.api("")

    @property
    def graphql_url(self) -> str:
        return self.world.urls.graphql

    @property
    def clock(self) -> Clock:
        return self.world.clock

    @property
    def lag(self) -> Lag:
        return self.world.lag

    @property
    def latency(self) -> float:
        return self.application.latency

    @latency.setter
    def latency(self, seconds: float) -> None:
        self.application.latency = seconds

    @property
    def before_request(self) -> Callable[[Asked], object] | None:
        """Called before every request is answered, one at a time: what it does has happened between any two of them.

        It acts through these handles; asking the double over HTTP from within would wait for itself.
        """
        return self.application.before

    @before_request.setter
    def before_request(self, act: Callable[[Asked], object] | None) -> None:
        self.application.before = act

    def check(self, contract: Contract) -> None:
        """Hold every request, answer and webhook against GitHub's descriptions; see `violations`."""
        self.application.contract = contract

        def told(event: str, said: Json) -> None:
            self.requests.violations += contract.webhook(event, said)

        self._post.check = told

    @property
    def violations(self) -> list[str]:
        """Where something was not as GitHub describes it, once `check` was asked for."""
        return self.requests.violations

    def user(self, login: str, kind: Kind = "User") -> Account:
        with self.world.lock:
            return self.world.find_account(login) or self.world.add_account(login, kind)

    def organization(self, login: str, *members: str) -> Account:
        with self.world.lock:
            made = self.user(login, "Organization")
            made.members |= {self.user(member).id for member in members}
            return made

    def bot(self, login: str, *, reviews_on_request: bool = False) -> Account:
        """A bot that is not an App of this double, as review bots are to us."""
        made = self.user(login if login.endswith("[bot]") else f"{login}[bot]", "Bot")
        made.reviews_on_request = reviews_on_request
        return made

    def delete_user(self, login: str) -> None:
        with self.world.lock:
            tenancy.delete_account(self.world, self.world.account(login))

    def repo(self, full_name: str, files: Files | None = None, *, private: bool = True) -> RepositoryHandle:
        """The repository of this name, made with these files if it is not there yet."""
        with self.world.lock:
            if (found := self.world.find_repository(full_name)) is not None:
                return RepositoryHandle(self.world, found)
            owner, _, name = full_name.partition("/")
            home = self.world.find_account(owner) or self.world.add_account(owner, "Organization")
            made = RepositoryHandle(self.world, tenancy.add_repository(self.world, home, name, private=private))
            made.collaborator(actors.MAINTAINER, "admin")
            made.commit(made.of.default_branch, files or {"README.md": f"# {name}\n"}, message="Begin")
        return made

    def app(self, slug: str, permissions: Permissions | None = None, owner: str = actors.MAINTAINER) -> AppHandle:
        with self.world.lock:
            return AppHandle(self.world, tenancy.add_app(self.world, slug, self.user(owner), permissions))

    def token(self, login: str, permissions: Permissions | None = None, scopes: tuple[str, ...] = ("repo",)) -> str:
        """A personal access token; with permissions a fine-grained one, without them a classic one with scopes."""
        with self.world.lock:
            made = user_token(self.world, self.user(login), permissions)
            made.scopes = scopes
            return made.token

    def workflow_token(self, repo: RepositoryHandle) -> str:
        """The GITHUB_TOKEN of a workflow run: what it pushes starts no other."""
        with self.world.lock:
            account = self.world.find_account("github-actions[bot]") or self.bot("github-actions")
            return workflow_token(self.world, account, repo.of).token

    def revoke(self, token: str) -> None:
        self.world.grants[token].revoked = True

    def dump(self) -> Json:
        """The state, comparable between runs."""
        with self.world.lock:
            return dump(self.world)
