"""`/api/loops`: what is going on, one loop explained, and the commands that a token gives it. See docs/reviewers.md."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from amends.common.answers import Report
from amends.common.envelope import event_of
from amends.common.explain import Known, explain, plain
from amends.common.explain.plain import heard, summary
from amends.common.identity import INSTALLATION, LOOP, About, policy_loop
from amends.common.log import LogUnreachable
from amends.common.loop import Loop
from amends.common.provenance import Layers
from amends.common.redaction import Redactor
from amends.common.rows import LoopRow
from amends.common.sections import Bearer
from amends.common.standing import Status, policy_for
from amends.common.state import load
from amends.gateway import asking, exchange
from amends.gateway.callers import Callers, counted, reaches, unknown
from amends.gateway.exchange import Answer, Head, Request, Route, later, refusal
from amends.gateway.facts_api import told
from amends.gateway.payloads import Unreadable
from amends.gateway.places import Shelf
from amends.gateway.reporting import Desk

log = logging.getLogger(__name__)
MOST_BYTES = 100 * 1024
EVENTS = 50  # of a loop's last ones, that it is shown with


class Wanted(BaseModel):
    """Which loops are asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    status: Status | Literal["stuck"] | None = None
    repo: str | None = None
    limit: int = Field(default=100, ge=1, le=500)


class LoopsApi:
    """Shows loops to whoever has a token for their repository, and takes commands of those who may command."""

    def __init__(self, callers: Callers, desk: Desk, shelf: Shelf, redacted: Redactor) -> None:
        self._callers = callers
        self._desk = desk
        self._shelf = shelf
        self._redacted = redacted

    @property
    def routes(self) -> dict[str, Route]:
        """Where it is asked."""
        return {
            "/api/loops": Route("GET", partial(self._handle, self._list), 0, self._screen),
            "/api/loops/*": Route("GET", partial(self._handle, self._show), 0, self._screen),
            "/api/loops/*/commands": Route("POST", partial(self._handle, self._command), MOST_BYTES, self._screen),
        }

    def _screen(self, head: Head) -> Answer | None:
        return None if self._callers.who(head) else counted(unknown())

    async def _handle(self, answer: Callable[[Bearer, Request], Awaitable[Answer]], request: Request) -> Answer:
        token = self._callers.who(request.head)
        try:
            return counted(await answer(token, request) if token else unknown())
        except exchange.Refused as refused:
            return counted(refused.answer)
        except Unreadable as unreadable:
            return counted(refusal(HTTPStatus.UNPROCESSABLE_ENTITY, str(unreadable)))
        except LogUnreachable as unreachable:
            log.warning("the log cannot be read", extra={"why": str(unreachable)})
            return counted(later("the log cannot be read now"))

    async def _list(self, token: Bearer, request: Request) -> Answer:
        wanted = _wanted(request.head)
        if wanted.repo is not None and not reaches(token, wanted.repo):
            why = f"repo: this token is not for {wanted.repo}: add it to its `repositories`"
            raise exchange.Refused(HTTPStatus.FORBIDDEN, why)
        rows = await asyncio.to_thread(self._rows, token, wanted)
        return Answer(HTTPStatus.OK, {"loops": [summary(row) for row in rows]})

    def _rows(self, token: Bearer, wanted: Wanted) -> list[LoopRow]:
        everywhere = "*" in token.repositories
        places = [wanted.repo] if wanted.repo or everywhere else list(token.repositories)
        found = [row for repo in places for row in self._shelf.loops(wanted.status, repo, limit=wanted.limit)]
        return sorted(found, key=lambda row: (-row.updated, row.loop))[: wanted.limit]

    async def _show(self, token: Bearer, request: Request) -> Answer:
        row = await self._row(token, request.head)
        return Answer(HTTPStatus.OK, await asyncio.to_thread(self._explained, row))

    def _explained(self, row: LoopRow) -> dict[str, object]:
        loop, recent = load(row.state), self._shelf.history(row.loop, after=max(0, row.version - EVENTS))
        policy = policy_for(loop, self._loop(INSTALLATION), self._loop(policy_loop(row.loop)))
        rows = self._shelf.history(INSTALLATION) + self._shelf.history(policy_loop(row.loop))
        beside = [event_of(one) for one in rows]
        layers = Layers(row.full_name).tell(beside)
        known = Known(layers.settings(), layers.error, beside)
        explanation = explain(loop, policy, [event_of(one) for one in recent], known)
        return {**plain(explanation), **summary(row), "stuck": explanation.stuck}

    def _loop(self, name: str) -> Loop:
        row = self._shelf.loop(name)
        return load(row.state) if row else Loop(name)

    async def _command(self, token: Bearer, request: Request) -> Answer:
        if "commands" not in token.may:
            why = "this token may not give commands: add `commands` to its `may`"
            raise exchange.Refused(HTTPStatus.FORBIDDEN, why)
        if request.head.media != "application/json":
            raise exchange.Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Content-Type: send application/json")
        order = asking.identified(asking.ordered(request.body), request.head.text(b"idempotency-key"))
        row = await self._row(token, request.head)
        fact = asking.commanded(order, token.name, self._redacted)
        report = Report(fact=fact, version=fact.schema_version, about=About(loop=row.loop), actor=token.name)
        answer = told(await self._desk.send([report]), fact, row.loop)
        if answer.status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
            return answer
        # A fact and what is decided about it commit together: whatever came of it by itself is in the log already.
        became = await asyncio.to_thread(heard, partial(self._shelf.find, row.loop), fact.key)
        return Answer(answer.status, {**answer.said, **became._asdict()})

    async def _row(self, token: Bearer, head: Head) -> LoopRow:
        """The loop of this name; one that the token is not for is as good as none."""
        row = await asyncio.to_thread(self._named, head.named)
        if row is None or not reaches(token, row.full_name):
            why = "give owner/repo#42 (as owner%2Frepo%2342) or its name, of a repository that this token is for"
            raise exchange.Refused(HTTPStatus.NOT_FOUND, f"loop: there is none of that name: {why}")
        return row

    def _named(self, said: str) -> LoopRow | None:
        known = LOOP.fullmatch(said) or asking.reference(said)
        name = self._shelf.resolve(said) if known else None
        return self._shelf.loop(name) if name else None


def _wanted(head: Head) -> Wanted:
    try:
        return Wanted.model_validate(head.asked())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = str(first["loc"][0])
        raise Unreadable(f"{field if field.isidentifier() else '?'}: {first['msg']}") from error
