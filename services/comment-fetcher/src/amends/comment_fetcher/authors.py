"""Answers every review and every command: what may its author do, now?"""

from __future__ import annotations

from collections.abc import Sequence

from amends.comment_fetcher import extras
from amends.comment_fetcher.trust import permission
from amends.common.answers import Report
from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import (
    AuthorChecked,
    CommandGiven,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
)
from amends.common.github.client import Client
from amends.common.github.errors import Denied, Missing
from amends.common.identity import About

_REFUSED = 300.0  # until somebody gives us back what we have lost; the loop says so if that takes too long
_POLICY_SECONDS = 10.0
Asking = ReviewRejected | ReviewApproved | ReviewCommented | CommandGiven


async def checked(client: Client, event: Event, fact: Asking) -> Sequence[AuthorChecked]:
    """Of people only: bots are listed by number, and what a token has vouched for is nobody's on GitHub."""
    if fact.author.kind != "user":
        return []
    try:
        reach = await client.repository(_repo(event))
        allowed = await permission(reach, fact.author)
    except (Missing, Denied) as error:
        client.forget(_repo(event))
        raise Later(_REFUSED, f"the author cannot be looked up: {error}") from error
    return [AuthorChecked(of=fact.key, author=fact.author, permission=allowed)]


class Rules:
    """Answers a pull request that was seen: what does its repository's own policy say now?"""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._looked: dict[int, float] = {}

    async def looked_up(self, event: Event) -> Sequence[Report]:
        """The policy of the default branch; a burst of pull requests is answered once."""
        repo = _repo(event)
        since = self._client.now - self._looked.get(repo, float("-inf"))
        if 0 <= since < _POLICY_SECONDS:
            return []
        try:
            reach = await self._client.repository(repo)
            fact = await extras.policy(reach)
        except (Missing, Denied):
            return []  # the last good one stays, and whoever works on the pull request will say what is lost
        self._looked[repo] = self._client.now
        return [Report(fact=fact, about=About(repo=repo))]


def _repo(event: Event) -> int:
    return int(event.loop.split("-", 1)[0])
