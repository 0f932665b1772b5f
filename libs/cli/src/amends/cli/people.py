"""Logins that an operator types, as the numbers that policy holds: asked of GitHub, with what each may do there now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amends.cli.output import shown
from amends.cli.place import NotReachable, Wrong, settings

if TYPE_CHECKING:
    from amends.common.github.client import Reach

PEOPLE = ("reviewers", "bots")


def numbered(name: str, said: object, full_name: str) -> object:
    """The value with numbers for logins; a reviewer must be somebody who may write to the repository."""
    if name not in PEOPLE or not isinstance(said, list) or not any(isinstance(one, str) for one in said):
        return said
    if not full_name:
        raise Wrong(f"{name}: list a repository first, or give --repo: logins are looked up there")
    import asyncio

    return asyncio.run(_asked(name, said, full_name))


async def _asked(name: str, said: Sequence[object], full_name: str) -> list[object]:
    from amends.common.delivery import Later
    from amends.common.github.client import Client, Nobody
    from amends.common.github.errors import Denied, Missing

    try:
        async with Client(settings().github) as client:
            reach = await client.named(full_name)
            return [await _number(reach, name, one) if isinstance(one, str) else one for one in said]
    except Nobody as error:
        raise Wrong(f"{name}: give numbers, or tell me who I am on GitHub ({error})") from error
    except (Missing, Denied, Later) as error:
        raise NotReachable(f"{name}: GitHub does not tell ({shown(str(error))}): give numbers") from error


async def _number(reach: Reach, name: str, login: str) -> int:
    from amends.comment_fetcher.trust import permission
    from amends.common.github.errors import Missing
    from amends.common.github.names import is_login
    from amends.common.github.sightings import author
    from amends.common.loop import TRUSTED

    if not is_login(login):
        raise Wrong(f"{name}: {shown(login)} is no login and no number")
    try:
        account = author(await reach.named(login))
    except Missing:
        raise Wrong(f"{name}: nobody is called {shown(login)}") from None
    if (account.kind == "bot") != (name == "bots"):
        raise Wrong(f"{name}: {shown(login)} is {'a bot' if account.kind == 'bot' else 'no bot'}")
    if account.kind == "user" and (may := await permission(reach, account)) not in TRUSTED:
        raise Wrong(f"{name}: {shown(login)} may {may} there, and has no say without write")
    return account.id
