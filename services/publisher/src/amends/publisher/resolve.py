"""Answers `resolve.requested`: resolves the threads whose items are fixed, while the fix is in the live head."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from amends.common.answers import Go, Stop, Unavailable
from amends.common.delivery import Later, Never, pull_of
from amends.common.envelope import Event
from amends.common.events import PrClosed, ResolveFinished, ResolveRequested
from amends.common.gate.hunks import claimed
from amends.common.git import Remote
from amends.common.git.remotely import NoRef
from amends.common.github.client import Reach
from amends.common.github.errors import Denied, Missing, Torn
from amends.common.github.models import Known, Part
from amends.common.identity import PullId
from amends.publisher import measures
from amends.publisher.live import seen
from amends.publisher.push import Publisher

log = logging.getLogger(__name__)
_SOON = 30.0
_MOST_PAGES = 100
Fixed = Mapping[int, tuple[str, ...]]  # threads by their root comment, with the hunks that serve them
_LIST = """
query Threads($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved comments(first: 1) { nodes { fullDatabaseId } } }
      }
    }
  }
}
"""
_RESOLVE = """
mutation Resolve($thread: ID!) {
  resolveReviewThread(input: {threadId: $thread}) { thread { id isResolved } }
}
"""


class _Root(Part):
    fullDatabaseId: int  # noqa: N815 - GitHub's name


class _Roots(Part):
    nodes: Known[_Root] = ()


class _Thread(Part):
    id: str
    isResolved: bool = False  # noqa: N815 - GitHub's name
    comments: _Roots = _Roots()


_THREADS: TypeAdapter[tuple[_Thread, ...]] = TypeAdapter(Known[_Thread])


@dataclass(frozen=True)
class Resolver:
    """Resolves what the publisher pushed."""

    publisher: Publisher

    async def resolve(self, event: Event) -> Sequence[ResolveFinished]:
        """The fact that tells which are resolved: nobody is left to do more."""
        request = event.fact
        if not isinstance(request, ResolveRequested):
            raise Never(f"{event.type} asks for no threads")
        fixed = {
            int(one.item.removeprefix("thread/")): tuple(one.hunks)
            for one in request.verdicts
            if one.item.removeprefix("thread/").isdecimal()
        }
        try:
            roots = await self._resolved(event, pull_of(event.loop), request.sha, fixed)
        except (Missing, Denied):  # gone, or not ours to resolve: the threads say themselves that they are open
            roots = ()
        return [ResolveFinished(n=request.n, roots=roots)]

    async def _may(self, event: Event) -> bool:
        match await self.publisher.recorder.may(event.pos):
            case Go():
                return True
            case Stop(reason="paused" as reason):
                raise Later(_SOON, reason)
            case Stop():
                return False
            case Unavailable(detail=detail):
                raise Later(_SOON, detail)

    async def _resolved(self, event: Event, at: PullId, sha: str, fixed: Fixed) -> tuple[int, ...]:
        if not await self._may(event):
            return ()
        reach = await self.publisher.client.repository(at.repo)
        live = await seen(reach, at)
        if isinstance(live.standing, PrClosed):
            return ()
        standing = await self._standing(at, live.pull.head.ref, sha, fixed)
        found: list[int] = []
        async for thread in _threads(reach, at):
            root = thread.comments.nodes[0].fullDatabaseId if thread.comments.nodes else 0
            if root in standing and (thread.isResolved or await self._resolves(event, reach, thread.id)):
                found.append(root)
        return tuple(found)

    async def _resolves(self, event: Event, reach: Reach, thread: str) -> bool:
        if not await self._may(event):
            return False
        _, errors = await reach.query(_RESOLVE, thread=thread)
        if errors:  # not there any more, or not ours to resolve: people see that it is open
            log.info("a thread was not resolved", extra={"node": thread, "error": str(errors[0])[:200]})
            return False
        measures.resolved(1)
        return True

    async def _standing(self, at: PullId, branch: str, sha: str, fixed: Fixed) -> set[int]:
        """The threads whose fix is in the live head, untouched since."""
        repository = self.publisher.repositories.of(at.repo)
        ours = f"refs/amends/heads/{at.number}"

        async def fetch(remote: Remote) -> None:
            await repository.fetch(remote, [f"+refs/heads/{branch}:{ours}"])

        async with repository.used():
            try:
                await self.publisher.access.using(at.repo, fetch)
            except NoRef:
                return set()
            head = await repository.resolve(ours)
            if head is None or not await repository.has(sha) or not await repository.is_ancestor(sha, head):
                return set()
            touched = set(await repository.changed(sha, head))
        return {root for root, hunks in fixed.items() if touched.isdisjoint(claimed(hunk).path for hunk in hunks)}


async def _threads(reach: Reach, at: PullId) -> AsyncIterator[_Thread]:
    after: str | None = None
    for _ in range(_MOST_PAGES):
        data, errors = await reach.query(_LIST, number=at.number, after=after)
        pull = (data.get("repository") or {}).get("pullRequest")
        if errors or pull is None:
            raise Missing("the threads of the pull request are not shown")
        page: dict[str, Any] = pull["reviewThreads"]
        try:
            found = _THREADS.validate_python(page["nodes"])
        except (ValidationError, KeyError) as error:
            raise Torn(_SOON, "GitHub's answer about threads cannot be read") from error
        for thread in found:
            yield thread
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            return
