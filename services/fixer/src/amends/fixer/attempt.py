"""One attempt at a fix: what it works with, whether it is still wanted, and what is left of it whatever its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from amends.common.answers import Go, Recorder, Stop
from amends.common.envelope import Event
from amends.common.events import CommentsFetched, Failure, Usage
from amends.common.feedback import Feedback, from_blob
from amends.common.git import Access, Repositories
from amends.common.github.client import Client
from amends.common.policy import Policy
from amends.fixer.agent import Run, Stopped, transcript
from amends.fixer.dialogue import Model
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

    `spare` are workspaces for a look at the base; `secrets` what nobody may see in a change.
    """

    recorder: Recorder
    client: Client
    access: Access
    repositories: Repositories
    workspaces: Workspaces
    spare: Workspaces
    sandbox: Sandbox
    trouble: Callable[[], Awaitable[str]]
    model: Model | None = None
    secrets: tuple[str, ...] = ()


@dataclass
class Attempt:
    """An attempt that is ours."""

    means: Means
    event: Event
    fetched: CommentsFetched
    run: str
    agent: Run | None = None
    notes: tuple[str, ...] = ()

    @property
    def rules(self) -> Policy:
        """What is in force for the whole cycle."""
        return self.fetched.rules or Policy()

    @property
    def usage(self) -> Usage:
        """What it cost so far."""
        return self.agent.usage if self.agent else Usage()

    async def transcript(self) -> str | None:
        """Where everything that was said is kept."""
        if self.agent is None:
            return None
        return await self.means.recorder.put(json.dumps(transcript(self.agent), ensure_ascii=False).encode())

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
