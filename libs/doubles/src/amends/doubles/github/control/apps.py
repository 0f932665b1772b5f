"""Handles on an App and on its installations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amends.doubles.github.acts import tenancy
from amends.doubles.github.control.actors import account
from amends.doubles.github.control.repositories import RepositoryHandle
from amends.doubles.github.state.accounts import App, Installation, Permissions
from amends.doubles.github.state.world import World
from amends.doubles.github.tokens import installation_token


@dataclass(frozen=True)
class InstallationHandle:
    world: World
    of: Installation

    @property
    def id(self) -> int:
        return self.of.id

    def token(
        self, repositories: Sequence[RepositoryHandle] | None = None, permissions: Permissions | None = None
    ) -> str:
        """As `access_tokens` gives it out."""
        ids = None if repositories is None else frozenset(one.id for one in repositories)
        with self.world.lock:
            return installation_token(self.world, self.of, ids, permissions).token

    def uninstall(self) -> None:
        with self.world.lock:
            tenancy.uninstall(self.world, self.of)

    def suspend(self, *, on: bool = True) -> None:
        with self.world.lock:
            tenancy.suspend(self.world, self.of, on=on)

    def add(self, repo: RepositoryHandle) -> None:
        with self.world.lock:
            tenancy.select(self.world, self.of, repo.of, on=True)

    def remove(self, repo: RepositoryHandle) -> None:
        with self.world.lock:
            tenancy.select(self.world, self.of, repo.of, on=False)

    def permit(self, **permissions: str) -> None:
        """Change what it may; tokens given out keep what they had."""
        with self.world.lock:
            held = {**self.of.permissions, **permissions}
            self.of.permissions = {area: level for area, level in held.items() if level != "none"}


@dataclass(frozen=True)
class AppHandle:
    world: World
    of: App

    @property
    def id(self) -> int:
        return self.of.id

    @property
    def client_id(self) -> str:
        return self.of.client_id

    @property
    def pem(self) -> str:
        return self.of.pem

    @property
    def login(self) -> str:
        """The account it acts as."""
        return self.of.bot.login

    @property
    def account_id(self) -> int:
        return self.of.bot.id

    def install(self, owner: str, repositories: Sequence[RepositoryHandle] | None = None) -> InstallationHandle:
        """On all repositories of an account, or on these."""
        chosen = None if repositories is None else [one.of for one in repositories]
        with self.world.lock:
            return InstallationHandle(
                self.world, tenancy.install(self.world, self.of, account(self.world, owner), chosen)
            )
