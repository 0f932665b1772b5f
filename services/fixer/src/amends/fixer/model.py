"""The Messages API: one turn, streamed, tried again where that is safe, and what its errors mean to us.

Only a whole reply is passed on: a turn that broke on its way is asked for again, since no tool has run yet. The address
and the key are always given: the package would otherwise look for them in the environment and on disk.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Self, cast

import anthropic
import httpx2
from anthropic.types import Message

from amends.common.effects import effect
from amends.common.events import Failure
from amends.common.sections import Model as Settings
from amends.fixer.dialogue import Call, Json, Opening, Reply, Stop, Tokens, TurnFailed

_CACHED: Any = {"type": "ephemeral"}
_LONGEST_WAIT = 60.0  # a limit that asks for more ends the attempt: nobody holds a slot for it
_STOPS: dict[str | None, Stop] = {
    "tool_use": "calls",
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "cut",
    "refusal": "refusal",
    "model_context_window_exceeded": "context",
    "pause_turn": "paused",
}
_SPENT = re.compile(r"credit balance|spend|billing|usage limit", re.IGNORECASE)
_TOO_LONG = re.compile(r"prompt is too long|too many tokens|context", re.IGNORECASE)


class Again(Exception):
    """The turn may be asked for again: why it failed, and after how long."""

    def __init__(self, failed: TurnFailed) -> None:
        super().__init__(str(failed))
        self.failed = failed


class Claude:
    """A model behind the Messages API."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client = anthropic.AsyncAnthropic(
            api_key=settings.api_key.get_secret_value(),
            base_url=settings.base_url,
            max_retries=0,
            timeout=httpx2.Timeout(settings.silence_seconds, connect=10),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    @property
    def name(self) -> str:
        """What it is called where prices are."""
        return self._settings.name

    async def greet(self) -> None:
        """See that the key and the name are taken, by a question that costs nothing; raises TurnFailed."""
        hello: Any = [{"role": "user", "content": "Hello"}]
        try:
            await self._client.messages.count_tokens(model=self._settings.name, messages=hello)
        except anthropic.APIStatusError as error:
            meant = _meant(error)
            raise (meant.failed if isinstance(meant, Again) else meant) from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            raise TurnFailed(Failure.MODEL_OVERLOADED, f"{type(error).__name__}: {error}") from error

    async def turn(self, opening: Opening, messages: Sequence[Json], seconds: float) -> Reply:
        """The next turn; raises TurnFailed, `limits` when the time is up."""
        end = time.monotonic() + seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._tried(opening, messages, end)
        except TimeoutError:
            raise TurnFailed(Failure.LIMITS, "the time for the agent is up") from None

    async def _tried(self, opening: Opening, messages: Sequence[Json], end: float) -> Reply:
        pause = self._settings.first_pause
        for left in reversed(range(self._settings.tries)):
            try:
                with effect("model", messages):
                    return _reply(await self._once(opening, messages))
            except Again as again:
                wait = max(again.failed.retry_after, random.uniform(pause / 2, pause))  # noqa: S311 - spreads a herd
                if not left or wait > min(_LONGEST_WAIT, end - time.monotonic()):
                    raise again.failed from again
                await asyncio.sleep(wait)
                pause *= 2
        raise AssertionError("the last try returns or raises")

    async def _once(self, opening: Opening, messages: Sequence[Json]) -> Message:
        try:
            async with self._client.messages.stream(
                model=self._settings.name,
                max_tokens=self._settings.max_tokens,
                system=[{"type": "text", "text": opening.system, "cache_control": _CACHED}],
                tools=cast("Any", opening.tools),
                messages=cast("Any", messages),
                thinking={"type": "adaptive"},
                output_config={"effort": self._settings.effort},
                cache_control=_CACHED,
            ) as stream:
                return await stream.get_final_message()
        except anthropic.APIStatusError as error:
            raise _meant(error) from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            raise Again(TurnFailed(Failure.MODEL_OVERLOADED, f"{type(error).__name__}: {error}")) from error
        except (anthropic.APIError, ValueError) as error:  # a reply that is none, or a call that is no JSON
            raise Again(TurnFailed(Failure.MALFORMED, f"the reply cannot be read: {error}"[:400])) from error


def _meant(error: anthropic.APIStatusError) -> Again | TurnFailed:
    """What an answer that is none means. Within a stream that began well the status is 200 and only the type counts."""
    said = f"{error.status_code} {error.type or ''}: {error.api_message or error.message}"[:400]
    after = error.response.headers.get("retry-after")
    wait = float(after) if after and re.fullmatch(r"\d+(\.\d+)?", after) else 0.0
    if (
        error.type == "billing_error"
        or error.status_code == HTTPStatus.PAYMENT_REQUIRED
        or (not after and _SPENT.search(said))
    ):
        return TurnFailed(Failure.MODEL_SPEND, said)
    if error.error_code == "enforced_spend_limit_reached":
        return TurnFailed(Failure.MODEL_SPEND, said)
    if error.type in ("overloaded_error", "api_error", "timeout_error") or error.status_code in (408, 409):
        return Again(TurnFailed(Failure.MODEL_OVERLOADED, said, wait))
    if error.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        limited = TurnFailed(Failure.MODEL_OVERLOADED, said, wait)
        return Again(limited) if after else limited
    if error.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return Again(TurnFailed(Failure.MODEL_OVERLOADED, said, wait))
    return TurnFailed(_REFUSALS.get(error.status_code) or _ours(said), said)


_REFUSALS = {401: Failure.MODEL_AUTH, 403: Failure.MODEL_AUTH, 404: Failure.MODEL_UNKNOWN, 413: Failure.LIMITS}


def _ours(said: str) -> Failure:
    return Failure.LIMITS if _TOO_LONG.search(said) else Failure.MALFORMED


def _reply(message: Message) -> Reply:
    usage = message.usage
    tokens = Tokens(
        usage.input_tokens,
        usage.cache_creation_input_tokens or 0,
        usage.cache_read_input_tokens or 0,
        usage.output_tokens,
    )
    stop = _STOPS.get(message.stop_reason, "end")
    calls, words = [], []
    for block in message.content:
        if block.type == "tool_use":
            calls.append(Call(block.id, block.name, dict(block.input)))
        elif block.type == "text":
            words.append(block.text)
    said: Json = {"role": "assistant", "content": [block.to_dict(mode="json") for block in message.content]}
    return Reply(said, stop, tuple(calls), "\n".join(words), tokens)
