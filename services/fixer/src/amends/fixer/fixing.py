"""What the fixer does about `comments.fetched`: claim the attempt before it costs anything, work, and say how it ended.

A claim is granted to one holder and one run. Finding that an earlier life of ours holds it means that it died over the
attempt: that is said, and the attempt ends. So does one that this life has begun before, and did not bring to an end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil

from amends.common.answers import Already, Answer, Recorded, Refused, Report, Unavailable
from amends.common.delivery import Later, pull_of
from amends.common.envelope import Event
from amends.common.events import AnyFact, CommentsFetched, Failure, FixFailed, FixPrepared, FixStarted, Usage
from amends.common.git import TooLarge
from amends.common.github.text import clean
from amends.common.identity import About
from amends.common.patience import report_until_answered
from amends.common.policy import Policy
from amends.common.worker import RefusedReport
from amends.fixer import measures
from amends.fixer.agent import Stopped
from amends.fixer.attempt import Attempt, Means
from amends.fixer.inventory import TooMuch
from amends.fixer.sources import source
from amends.fixer.work import Work
from amends.fixer.workspaces import WorkspaceBusy, WorkspaceLost

log = logging.getLogger(__name__)
_SOON = 30.0
_TWICE = 2  # an attempt may take as long again as the agent alone, which is what the claim allows for
_LONGEST_DETAIL = 2_000


@dataclass
class Slot:
    """One fix at a time. `holder` is the same after a restart, `run` is this process."""

    means: Means
    holder: str
    run: str
    begun: set[tuple[str, int, int]] = field(default_factory=set)
    beside: tuple[str, ...] = ()  # the holders of this process's other slots

    async def fix(self, event: Event) -> Sequence[AnyFact]:
        """The facts that answer what was collected."""
        fetched = event.fact
        if not isinstance(fetched, CommentsFetched):
            return []
        claimed = await self._claimed(event, fetched)
        if claimed is None:
            return []
        step = (event.loop, fetched.n, fetched.k)
        if claimed != self.run or step in self.begun:
            return [self._crashed(event, fetched, claimed)]
        self.begun.add(step)
        began = time.monotonic()
        record = await self.means.records.begun(event.loop, f"{fetched.n}/{fetched.k}", self.run)
        attempt = Attempt(self.means, event, fetched, record)
        try:
            fact = await self._prepared(attempt)
        except Stopped as stopped:
            words = {"loop": event.loop, "reason": stopped.reason, "detail": str(stopped)[:400]}
            log.info("an attempt ended without a fix", extra=words)
            measures.ended(stopped.reason, time.monotonic() - began, attempt.usage)
            kept = await attempt.transcript()
            failed = _failed(fetched, self.run, stopped, attempt.usage, kept)
            return [failed.model_copy(update={"notes": attempt.notes})]
        measures.ended(measures.PREPARED, time.monotonic() - began, attempt.usage)
        return [fact]

    def _crashed(self, event: Event, fetched: CommentsFetched, run: str) -> FixFailed:
        """An earlier try that did not end, with what it left of its accounts; where nothing is left, what it might."""
        why = Stopped(Failure.CRASHED, "an earlier try of this attempt did not end")
        left = self.means.records.left(event.loop, f"{fetched.n}/{fetched.k}", run)
        if left is None:
            budget = (fetched.rules or Policy()).budget
            spent = Usage(usd_micro=round(budget.run_usd * 1_000_000))
        else:
            spent = left.spent
        measures.ended(Failure.CRASHED, 0.0, spent)
        return _failed(fetched, run, why, spent, left.transcript if left else None)

    async def _claimed(self, event: Event, fetched: CommentsFetched) -> str | None:
        """Whose run holds the attempt, if it is one of ours; None if there is nothing to do."""
        match await self._asked(event, fetched, self.holder):
            case Recorded():
                return self.run
            case Already(fact=FixStarted() as held):
                return held.run if held.holder == self.holder else None
            case Already() | Refused(reason="superseded"):
                return None
            case Refused(reason="busy" | "not_ready") as refused:
                if (left := await self._left(event, fetched)) is not None:
                    return left
                raise Later(refused.until or _SOON, f"{refused.reason}: {refused.detail}")
            case Refused() as refused:
                raise RefusedReport(f"fix.started: {refused.reason}: {refused.detail}")
            case Unavailable() as unavailable:
                raise Later(_SOON, unavailable.detail)

    async def _left(self, event: Event, fetched: CommentsFetched) -> str | None:
        """The run of an earlier life that held the attempt in another slot: what it left comes to any of ours."""
        for holder in self.beside:
            match await self._asked(event, fetched, holder):
                case Recorded():
                    return self.run
                case Already(fact=FixStarted(run=run)) if run != self.run:
                    return run
                case Already():
                    return None  # that slot is at work on it
                case _:
                    continue
        return None

    async def _asked(self, event: Event, fetched: CommentsFetched, holder: str) -> Answer:
        where = str(self.means.workspaces.path(event.loop))[:400]
        claim = FixStarted(n=fetched.n, k=fetched.k, holder=holder, run=self.run, workspace=where)
        report = Report(fact=claim, about=About(loop=event.loop), cause=event.pos)
        return await report_until_answered(self.means.recorder, report)

    async def _prepared(self, attempt: Attempt) -> FixPrepared:
        try:
            async with asyncio.timeout(attempt.rules.budget.agent_seconds * _TWICE):
                await attempt.wanted()
                items = await attempt.items()
                at = pull_of(attempt.event.loop)
                repository = self.means.repositories.of(at.repo)
                async with repository.used():
                    of = await source(self.means.client, self.means.access, repository, at, attempt.fetched)
                    return await Work(attempt, repository, of).prepared(items)
        except TimeoutError:
            raise Stopped(Failure.LIMITS, "the time for an attempt is up") from None
        except WorkspaceLost as error:
            raise Stopped(Failure.WORKSPACE_LOST, str(error)) from error
        except (WorkspaceBusy, TooMuch, TooLarge) as error:
            raise Stopped(Failure.LIMITS, str(error)) from error


def _failed(
    fetched: CommentsFetched, run: str, why: Stopped, usage: Usage | None = None, transcript: str | None = None
) -> FixFailed:
    return FixFailed(
        n=fetched.n, k=fetched.k, run=run, reason=why.reason, detail=clean(str(why))[:_LONGEST_DETAIL],
        usage=usage or Usage(), retry_after=ceil(why.retry_after), transcript=transcript,
    )  # fmt: skip
