"""What is said on a pull request about each event, and in which order."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

from amends.common.events import (
    Author,
    CycleFinished,
    Escalated,
    Judgement,
    LoopFinished,
    LoopPaused,
    ReviewRequested,
    Verdict,
)
from amends.common.situation import Situation
from amends.notifier.board import Board
from amends.notifier.messages import Messages, Turned, authors

_THREAD = re.compile(r"thread/([0-9]{1,19})")
# Whoever has to act comes first: he is answered where he asked even if not everybody can be.
_FIRST = (Judgement.NEEDS_HUMAN, Judgement.DECLINED, Judgement.DEFERRED, Judgement.ANSWERED, Judgement.FIXED)
Asking = CycleFinished | ReviewRequested | Escalated | LoopFinished | LoopPaused


class Page:
    """Tells of one event on one pull request. `fresh` is how the loop stands now; `most` replies, the rest together."""

    def __init__(self, board: Board, now: Situation, fresh: Callable[[], Awaitable[Messages]], most: int) -> None:
        self._board = board
        self._now = now
        self._fresh = fresh
        self._most = most

    async def tell(self, fact: Asking, patch: str = "") -> str:
        """Say it all, with the fix that an escalation names; answers with the address of what matters most."""
        over = isinstance(fact, LoopFinished) and fact.outcome in {"closed", "merged"}
        if not over:
            await self._board.open()
        url = await self._said(fact, await self._fresh(), patch)
        return url or await self.show(new=not over)

    async def show(self, *, new: bool) -> str:
        """The card and the label."""
        now = await self._fresh()
        if new:
            await self._board.open()
        url = await self._board.keep(now.card(), new=new)
        await self._board.label(now.label())
        return url

    async def _said(self, fact: Asking, messages: Messages, patch: str) -> str:
        url = ""
        match fact:
            case CycleFinished(outcome="pushed" | "answered"):
                url = await self._answers(fact, messages)
            case ReviewRequested():
                if turned := await self._ask(fact.reviewers, fact.sha):
                    url = await self._board.say(messages.asked_again(fact, turned))
            case Escalated():
                url = await self._board.say(messages.escalated(fact, patch))
            case LoopFinished(outcome="ready"):
                configured = [Author(id=number) for number in self._now.reviewers]
                turned = await self._ask(configured, self._now.head)
                url = await self._board.say(messages.ready(fact, turned))
            case _:
                pass
        if url:
            await self.show(new=True)
        return url

    async def _answers(self, fact: CycleFinished, messages: Messages) -> str:
        judged = [one for one in fact.verdicts if one.judgement in _FIRST]
        judged.sort(key=lambda one: _FIRST.index(one.judgement))
        threads = [(int(found[1]), one) for one in judged if (found := _THREAD.fullmatch(one.item))]
        together = [one for one in judged if not _THREAD.fullmatch(one.item)]
        together += [one for _, one in threads[self._most :]]
        for root, one in threads[: self._most]:
            if not await self._board.reply(root, messages.reply(one, fact.sha)):
                together.append(one)
        return await self._board.say(messages.summary(fact, _in_order(together, judged))) if together else ""

    async def _ask(self, reviewers: Sequence[Author], sha: str) -> list[Turned]:
        """Ask those again who have not seen this head, one at a time: one bad name would fail them all."""
        author = self._now.author.id if self._now.author else 0
        turned = []
        for who in authors(reviewers):
            seen = self._now.seen.get(who.account, "")
            if not sha or seen == sha or (who.id == author and not seen):
                continue
            turned.append(await self._board.ask(who, seen))
        return turned


def _in_order(some: Sequence[Verdict], of: Sequence[Verdict]) -> list[Verdict]:
    return [one for one in of if one in some]
