"""`POST /api/facts`: reviewers outside GitHub say what they think, and tokens give commands. See docs/reviewers.md."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from http import HTTPStatus

from amends.common.answers import Already, Refused, Report
from amends.common.events import AnyFact, ReviewApproved, ReviewRejected
from amends.common.identity import About, PullId, loop_name
from amends.common.log import LogUnreachable
from amends.common.redaction import Redactor
from amends.gateway import asking, exchange
from amends.gateway.callers import Callers, counted, reaches, unknown
from amends.gateway.exchange import Answer, Head, Request, Route, later, refusal
from amends.gateway.payloads import Unreadable
from amends.gateway.places import Places
from amends.gateway.reporting import Desk, Outcome

log = logging.getLogger(__name__)
MOST_BYTES = 200 * 1024  # what comes out of it fits an envelope
_LETTERS = frozenset({"utf-8", "utf8", "us-ascii", "iso-8859-1", "iso-8859-15", "windows-1252", "utf-16"})


class FactsApi:
    """Takes what tokens say, one at a time: of two at once that contradict each other one is first."""

    def __init__(
        self, callers: Callers, desk: Desk, places: Places, redacted: Redactor, now: Callable[[], datetime]
    ) -> None:
        self._callers = callers
        self._desk = desk
        self._places = places
        self._redacted = redacted
        self._now = now
        self._turn = asyncio.Lock()

    @property
    def route(self) -> Route:
        """Where it is asked."""
        return Route("POST", self._handle, MOST_BYTES, self._screen)

    def _screen(self, head: Head) -> Answer | None:
        return None if self._callers.who(head) else counted(unknown())

    async def _handle(self, request: Request) -> Answer:
        try:
            answer = await self._answer(request)
        except exchange.Refused as refused:
            answer = refused.answer
        except Unreadable as unreadable:
            answer = refusal(HTTPStatus.UNPROCESSABLE_ENTITY, str(unreadable))
        except LogUnreachable as unreachable:
            log.warning("the log cannot be read", extra={"why": str(unreachable)})
            answer = later("the log cannot be read now")
        return counted(answer)

    async def _answer(self, request: Request) -> Answer:
        token = self._callers.who(request.head)
        if token is None:
            return unknown()
        wanted = _read(request)
        about, right = wanted.about, "commands" if isinstance(wanted, asking.Command) else "facts"
        if right not in token.may:
            raise _denied(f"this token may not say that: add `{right}` to its `may`")
        if not reaches(token, about.full_name):
            raise _denied(f"this token is not for {about.full_name}: add it to its `repositories`")
        pull = await self._places.pull(about)
        if pull is None or not await self._places.listed(pull.repo, about.full_name):
            why = "no pull request of it is known here: list it in the policy, then open or touch one"
            raise exchange.Refused(HTTPStatus.NOT_FOUND, f"pull: {about.full_name}: {why}")
        fact = asking.fact(wanted, token.name, self._now(), self._redacted)
        return await self._recorded(pull, fact, token.name)

    async def _recorded(self, pull: PullId, fact: AnyFact, by: str) -> Answer:
        where = About(repo=pull.repo, number=pull.number)
        loop = loop_name(where) or ""
        async with self._turn:
            if other := _opposite(fact):
                row = await self._places.recorded(loop, other)
                if row is not None:
                    raise _clash(row.pos)
            outcome = await self._desk.send([Report(fact=fact, version=fact.schema_version, about=where, actor=by)])
        return told(outcome, fact, loop)


def _read(request: Request) -> asking.Request:
    match request.head.media:
        case "application/json":
            return asking.identified(asking.asked(request.body), request.head.text(b"idempotency-key"))
        case "text/plain" | "text/markdown":
            return asking.said(_text(request), request.head.asked())
        case _:
            why = "Content-Type: send application/json, or what an agent printed as text/plain"
            raise exchange.Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, why)


def _text(request: Request) -> str:
    letters = request.head.charset or "utf-8"
    if letters not in _LETTERS:
        raise exchange.Refused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type: {letters} is not read here: send UTF-8"
        )
    return request.body.decode(letters, "replace")


def _opposite(fact: AnyFact) -> str:
    """The key that the same review would have, had it said the opposite."""
    if isinstance(fact, ReviewRejected):
        return f"review/{fact.review}/approved"
    return f"review/{fact.review}/rejected" if isinstance(fact, ReviewApproved) else ""


def told(outcome: Outcome, fact: AnyFact, loop: str) -> Answer:
    """What became of a token's fact."""
    if outcome.kind == "unavailable":
        log.warning("a fact is not recorded", extra={"loop": loop, "why": outcome.why})
        return later("it may or may not be in the log: send the same again")
    (answer,) = outcome.answers
    match answer:
        case Already() if answer.fact is not None and _words(answer.fact) != _words(fact):
            raise _clash(answer.pos)
        case Already():
            return Answer(HTTPStatus.OK, {"already": answer.pos, "loop": loop, "key": fact.key})
        case Refused(reason="oversized"):
            return refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{answer.detail}: say less")
        case Refused():
            return refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"{answer.reason}: {answer.detail}")
        case _:
            return Answer(HTTPStatus.CREATED, {"recorded": outcome.positions[0], "loop": loop, "key": fact.key})


def _words(fact: AnyFact) -> dict[str, object]:
    return fact.model_dump(exclude={"submitted_at"})


def _denied(why: str) -> exchange.Refused:
    return exchange.Refused(HTTPStatus.FORBIDDEN, why)


def _clash(pos: int) -> exchange.Refused:
    why = f"this number or id was used before, for something else (position {pos}): take a new one"
    return exchange.Refused(HTTPStatus.CONFLICT, why)
