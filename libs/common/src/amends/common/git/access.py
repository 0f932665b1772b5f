"""Git with the tokens of everybody else: made for one repository, replaced once when they are not taken any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from amends.common.git.askpass import Remote
from amends.common.github.auth import Permissions
from amends.common.github.client import Client
from amends.common.github.errors import Denied

T = TypeVar("T")


class Access:
    """What git may do on GitHub, for whoever holds this."""

    def __init__(self, client: Client, permissions: Permissions) -> None:
        self._client = client
        self._permissions = permissions

    async def using(self, repo: int, work: Callable[[Remote], Awaitable[T]]) -> T:
        """Do something with the repository of this number; once more with a new token, if the old one is refused."""
        reach = await self._client.repository(repo)
        token = await reach.token(self._permissions)
        try:
            return await work(Remote(reach.clone_url, token))
        except Denied:
            newer = await reach.token(self._permissions, token)
            if newer == token:
                raise
        return await work(Remote(reach.clone_url, newer))
