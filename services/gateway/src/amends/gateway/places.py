"""What the gateway looks up in the log: which repositories are configured, and which pull request a commit heads."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from amends.common.envelope import Row, event_of
from amends.common.events import PolicyChanged
from amends.common.github.models import Part, Words
from amends.common.identity import INSTALLATION, PullId
from amends.common.policy import Overrides
from amends.common.rows import LoopRow
from amends.gateway.asking import Reference
from amends.gateway.found import Access

POLICY_SECONDS = 1.0  # how old what we know of the policy may be
SCAN_SECONDS = 30.0  # how often all loops of a repository are looked through for a commit that nobody told us of
MOST_HEADS = 50_000
MOST_LOOPS = 10_000


class Shelf(Protocol):
    """What is read of the log."""

    def loop(self, name: str) -> LoopRow | None: ...
    def history(self, loop: str, upto_version: int | None = None, after: int = 0) -> list[Row]: ...
    def resolve(self, reference: str) -> str | None: ...
    def loops(self, status: str | None = None, repo: str | None = None, *, limit: int = 500) -> list[LoopRow]: ...
    def find(self, loop: str, key: str) -> Row | None: ...


class Places:
    """Reads the log in threads, and no more often than it has to."""

    def __init__(self, shelf: Shelf, clock: Callable[[], float] = time.monotonic) -> None:
        self._shelf = shelf
        self._clock = clock
        self._looking = asyncio.Lock()
        self._looked = float("-inf")
        self._version = -1
        self._names: frozenset[str] = frozenset()
        self._ids: set[int] = set()
        self._heads: OrderedDict[tuple[int, str], set[int]] = OrderedDict()
        self._scanned: dict[int, float] = {}

    # --- which repositories ----------------------------------------------------------------------------------------

    async def listed(self, repo: int, full_name: str) -> bool:
        """Whether the installation lists the repository, under this name or the one it had before."""
        if self._clock() - self._looked > POLICY_SECONDS:
            async with self._looking:
                if self._clock() - self._looked > POLICY_SECONDS:
                    await self._look()
        if full_name.lower() in self._names:
            self._ids.add(repo)
            return True
        return repo in self._ids

    async def _look(self) -> None:
        began = self._clock()
        row = await asyncio.to_thread(self._shelf.loop, INSTALLATION)
        version = row.version if row else 0
        if version != self._version:
            self._names, self._ids = await asyncio.to_thread(self._policy)
            self._version = version
        self._looked = began

    def _policy(self) -> tuple[frozenset[str], set[int]]:
        rules = Overrides()
        for row in self._shelf.history(INSTALLATION):
            if row.type == "policy.changed":
                fact = event_of(row).fact
                if isinstance(fact, PolicyChanged) and not fact.repository:
                    rules = fact.over(rules)
        names = frozenset(name.lower() for name in rules.repositories or ())
        known = (row.repo for name in names for row in self._shelf.loops(repo=name, limit=1))
        return names, {repo for repo in known if repo is not None}

    # --- which pull requests ---------------------------------------------------------------------------------------

    def remember(self, repo: int, heads: Iterable[tuple[str, int]]) -> None:
        """These commits head these pull requests."""
        for sha, number in heads:
            numbers = self._heads.setdefault((repo, sha), set())
            numbers.add(number)
            self._heads.move_to_end((repo, sha))
        while len(self._heads) > MOST_HEADS:
            self._heads.popitem(last=False)

    async def headed_by(self, repo: int, full_name: str, sha: str) -> tuple[int, ...]:
        """The pull requests that this commit heads."""
        stale = self._clock() - self._scanned.get(repo, float("-inf")) > SCAN_SECONDS
        if (repo, sha) not in self._heads and stale:
            self._scanned[repo] = self._clock()
            self.remember(repo, await asyncio.to_thread(lambda: list(self._open_heads(repo, full_name))))
        return tuple(sorted(self._heads.get((repo, sha), ())))

    def _open_heads(self, repo: int, full_name: str) -> Iterator[tuple[str, int]]:
        for row in self._open(repo, full_name):
            whole = self._shelf.loop(row.loop)
            state = _State.model_validate_json(whole.state) if whole else _State()
            if state.pull and row.number is not None:
                yield state.pull.head, row.number

    async def concerned(self, access: Access) -> list[PullId]:
        """The open pull requests that a change of our access is about."""
        return await asyncio.to_thread(lambda: list(self._concerned(access)))

    def _concerned(self, access: Access) -> Iterator[PullId]:
        for repo, full_name in access.repositories:
            yield from _pulls(self._open(repo, full_name))
        if access.owner:
            prefix = f"{access.owner}/".lower()
            rows = self._shelf.loops(limit=MOST_LOOPS)
            yield from _pulls(row for row in rows if row.full_name.lower().startswith(prefix) and row.status != "done")

    def _open(self, repo: int, full_name: str) -> list[LoopRow]:
        rows = self._shelf.loops(repo=full_name, limit=MOST_LOOPS)
        return [row for row in rows if row.repo == repo and row.status != "done"]

    async def pull(self, said: Reference) -> PullId | None:
        """The pull request of this name; None when nothing of its repository was ever seen."""
        return await asyncio.to_thread(self._pull, said)

    def _pull(self, said: Reference) -> PullId | None:
        loop = self._shelf.resolve(f"{said.full_name}#{said.number}")
        row = self._shelf.loop(loop) if loop else next(iter(self._shelf.loops(repo=said.full_name, limit=1)), None)
        return None if row is None or row.repo is None else PullId(row.repo, said.number)

    async def recorded(self, loop: str, key: str) -> Row | None:
        """The event of this key."""
        return await asyncio.to_thread(self._shelf.find, loop, key)


class _Head(Part):
    head: Words = ""


class _State(Part):
    """Of a loop's state, the head of its pull request."""

    pull: _Head | None = None


def _pulls(rows: Iterable[LoopRow]) -> Iterator[PullId]:
    for row in rows:
        if row.repo is not None and row.number is not None:
            yield PullId(row.repo, row.number)
