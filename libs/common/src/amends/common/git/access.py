"""Git with the tokens of everybody else: made for one repository, replaced once when they are not taken any more.

Git does not follow where an answer leads: a repository that is elsewhere was renamed, and its number tells its name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from amends.common.git.remotely import Renamed
from amends.common.git.token import Remote
from amends.common.github.auth import Permissions
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Denied

T = TypeVar("T")


class Access:
    """What git may do on GitHub, for whoever holds this."""

    def __init__(self, client: Client, permissions: Permissions) -> None:
        self._client = client
        self._permissions = permissions

    async def using(self, repo: int, work: Callable[[Remote], Awaitable[T]]) -> T:
        """Do something with the repository of this number, wherever it is now."""
        reach = await self._client.repository(repo)
        try:
            return await self._with_a_token(reach, work)
        except Renamed:
            self._client.forget(repo)
            now = await self._client.repository(repo)
            if now.clone_url == reach.clone_url:
                raise
        return await self._with_a_token(now, work)

    async def _with_a_token(self, reach: Reach, work: Callable[[Remote], Awaitable[T]]) -> T:
        """Do it once more with a new token, if the old one is refused."""
        token = await reach.token(self._permissions)
        try:
            return await work(Remote(reach.clone_url, token))
        except Denied:
            newer = await reach.token(self._permissions, token)
            if newer == token:
                raise
        return await work(Remote(reach.clone_url, newer))
