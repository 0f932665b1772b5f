"""Answers every review and every command: what may its author do, now?"""

from __future__ import annotations

import time
from collections.abc import Sequence

from amends.comment_fetcher import extras
from amends.comment_fetcher.trust import permission
from amends.common.answers import Report
from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import (
    Author,
    AuthorChecked,
    CommandGiven,
    Permission,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
)
from amends.common.github.client import Client
from amends.common.github.errors import Denied, Missing
from amends.common.identity import About

_REFUSED = 300.0  # until somebody gives us back what we have lost; the loop says so if that takes too long
_MOMENT = 5.0
Asking = ReviewRejected | ReviewApproved | ReviewCommented | CommandGiven


class Authors:
    """Of people only: bots are listed by number, and what a token has vouched for is nobody's on GitHub.

    Who replies twenty times in a minute has made twenty reviews: an answer of a moment ago is still an answer.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._moment: dict[tuple[int, int], tuple[float, Permission]] = {}

    async def checked(self, event: Event, fact: Asking) -> Sequence[AuthorChecked]:
        """What the author of a review or of a command may do."""
        if fact.author.kind != "user":
            return []
        try:
            allowed = await self._permission(_repo(event), fact.author)
        except (Missing, Denied) as error:
            self._client.forget(_repo(event))
            raise Later(_REFUSED, f"the author cannot be looked up: {error}") from error
        return [AuthorChecked(of=fact.key, author=fact.author, permission=allowed)]

    async def _permission(self, repo: int, author: Author) -> Permission:
        now = time.monotonic()
        self._moment = {who: known for who, known in self._moment.items() if now - known[0] < _MOMENT}
        known = self._moment.get((repo, author.id))
        if known is None:
            reach = await self._client.repository(repo)
            known = self._moment[repo, author.id] = now, await permission(reach, author)
        return known[1]


class Rules:
    """Answers a pull request that was seen: what does its repository's own policy say now?"""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._looked: dict[int, float] = {}

    async def looked_up(self, event: Event) -> Sequence[Report]:
        """The policy of the default branch; a burst of pull requests is answered once."""
        repo = _repo(event)
        began = time.monotonic()
        if began - self._looked.get(repo, float("-inf")) < _MOMENT:
            return []
        try:
            reach = await self._client.repository(repo)
            fact = await extras.policy(reach)
        except (Missing, Denied):
            return []  # the last good one stays, and whoever works on the pull request will say what is lost
        self._looked[repo] = began
        return [Report(fact=fact, about=About(repo=repo))]


def _repo(event: Event) -> int:
    return int(event.loop.split("-", 1)[0])
