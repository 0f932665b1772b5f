"""Asking the comment-fetcher to look around now: a question that only it answers, when it has looked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Annotated

from nats.aio.msg import Msg
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from amends.common.bus.link import Link, Unanswered, answer
from amends.common.bus.users import RECONCILE
from amends.common.policy import Count

_LOG = logging.getLogger(__name__)


class Wanted(BaseModel):
    """Where to look: one repository, or all."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    repository: Annotated[str, StringConstraints(max_length=201)] = ""


class Looked(BaseModel):
    """What was looked at, what was found that nobody had told, and what could not be looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    repositories: Count = 0
    pulls: Count = 0
    found: Count = 0
    missed: Annotated[tuple[str, ...], Field(max_length=100)] = ()


Look = Callable[[str], Awaitable[Looked]]


class Errands:
    """Serves those who ask for a look around, one after the other."""

    def __init__(self, link: Link, look: Look) -> None:
        self._link = link
        self._look = look
        self._under_way: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Take requests from now on."""
        await self._link.subscribe(RECONCILE, self._heard)

    async def close(self) -> None:
        """Leave what is under way: whoever asked can ask again."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _heard(self, message: Msg) -> None:
        try:
            wanted = Wanted.model_validate_json(message.data)
        except ValidationError:
            _LOG.warning("a request to look around cannot be read")
            return
        task = asyncio.create_task(self._served(wanted, message))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _served(self, wanted: Wanted, message: Msg) -> None:
        looked = await self._look(wanted.repository)
        try:
            await answer(self._link, message, looked.model_dump_json().encode())
        except Unanswered as unanswered:
            _LOG.warning("whoever asked for a look around was not answered", extra={"error": str(unanswered)})


async def look_around(link: Link, repository: str, seconds: float) -> Looked:
    """Ask for a look, and wait for what comes of it."""
    wanted = Wanted(repository=repository).model_dump_json().encode()
    answer = await link.request(RECONCILE, wanted, seconds=seconds)
    try:
        return Looked.model_validate_json(answer.data)
    except ValidationError as error:
        raise Unanswered(f"{RECONCILE}: an answer that cannot be read") from error
