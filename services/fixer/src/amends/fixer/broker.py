"""Between somebody else's agent and the model: adds the key, lets through what may be asked, and keeps the accounts.

It is reached through a socket that is bound into the sandbox of that agent. One request at a time: the limits are
looked at before each, together with what it may cost at most, so that nothing is spent that is not there. Whoever
leaves in the middle of a reply has paid for it all the same.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from amends.common.events import Failure
from amends.fixer.agent import Stopped
from amends.fixer.asking import Asked, Unfit, asked
from amends.fixer.dialogue import Json, Tokens
from amends.fixer.endpoint import Answer, Endpoint, Unreached
from amends.fixer.heard import Heard
from amends.fixer.ledger import Ledger, Turn
from amends.fixer.meaning import Fault, meaning

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MESSAGES, COUNT = "/v1/messages", "/v1/messages/count_tokens"
_MOST_BODY = 16 << 20
_MOST_ERROR = 64 << 10
_MOST_COUNTS = 1_000
_BYTES = 3  # at least, that make a token
_OK = 200
_OFF = frozenset({Failure.MODEL_AUTH, Failure.MODEL_SPEND, Failure.MODEL_UNKNOWN})


class _Denied(Exception):
    """It is not let through."""

    def __init__(self, status: int, kind: str, why: str) -> None:
        super().__init__(why)
        self.status, self.kind = status, kind


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
        except _Denied as denied:
            await _say(send, denied.status, _error(denied.kind, str(denied)))
        except Stopped as stopped:
            self._stop(stopped)
            await _say(send, 403, _error("permission_error", str(stopped)))

    def _stop(self, why: Stopped) -> None:
        self.stopped = self.stopped or why
        self.over.set()

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        where = scope["method"], scope["path"]
        if where not in {("POST", MESSAGES), ("POST", COUNT)}:
            raise _Denied(404, "not_found_error", f"only POST {MESSAGES} and {COUNT} are let through")
        if self.stopped is not None:
            raise self.stopped
        body = await _body(receive)
        try:
            asks = asked(body, counts=scope["path"] == COUNT)
        except Unfit as unfit:
            raise _Denied(400, "invalid_request_error", str(unfit)) from unfit
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
        heard = Heard(asking.asked.streams)
        spent = at_most.tokens  # until the end is known: whoever cuts it off has spent it all
        try:
            async with asyncio.timeout(self.ledger.left):
                await self._through(MESSAGES, asking, heard)
            spent = heard.tokens
        except TimeoutError:
            raise Stopped(Failure.LIMITS, "the time for the agent is up") from None
        finally:
            turn = Turn(asking.asked.model, spent)
            await asyncio.shield(self.ledger.closed(turn, self._new(asking.asked, heard)))

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
                await _passed(answer, heard, asking.send)
        except Unreached as error:
            self.outage = Stopped(Failure.MODEL_OVERLOADED, f"the model's endpoint: {error}")
            if not heard.total:
                raise _Denied(529, "overloaded_error", "the endpoint does not answer") from error
        finally:
            heard.end()
        if heard.fault:
            self.outage = Stopped(meaning(Fault(_OK, heard.fault)).reason, f"the model's endpoint: {heard.fault}")
        self.refusal = heard.stop == "refusal"

    async def _refused(self, asking: _Asking, answer: Answer) -> None:
        """An error: told in our own words, and where it is about our account the run is over."""
        fault = await _fault(answer, self.endpoint.key)
        meant = meaning(fault)
        if meant.reason is Failure.MODEL_OVERLOADED:
            self.outage = Stopped(meant.reason, fault.said, meant.wait)
        if meant.reason in _OFF and self._is_ours(fault, asking.asked):
            raise Stopped(meant.reason, fault.said)
        headers = {"retry-after": fault.after} if fault.after else {}
        await _say(asking.send, answer.status, _error(fault.kind, fault.message), headers)

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


async def _passed(answer: Answer, heard: Heard, send: Send) -> None:
    """The reply to whoever asked, as it comes. It is read to its end, at its own pace, whether he reads it or not."""
    chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
    passing = asyncio.create_task(_sent(answer, chunks, send))
    try:
        async for chunk in answer.body:
            heard.feed(chunk)
            chunks.put_nowait(chunk)
        chunks.put_nowait(None)
        await passing
    finally:
        passing.cancel()
        await asyncio.wait({passing})


async def _sent(answer: Answer, chunks: asyncio.Queue[bytes | None], send: Send) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    while (chunk := await chunks.get()) is not None:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _fault(answer: Answer, key: str) -> Fault:
    """The error in an answer, without our key wherever somebody repeats it."""
    said = bytearray()
    async for chunk in _some(answer.body):
        said += chunk
    try:
        error = json.loads(said)["error"]
        details = error.get("details") or {}
        kind, message, code = str(error["type"]), str(error["message"]), str(details.get("error_code") or "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        kind, message, code = "api_error" if answer.status >= 500 else "error", "it does not say why", ""  # noqa: PLR2004
    after = answer.headers.get("retry-after", "")
    hidden = (one.replace(key, "[key]") for one in (kind, message, code, after))
    kind, message, code, after = hidden
    return Fault(answer.status, kind[:100], message[:1_000], code[:100], after[:20])


async def _some(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    total = 0
    async for chunk in body:
        total += len(chunk)
        if total > _MOST_ERROR:
            return
        yield chunk


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Denied(400, "invalid_request_error", "the body ended too early")
        body += message.get("body", b"")
        if len(body) > _MOST_BODY:
            raise _Denied(413, "request_too_large", f"at most {_MOST_BODY} bytes")
        if not message.get("more_body", False):
            return bytes(body)


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


async def _say(send: Send, status: int, said: Json, more: Mapping[str, str] | None = None) -> None:
    body = json.dumps(said).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **(more or {})}
    pairs = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body, "more_body": False})
