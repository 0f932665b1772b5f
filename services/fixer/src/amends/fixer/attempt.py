"""One attempt at a fix: what it works with, whether it is still wanted, and what is left of it whatever its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from amends.common.answers import Go, Recorder, Stop
from amends.common.envelope import Event
from amends.common.events import CommentsFetched, Failure, Usage, Verdict
from amends.common.feedback import Feedback, from_blob
from amends.common.git import Access, Repositories
from amends.common.github.client import Client
from amends.common.policy import Policy
from amends.fixer.agent import Stopped
from amends.fixer.commanded import Outside
from amends.fixer.dialogue import Json, Model
from amends.fixer.ledger import Ledger
from amends.fixer.record import Record, Records
from amends.fixer.sandbox import Sandbox
from amends.fixer.workspaces import Workspaces

_ASK_AGAIN = 1.0
_STOPS = {
    "superseded": Failure.SUPERSEDED,
    "closed": Failure.CLOSED,
    "merged": Failure.CLOSED,
    "draft": Failure.DRAFT,
    "fork": Failure.FORK,
}


@dataclass(frozen=True)
class Means:
    """What a fixer works with. `trouble` says why no sandbox holds here: then no code of anybody runs.

    It thinks with a model, or has somebody `outside` think.
    `spare` are workspaces for a look at the base; `secrets` what nobody may see in a change;
    `requirements` where repositories keep theirs.
    """

    recorder: Recorder
    client: Client
    access: Access
    repositories: Repositories
    workspaces: Workspaces
    spare: Workspaces
    records: Records
    sandbox: Sandbox
    trouble: Callable[[], Awaitable[str]]
    model: Model | None = None
    outside: Outside | None = None
    secrets: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()

    @property
    def thinks(self) -> bool:
        """Whether there is anybody for what is more than a suggestion."""
        return self.model is not None or self.outside is not None


class Agent(Protocol):
    """Whoever thinks, with the accounts of it."""

    ledger: Ledger

    async def verdicts(self) -> tuple[Verdict, ...]:
        """Work until each task has one; raises Stopped."""
        ...

    def unsaid(self) -> Sequence[Json]:
        """What was said and is not in the record yet."""
        ...


@dataclass
class Attempt:
    """An attempt that is ours."""

    means: Means
    event: Event
    fetched: CommentsFetched
    record: Record
    agent: Agent | None = None
    notes: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """In which life of ours."""
        return self.record.line.run

    @property
    def rules(self) -> Policy:
        """What is in force for the whole cycle."""
        return self.fetched.rules or Policy()

    @property
    def usage(self) -> Usage:
        """What it cost so far."""
        return self.agent.ledger.usage if self.agent else Usage()

    async def transcript(self) -> str | None:
        """Where what was said last is kept, which leads to all that was said before."""
        return None if self.agent is None else await self.record.said(rest=self.agent.unsaid())

    async def items(self) -> Sequence[Feedback]:
        """What people said."""
        if self.fetched.texts is None:
            return ()
        content = await self.means.recorder.get(self.fetched.texts)
        if content is None:
            raise Stopped(Failure.GITHUB_INCOMPLETE, "the words of what was collected are not kept any more")
        return from_blob(content)

    async def wanted(self) -> None:
        """Raise Stopped when nobody wants the work any more; without an answer nothing goes on."""
        while True:
            match await self.means.recorder.may(self.event.pos, self.run):
                case Go():
                    return
                case Stop(reason=reason):
                    raise Stopped(_STOPS.get(reason, Failure.CANCELLED), reason)
                case _:
                    await asyncio.sleep(_ASK_AGAIN)
