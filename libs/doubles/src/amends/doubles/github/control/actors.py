"""Who does something: people are made when first named, bots act with the permissions of their App."""

from __future__ import annotations

from amends.doubles.github.caller import Caller
from amends.doubles.github.git import Person
from amends.doubles.github.state.accounts import Account, Grant
from amends.doubles.github.state.world import World

# Owns what nobody in particular does.
MAINTAINER = "octocat"


def account(world: World, login: str) -> Account:
    found = world.find_account(login)
    if found is not None:
        return found
    return world.add_account(login, "Bot" if login.endswith("[bot]") else "User")


def caller(world: World, login: str) -> Caller:
    """As if with a token of that account."""
    one = account(world, login)
    installed = next((each for each in world.installations.values() if each.app.bot is one), None)
    if installed is not None:
        return Caller(one, None, Grant("", one, "installation", installed, installed.permissions))
    return Caller(one, None, Grant("", one))


def person(world: World, login: str) -> Person:
    """As author of a commit, with the address by which GitHub knows its own."""
    one = account(world, login)
    return Person(login, f"{one.id}+{login}@users.noreply.github.com", world.clock.moment())
