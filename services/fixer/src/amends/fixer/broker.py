"""Between somebody else's agent and the model: adds the key, lets through what may be asked, and keeps the accounts.

It is reached through a socket that is bound into the sandbox of that agent. One request at a time: the limits are
looked at before each, together with what it may cost at most, so that nothing is spent that is not there. Whoever
leaves in the middle of a reply has paid for it all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from amends.common.events import Failure
from amends.fixer import exchange
from amends.fixer.agent import Stopped
from amends.fixer.asking import Asked, Unfit, asked
from amends.fixer.dialogue import Json, Tokens
from amends.fixer.endpoint import Answer, Endpoint, Unreached
from amends.fixer.exchange import Receive, Scope, Send
from amends.fixer.heard import Heard
from amends.fixer.ledger import Ledger, Turn
from amends.fixer.meaning import Fault, meaning

MESSAGES, COUNT = "/v1/messages", "/v1/messages/count_tokens"
_MOST_COUNTS = 1_000
_BYTES = 3  # at least, that make a token
_OK = 200
_OFF = frozenset({Failure.MODEL_AUTH, Failure.MODEL_SPEND, Failure.MODEL_UNKNOWN})


@dataclass
class Broker:
    """For one run. `wanted` raises Stopped when nobody wants the work any more.

    `stopped` is why the run has to end; `outage` why the last request was not answered, if somebody may ask again.
    """

    endpoint: Endpoint
    ledger: Ledger
    wanted: Callable[[], Awaitable[None]]
    stopped: Stopped | None = None
    outage: Stopped | None = None
    refusal: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    _counted: int = 0
    _last: Sequence[Json] = ()

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        try:
            async with self._alone:
                await self._answered(scope, receive, send)
        except exchange.Denied as denied:
            await exchange.say(send, denied.status, exchange.error(denied.kind, str(denied)))
        except Stopped as stopped:
            self._stop(stopped)
            await exchange.say(send, 403, exchange.error("permission_error", str(stopped)))

    def _stop(self, why: Stopped) -> None:
        self.stopped = self.stopped or why
        self.over.set()

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        where = scope["method"], scope["path"]
        if where not in {("POST", MESSAGES), ("POST", COUNT)}:
            raise exchange.Denied(404, "not_found_error", f"only POST {MESSAGES} and {COUNT} are let through")
        if self.stopped is not None:
            raise self.stopped
        body = await exchange.body(receive)
        try:
            asks = asked(body, counts=scope["path"] == COUNT)
        except Unfit as unfit:
            raise exchange.Denied(400, "invalid_request_error", str(unfit)) from unfit
        await self._allowed()
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        asking = _Asking(asks, headers, send)
        await (self._counts(asking) if scope["path"] == COUNT else self._turn(asking))

    async def _allowed(self) -> None:
        if over := self.ledger.over():
            raise Stopped(Failure.LIMITS, f"the limit of {over} for one run is reached")
        await self.wanted()

    async def _counts(self, asking: _Asking) -> None:
        """It costs nothing, and is not asked for ever."""
        self._counted += 1
        if self._counted > _MOST_COUNTS:
            raise Stopped(Failure.LIMITS, "tokens were counted too often")
        await self._through(COUNT, asking, Heard(streams=False))

    async def _turn(self, asking: _Asking) -> None:
        at_most, used, limits = asking.at_most, self.ledger.usage, self.ledger.limits
        if used.usd_micro + at_most.usd_micro > limits.usd_micro:
            raise Stopped(Failure.LIMITS, "the next turn may cost more money than is left for this run")
        if used.tokens + at_most.tokens.all > limits.tokens:
            raise Stopped(Failure.LIMITS, "the next turn may take more tokens than are left for this run")
        await self.ledger.opened(at_most)
        self.outage, self.refusal = None, False
        heard, cut = Heard(asking.asked.streams), False
        try:
            async with asyncio.timeout(self.ledger.left):
                await self._through(MESSAGES, asking, heard)
        except (TimeoutError, asyncio.CancelledError) as error:
            cut = True
            if isinstance(error, TimeoutError):
                raise Stopped(Failure.LIMITS, "the time for the agent is up") from None
            raise
        finally:
            # Of what we cut off nobody says the price: it counts with all that it may have cost.
            turn = Turn(asking.asked.model, at_most.tokens if cut else heard.tokens)
            said = self._new(asking.asked, heard) if heard.total else []
            await asyncio.shield(self.ledger.closed(turn, said))

    def _new(self, asks: Asked, heard: Heard) -> list[Json]:
        """What this turn adds to what is in the record: an agent says all of it again each time."""
        said = [_bare(one) for one in asks.messages]
        known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(said, self._last, strict=False)))
        opening: list[Json] = [] if known else [{"system": asks.system, "model": asks.model}]
        echoed = known == len(self._last) > 0  # it begins with the reply that is there already
        self._last = said
        return [*opening, *said[known + echoed :], heard.message]

    async def _through(self, path: str, asking: _Asking, heard: Heard) -> None:
        try:
            async with self.endpoint.post(path, asking.headers, asking.asked.body) as answer:
                if answer.status != _OK:
                    await self._refused(asking, answer)
                    return
                await exchange.passed(answer, heard, asking.send)
        except Unreached as error:
            self.outage = Stopped(Failure.MODEL_OVERLOADED, f"the model's endpoint: {error}")
            if not heard.total:
                raise exchange.Denied(529, "overloaded_error", "the endpoint does not answer") from error
        finally:
            heard.end()
        if heard.fault:
            self.outage = Stopped(meaning(Fault(_OK, heard.fault)).reason, f"the model's endpoint: {heard.fault}")
        self.refusal = heard.stop == "refusal"

    async def _refused(self, asking: _Asking, answer: Answer) -> None:
        """An error: told in our own words, and where it is about our account the run is over."""
        fault = await exchange.fault(answer, self.endpoint.key)
        meant = meaning(fault)
        if meant.reason is Failure.MODEL_OVERLOADED:
            self.outage = Stopped(meant.reason, fault.said, meant.wait)
        if meant.reason in _OFF and self._is_ours(fault, asking.asked):
            raise Stopped(meant.reason, fault.said)
        headers = {"retry-after": fault.after} if fault.after else {}
        await exchange.say(asking.send, answer.status, exchange.error(fault.kind, fault.message), headers)

    def _is_ours(self, fault: Fault, asks: Asked) -> bool:
        """Whether the account is at fault, and not what was asked: an agent may ask for what is not there, or make the
        endpoint repeat its words, and nobody else has to stop for that.
        """
        if fault.status in (401, 402) or fault.code or fault.kind == "billing_error":
            return True
        if fault.status == 400:  # noqa: PLR2004 - bad request
            return fault.message.startswith("Your credit balance")
        return asks.model == self.endpoint.model


def _bare(message: Json) -> Json:
    """Without the marks of where a cache ends: they move with every turn."""
    blocks = message.get("content")
    if not isinstance(blocks, list):
        return message
    marks = {"cache_control"}
    content = [{n: v for n, v in one.items() if n not in marks} if isinstance(one, dict) else one for one in blocks]
    return {**message, "content": content}


@dataclass(frozen=True)
class _Asking:
    """A request that may be sent on, and who waits for its answer."""

    asked: Asked
    headers: Mapping[str, str]
    send: Send

    @property
    def at_most(self) -> Turn:
        return Turn(self.asked.model, Tokens(kept=len(self.asked.body) // _BYTES, said=self.asked.most))
