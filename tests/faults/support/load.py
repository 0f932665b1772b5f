"""Load as an installation knows it: people at work on pull requests, and services that do what they are asked.

Everything is insisted on until it is answered, and much is said by two at once, as a webhook and a poller would. What
the services owe is read from the log, so that nothing here depends on the mirror that is being maltreated.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from itertools import count
from threading import Event as Flag
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from amends.common.answers import Already, Recorded
from amends.common.envelope import event_of
from amends.common.events import (
    AnyFact,
    ChecksCounted,
    ChecksRequested,
    CommandGiven,
    CommentsFetched,
    FixRequested,
    FixStarted,
    PushRequested,
    ResolveFinished,
    ResolveRequested,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
)
from amends.common.log import Log, LogUnreachable, OutstandingRow
from tests.faults.support.insistence import Insistence
from tests.faults.support.ledger import Ledger
from tests.faults.support.team import Pull, chatter, looked_up, pull_of, told_of
from tests.support.facts import EVE

LOOK = 0.02
NOISE = 100_000  # pull requests from this number on are talked about and never rejected
Found = TypeVar("Found")


class Crowd(NamedTuple):
    """How many are at work on a pull request at once, how many only talk, and whether the services are there."""

    people: int = 6
    gossips: int = 2
    services: bool = True


class Load:
    """People and services in a thread of their own, from `start` to `stop`."""

    def __init__(self, nats_url: str, log_url: str, crowd: Crowd, ledger: Ledger | None = None) -> None:
        self.ledger = ledger or Ledger(complete=crowd.services)
        self.pulls: dict[int, int] = {}  # how many rounds each had that came to its end
        self._nats_url = nats_url
        self._log_url = log_url
        self._crowd = crowd
        self._numbers, self._noise = count(1), count(NOISE)
        self._go, self._stopping = Flag(), Flag()
        self._busy = self._reached = 0
        self._decided: dict[str, set[str]] = defaultdict(set)
        self._awaited: set[str] = set()
        self._taken: set[int] = set()
        self._failures: list[BaseException] = []
        self._thread = Thread(target=self._run, name="load", daemon=True)

    def __str__(self) -> str:
        open_ = sorted(self._said.open | self._awaited)
        done = f"read up to {self._reached}; refused: {dict(self.ledger.refused)}"
        return f"{self._busy} at work, waiting for {open_}; {done}"

    # --- from the test -----------------------------------------------------------------------------------------------

    def start(self) -> Load:
        """Begin."""
        self._go.set()
        self._thread.start()
        return self

    def rest(self) -> None:
        """Begin nothing more; what was begun goes on to its end."""
        self._go.clear()

    def go_on(self) -> None:
        """Begin again."""
        self._go.set()

    @property
    def resting(self) -> bool:
        """Whether all that was begun has come to its end; raises what went wrong in the load itself."""
        self._raise()
        return not self._go.is_set() and self._busy == 0

    def stop(self) -> None:
        """End the thread, whatever is still open."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(20)
        assert not self._thread.is_alive(), "the load does not end"
        self._raise()

    def _raise(self) -> None:
        for failure in self._failures:
            raise failure

    # --- its thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            asyncio.run(self._crowded())
        except BaseException as failure:  # noqa: BLE001 - the test raises it
            self._failures.append(failure)

    async def _crowded(self) -> None:
        self._said = Insistence(self._nats_url, self.ledger)
        self._log = Log(self._log_url)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(work) for work in self._works()]
            while not self._stopping.is_set():  # noqa: ASYNC110 - it is set by another thread
                await asyncio.sleep(LOOK)
            for task in running:
                task.cancel()
        await self._said.end()
        await asyncio.get_running_loop().shutdown_default_executor()  # somebody may still be reading
        self._log.close()

    def _works(self) -> list[Coroutine[Any, Any, None]]:
        services = [self._served()] if self._crowd.services else []
        people = [self._forever(self._reviewed) for _ in range(self._crowd.people)]
        gossips = [self._forever(self._gossiped) for _ in range(self._crowd.gossips)]
        return [self._said.begin(), self._watched(), *services, *people, *gossips]

    async def _forever(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            if self._go.is_set():
                self._busy += 1
                await work()
                self._busy -= 1
            await asyncio.sleep(LOOK)

    # --- people ------------------------------------------------------------------------------------------------------

    async def _reviewed(self) -> None:
        """One pull request from its first sight to its approval."""
        pull = Pull(next(self._numbers))
        rounds = 1 + pull.number % 2
        await self._seen_twice(pull, pull.observed())
        await self._seen_twice(pull, pull.remarked())
        for n in range(1, rounds + 1):
            await self._seen_twice(pull, pull.rejected(n))
            await self._until(pull.loop, f"cycle/{n}/finished")
            await self._seen_twice(pull, pull.observed(n))
        await self._seen_twice(pull, pull.approved(rounds))
        await self._until(pull.loop, "finished/1")
        self.pulls[pull.number] = rounds

    async def _gossiped(self) -> None:
        """Facts as fast as they are answered, and bytes that are none."""
        pull = Pull(next(self._noise))
        await self._said.report("gateway", pull, pull.observed())
        for n in range(1, 10):
            for fact in chatter(pull, n, EVE):
                await self._said.report("gateway", pull, fact)
            await self._said.bother()
            await self._said.presume(pull, pull.rejected(n))

    async def _seen_twice(self, pull: Pull, fact: AnyFact) -> None:
        await asyncio.gather(self._said.report("gateway", pull, fact), self._said.report("comment-fetcher", pull, fact))

    async def _until(self, loop: str, key: str) -> None:
        self._awaited.add(f"{loop} {key}")
        while key not in self._decided[loop]:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(LOOK)
        self._awaited.discard(f"{loop} {key}")

    # --- services ----------------------------------------------------------------------------------------------------

    async def _served(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                for owed in await self._read(self._log.outstanding) or ():
                    if owed.pos not in self._taken:
                        self._taken.add(owed.pos)
                        tasks.create_task(self._answered(owed))
                await asyncio.sleep(LOOK)

    async def _answered(self, owed: OutstandingRow) -> None:
        self._busy += 1
        row = None
        while row is None:
            row = await self._read(lambda: self._log.row(owed.pos))
        await self._work(pull_of(owed.loop), owed.pos, event_of(row).fact)
        self._busy -= 1

    async def _work(self, pull: Pull, pos: int, fact: AnyFact) -> None:
        match fact:
            case ReviewRejected() | ReviewApproved() | ReviewCommented() | CommandGiven():
                await self._said.report("comment-fetcher", pull, looked_up(fact))
            case FixRequested():
                texts = await self._said.put(pull.contents(fact.n, fact.k, "texts"))
                await self._said.report("comment-fetcher", pull, pull.collected(fact, texts))
            case CommentsFetched():
                await self._fix(pull, fact)
            case PushRequested():
                await self._said.report("publisher", pull, pull.pushed(fact))
            case ResolveRequested():
                await self._said.report("publisher", pull, ResolveFinished(n=fact.n))
            case ChecksRequested():
                await self._said.report("publisher", pull, ChecksCounted(n=fact.n))
            case _:
                await self._said.report("notifier", pull, told_of(pos))

    async def _fix(self, pull: Pull, fetched: CommentsFetched) -> None:
        claim = FixStarted(n=fetched.n, k=fetched.k, holder="fixer/0", run="run-1")
        answer = await self._said.report("fixer", pull, claim)
        if isinstance(answer, Recorded | Already):
            blob = await self._said.put(pull.contents(fetched.n, fetched.k, "mended"))
            await self._said.report("fixer", pull, pull.prepared(fetched, "run-1", blob))

    # --- the log -----------------------------------------------------------------------------------------------------

    async def _watched(self) -> None:
        """Follow the log, so that everybody sees what was decided."""
        while True:
            for row in await self._read(partial(self._log.rows, self._reached)) or ():
                self._decided[row.loop].add(row.key)
                self._reached = row.pos
            await asyncio.sleep(LOOK)

    async def _read(self, question: Callable[[], Found]) -> Found | None:
        """What the log says; None while it cannot be read."""
        with suppress(LogUnreachable):
            return await asyncio.to_thread(question)
        return None
