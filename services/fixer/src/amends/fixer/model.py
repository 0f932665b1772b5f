"""The Messages API: one turn, streamed, tried again where that is safe, and what its errors mean to us.

Only a whole reply is passed on: a turn that broke on its way is asked for again, since no tool has run yet. The address
and the key are always given: the package would otherwise look for them in the environment and on disk.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import anthropic
import httpx2
from anthropic.types import Message

from amends.common.effects import effect
from amends.common.events import Failure
from amends.common.sections import Model as Settings
from amends.fixer.dialogue import Call, Json, Opening, Reply, Stop, Tokens, TurnFailed
from amends.fixer.meaning import Fault, meaning

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


class Again(Exception):
    """The turn may be asked for again: why it failed, and after how long."""

    def __init__(self, failed: TurnFailed) -> None:
        super().__init__(str(failed))
        self.failed = failed


@dataclass
class _Asking:
    """A turn that is asked for, until when, and what was spent on replies that broke off."""

    opening: Opening
    messages: Sequence[Json]
    end: float
    lost: Tokens = field(default_factory=Tokens)


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

    @property
    def longest(self) -> int:
        """The longest reply, in tokens."""
        return self._settings.max_tokens

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
        asking = _Asking(opening, messages, time.monotonic() + seconds)
        try:
            async with asyncio.timeout(seconds):
                reply = await self._tried(asking)
        except TimeoutError:
            failed = TurnFailed(Failure.LIMITS, "the time for the agent is up")
            failed.tokens = asking.lost
            raise failed from None
        except TurnFailed as failed:
            failed.tokens = asking.lost
            raise
        return replace(reply, tokens=reply.tokens + asking.lost)

    async def _tried(self, asking: _Asking) -> Reply:
        pause = self._settings.first_pause
        for left in reversed(range(self._settings.tries)):
            try:
                with effect("model", asking.messages):
                    return _reply(await self._once(asking))
            except Again as again:
                wait = max(again.failed.retry_after, random.uniform(pause / 2, pause))  # noqa: S311 - spreads a herd
                if not left or wait > min(_LONGEST_WAIT, asking.end - time.monotonic()):
                    raise again.failed from again
                await asyncio.sleep(wait)
                pause *= 2
        raise AssertionError("the last try returns or raises")

    async def _once(self, asking: _Asking) -> Message:
        try:
            async with self._client.messages.stream(
                model=self._settings.name,
                max_tokens=self._settings.max_tokens,
                system=[{"type": "text", "text": asking.opening.system, "cache_control": _CACHED}],
                tools=cast("Any", asking.opening.tools),
                messages=cast("Any", asking.messages),
                thinking={"type": "adaptive"},
                output_config={"effort": self._settings.effort},
                cache_control=_CACHED,
            ) as stream:
                try:
                    return _whole(await stream.get_final_message())
                except BaseException:
                    with suppress(AssertionError):  # nothing had come yet
                        asking.lost += _tokens(stream.current_message_snapshot)
                    raise
        except anthropic.APIStatusError as error:
            raise _meant(error) from error
        except (anthropic.APIConnectionError, httpx2.TransportError) as error:
            raise Again(TurnFailed(Failure.MODEL_OVERLOADED, f"{type(error).__name__}: {error}")) from error
        except (anthropic.APIError, ValueError) as error:  # a reply that is none, or a call that is no JSON
            raise Again(TurnFailed(Failure.MALFORMED, f"the reply cannot be read: {error}"[:400])) from error


def _whole(message: Message) -> Message:
    """The message, if each call in it gives its tool what tools are given."""
    if any(block.type == "tool_use" and not isinstance(block.input, dict) for block in message.content):
        raise ValueError("a tool is called with what is no object")
    return message


def _meant(error: anthropic.APIStatusError) -> Again | TurnFailed:
    said, after = error.api_message or error.message, error.response.headers.get("retry-after") or ""
    fault = Fault(error.status_code, error.type or "", said, error.error_code or "", after)
    meant = meaning(fault)
    failed = TurnFailed(meant.reason, fault.said, meant.wait)
    return Again(failed) if meant.passes else failed


def _tokens(message: Message) -> Tokens:
    usage = message.usage
    written, read = usage.cache_creation_input_tokens or 0, usage.cache_read_input_tokens or 0
    return Tokens(usage.input_tokens, written, read, usage.output_tokens)


def _reply(message: Message) -> Reply:
    stop = _STOPS.get(message.stop_reason, "end")
    calls, words = [], []
    for block in message.content:
        if block.type == "tool_use":
            calls.append(Call(block.id, block.name, dict(block.input)))
        elif block.type == "text":
            words.append(block.text)
    # Some replies end before they begin, or with an empty block; the API takes neither back.
    shown = [one for one in message.content if one.type != "text" or one.text.strip()]
    said: Json = {"role": "assistant", "content": [block.to_dict(mode="json") for block in shown]}
    return Reply(said, stop, tuple(calls), "\n".join(words), _tokens(message))
