"""Answers `fix.requested`: everything that is said about a pull request, or why it could not be had whole in time.

A part of it is never passed on. What may pass (a torn answer, a replica that is behind) is asked again until the time
is up; a limit is not waited for here: the answer says when it makes sense to ask again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from amends.comment_fetcher import extras, measures
from amends.comment_fetcher.checks import failing
from amends.comment_fetcher.items import Collection, collected, speakers
from amends.comment_fetcher.policyfile import policy_seen
from amends.comment_fetcher.reading import Reader
from amends.comment_fetcher.shapes import CheckSeen
from amends.comment_fetcher.snapshot import Snapshot
from amends.comment_fetcher.trust import looked_up
from amends.common.answers import Go, Recorder, Report, Stop
from amends.common.delivery import Later, Never, pull_of
from amends.common.envelope import MAX_ENVELOPE, Event
from amends.common.events import (
    AccessChanged,
    AnyFact,
    ChecksFinished,
    CommentsFailed,
    CommentsFetched,
    Failure,
    FixRequested,
)
from amends.common.feedback import to_blob
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Denied, Down, Limited, Missing, Torn
from amends.common.github.names import is_sha
from amends.common.github.pages import TooMany
from amends.common.github.sightings import Ours, check_name, is_outside, pull_seen
from amends.common.identity import About, PullId

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 4.0
_SOON = 30.0
_UNASKED = 10.0
_ROOM = 16 * 1024  # of an envelope, for all but the index
Said = AnyFact | Report


class Whole(NamedTuple):
    """A pull request that was read whole, and its required checks that fail: all, and because of the change."""

    snapshot: Snapshot
    failed: tuple[CheckSeen, ...]
    to_blame: tuple[CheckSeen, ...]
    conflicts: tuple[str, ...]


class Refused(Exception):
    """There is no point in collecting, and why."""

    def __init__(self, reason: Failure, detail: str, *, retry_after: float = 0) -> None:
        super().__init__(detail)
        self.reason = reason
        self.retry_after = retry_after


@dataclass
class Collector:
    """Collects, for as long as `seconds` at most. `ours` are the accounts that we write under.

    `lost` are the repositories that were out of reach: whoever finds one in reach again says so.
    """

    client: Client
    recorder: Recorder
    ours: Ours
    seconds: float
    reader: Reader = field(default_factory=Reader)
    lost: set[int] = field(default_factory=set)

    async def collect(self, event: Event) -> Sequence[Said]:
        """The facts that answer the request."""
        request, began = event.fact, time.monotonic()
        if not isinstance(request, FixRequested):
            raise Never(f"{event.type} asks for no feedback")
        try:
            await self._allowed(event)
            facts = await self._within_time(pull_of(event.loop), request)
        except Refused as refused:
            facts = self._failed(event, request, refused)
        measures.collected(_outcome(facts), time.monotonic() - began)
        return facts

    async def _allowed(self, event: Event) -> None:
        match await self.recorder.may(event.pos):
            case Go() | Stop(reason="superseded"):  # a late answer is refused by the one who knows
                return
            case Stop(reason=reason):
                raise Refused(Failure.CLOSED if reason == "closed" else Failure.CANCELLED, reason)
            case away:
                raise Later(_UNASKED, away.detail)

    async def _within_time(self, at: PullId, request: FixRequested) -> list[Said]:
        why: Exception = Torn(_SOON, f"it was not read within {self.seconds:g} s")
        pause = _FIRST_PAUSE
        try:
            async with asyncio.timeout(self.seconds):
                while True:
                    try:
                        return await self._once(at, request)
                    except (Torn, Missing) as error:
                        why = error
                        self.client.forget(at.repo)
                    except Down as error:
                        why = error
                    await asyncio.sleep(pause)
                    pause = min(pause * 2, _LONGEST_PAUSE)
        except TimeoutError:
            raise _named(why) from why
        except (Limited, Denied, TooMany) as error:
            raise _named(error) from error

    def _failed(self, event: Event, request: FixRequested, refused: Refused) -> list[Said]:
        failure = _failure(request, refused)
        if refused.reason is not Failure.ACCESS_LOST:
            return [failure]
        self.lost.add(pull_of(event.loop).repo)
        return [AccessChanged(access="lost", reason=failure.detail[:400]), failure]

    async def _once(self, at: PullId, request: FixRequested) -> list[Said]:
        reach = await self.client.repository(at.repo)
        expects = [node for node in request.expects if not is_outside(node) and not is_sha(node)]
        snapshot = await self.reader.read(reach, at.number, expects)
        if snapshot.lagging:
            raise Torn(_SOON, f"{len(snapshot.lagging)} comments are there and in no list yet")
        if await extras.is_behind(reach, request.head, snapshot.pull.head.sha):
            raise Torn(_SOON, f"GitHub shows a head older than {request.head}")
        facts = self._standing(at, snapshot)
        if hindrance := _hindrance(at, snapshot, request):
            return [*facts, _failure(request, hindrance)]
        whole = await self._whole(reach, snapshot)
        trusts = await looked_up(reach, request.rules, speakers(snapshot, self.ours))
        found = collected(snapshot, request, trusts, self.ours, whole.to_blame)
        return [*facts, *_checked(whole), await self._fetched(request, whole, found)]

    def _standing(self, at: PullId, snapshot: Snapshot) -> list[Said]:
        """How the pull request stands, and the repository's policy: news that came with the rest."""
        stands = pull_seen(snapshot.pull, snapshot.full_name)
        if stands is None:
            raise Torn(_SOON, "the pull request is not shown whole")
        if "policy" in snapshot.unseen:
            return [stands]
        return [stands, Report(fact=policy_seen(snapshot.policy), about=About(repo=at.repo))]

    async def _whole(self, reach: Reach, snapshot: Snapshot) -> Whole:
        failed = tuple(check for check in failing(snapshot.checks) if check.is_required)
        on_base = await extras.failing_on_base(reach, snapshot.pull.base.ref) if failed else frozenset()
        to_blame = tuple(check for check in failed if check.called not in on_base)
        return Whole(snapshot, failed, to_blame, await extras.conflicts(reach, snapshot))

    async def _fetched(self, request: FixRequested, whole: Whole, found: Collection) -> CommentsFetched:
        texts = await self.recorder.put(to_blob(found.feedback)) if found.feedback else None
        fact = CommentsFetched(
            n=request.n, k=request.k, head=whole.snapshot.pull.head.sha, items=found.items, texts=texts,
            seen=found.seen, strangers=found.strangers, left_out=found.left_out, conflicts=whole.conflicts,
            rules=request.rules,
        )  # fmt: skip
        return fitted(fact, request)


def fitted(fact: CommentsFetched, request: FixRequested) -> CommentsFetched:
    """The fact, small enough for the log: without what needs no verdict, if need be. What needs one is never left."""
    if _fits(fact):
        return fact
    closed = {(one.item, one.version) for one in request.closed}
    kept = tuple(one for one in fact.items if not one.resolved and (one.id, one.version) not in closed)
    left_out = fact.left_out.model_copy(update={"overflow": len(fact.items) - len(kept)})
    smaller = fact.model_copy(update={"items": kept, "left_out": left_out})
    if _fits(smaller):
        return smaller
    raise Refused(Failure.LIMITS, f"{len(kept)} open items are more than one collection holds")


def _fits(fact: CommentsFetched) -> bool:
    return len(fact.model_dump_json()) <= MAX_ENVELOPE - _ROOM


def _hindrance(at: PullId, snapshot: Snapshot, request: FixRequested) -> Refused | None:
    """Why nothing can be fixed there as it stands."""
    seen, labels = snapshot.seen, {label.name for label in snapshot.pull.labels}
    head = seen.head_repository.database_id if seen.head_repository else None
    if seen.state != "OPEN":
        return Refused(Failure.CLOSED, f"the pull request is {seen.state.lower()}")
    if seen.is_draft and not request.rules.drafts:
        return Refused(Failure.DRAFT, "the pull request is a draft")
    if head != at.repo:
        return Refused(Failure.FORK, "the branch belongs to another repository")
    if seen.head_ref is None:
        return Refused(Failure.BRANCH_GONE, f"the branch {snapshot.pull.head.ref} is gone")
    if request.rules.opt_out_label in labels:
        return Refused(Failure.CANCELLED, f"it has the label {request.rules.opt_out_label}")
    return None


def _checked(whole: Whole) -> list[ChecksFinished]:
    blamed = {check.called for check in whole.to_blame}
    return [
        ChecksFinished(
            name=check_name(check.called), head=whole.snapshot.pull.head.sha, conclusion="failure", required=True,
            fails_on_base=check.called not in blamed, updated_at=check.completed_at or check.created_at,
        )
        for check in whole.failed
    ]  # fmt: skip


def _named(error: Exception) -> Refused:
    """What an error of the client's means for the cycle."""
    detail = str(error)[:1_000]
    match error:
        case Limited():
            return Refused(Failure.GITHUB_UNAVAILABLE, detail, retry_after=error.delay)
        case Torn():
            return Refused(Failure.GITHUB_INCOMPLETE, detail, retry_after=error.delay)
        case Later():
            return Refused(Failure.GITHUB_UNAVAILABLE, detail, retry_after=error.delay)
        case TooMany():
            return Refused(Failure.LIMITS, detail)
        case Missing() | Denied():
            return Refused(Failure.ACCESS_LOST, detail)
        case _:
            return Refused(Failure.GITHUB_UNAVAILABLE, detail, retry_after=_SOON)


def _failure(request: FixRequested, refused: Refused) -> CommentsFailed:
    wait, detail = ceil(refused.retry_after), str(refused)[:1_000]
    return CommentsFailed(n=request.n, k=request.k, reason=refused.reason, detail=detail, retry_after=wait)


def _outcome(facts: Sequence[Said]) -> measures.Outcome:
    last = facts[-1]
    return _OUTCOMES.get(last.reason, "refused") if isinstance(last, CommentsFailed) else "fetched"


_OUTCOMES: dict[Failure, measures.Outcome] = {
    Failure.CLOSED: "closed",
    Failure.CANCELLED: "cancelled",
    Failure.GITHUB_UNAVAILABLE: "unavailable",
    Failure.GITHUB_INCOMPLETE: "incomplete",
}
