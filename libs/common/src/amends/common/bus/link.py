"""One connection to the bus: it comes back by itself, and a request that nobody answers fails in words."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Self

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from amends.common.bus.client import SturdyClient

SECONDS = 5.0  # how long a request waits unless it says otherwise
_DRAINING = 2.0
_DENIED = re.compile(r'permissions violation for (publish|subscription) to "([^"]*)"')


class Unanswered(Exception):
    """Nobody answered, and why. What was asked for may or may not have happened."""


class Unserved(Unanswered):
    """Nobody serves the subject: what was asked for did not happen."""


@dataclass(frozen=True)
class _Waiting:
    subject: str
    answer: asyncio.Future[Msg]


class Link:
    """A connection under one name; replies come to inboxes that permissions can tell apart: `_INBOX.<name>.>`."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._client = SturdyClient()
        self._waiting: dict[str, _Waiting] = {}
        self._tokens = count(1)
        self._inbox = ""
        self.trouble = "not connected yet"
        self._deaf = ""
        self._listeners: list[Callable[[], None]] = []

    async def open(self) -> Self:
        """Connect; waits until there is a server that lets us in."""
        await self._client.connect(
            self._url.split(","),
            name=f"amends {self._name}",
            inbox_prefix=f"_INBOX.{self._name}",
            error_cb=self._failed,
            disconnected_cb=self._broken,
            reconnected_cb=self._restored,
            # nats-py waits 2 s before it tries again and gives up after 60 tries; a broker's restart takes 0.1 s.
            reconnect_time_wait=0.05,
            max_reconnect_attempts=-1,
            ping_interval=10,
            connect_timeout=2,
        )
        self._inbox = self._client.new_inbox()
        self.trouble = ""
        await self._client.subscribe(f"{self._inbox}.*", cb=self._answered)
        return self

    async def close(self) -> None:
        """Leave; what was written before is sent."""
        await self._client.close()

    @property
    def connected(self) -> bool:
        """Whether there is a server right now."""
        return self._client.is_connected

    @property
    def largest(self) -> int:
        """The bytes of the largest message that the server takes."""
        return self._client.max_payload

    def health(self) -> str:
        """`ok`, or what is wrong with the connection."""
        if self._client.is_closed:
            return f"closed for good: {self.trouble or self._client.last_error}"
        if not self._client.is_connected:
            return f"not connected: {self.trouble or self._client.last_error}"
        return self._deaf or "ok"

    def when_restored(self, listener: Callable[[], None]) -> None:
        """Call `listener` after each reconnect: what the server held for us may be gone."""
        self._listeners.append(listener)

    def new_inbox(self) -> str:
        """A subject for answers that come one by one."""
        return self._client.new_inbox()

    async def subscribe(
        self, subject: str, heard: Callable[[Msg], Awaitable[None]], *, seconds: int = 10
    ) -> Subscription:
        """Hear a subject from now until the subscription ends; it outlives reconnects."""
        try:
            subscription = await self._client.subscribe(subject, cb=heard)
        except NatsError as error:
            raise Unanswered(f"cannot subscribe to {subject}: {error}") from error
        with suppress(NatsError):  # a server that is away hears of it as soon as it is back
            await self._client.flush(seconds)
        return subscription

    async def publish(
        self, subject: str, payload: bytes = b"", *, reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        """Send, without learning whether it arrived; nothing is kept for a server that is not there."""
        if not self._client.is_connected:
            raise Unanswered(f"{subject} was not sent: {self.health()}")
        try:
            await self._client.publish(subject, payload, reply=reply, headers=dict(headers) if headers else None)
        except NatsError as error:
            raise Unanswered(f"{subject} was not sent: {error}") from error

    async def request(
        self,
        subject: str,
        payload: bytes = b"",
        *,
        headers: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
    ) -> Msg:
        """Send and wait for one answer. Nobody there, no permission, a lost connection: each fails at once."""
        if self._deaf:
            raise Unanswered(self._deaf)
        reply = f"{self._inbox}.{next(self._tokens)}"
        answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._waiting[reply] = _Waiting(subject, answer)
        try:
            async with asyncio.timeout(seconds):
                await self.publish(subject, payload, reply=reply, headers=headers)
                return await answer
        except TimeoutError as error:
            raise Unanswered(f"{subject} was not answered within {seconds:g} s") from error
        finally:
            del self._waiting[reply]

    async def _answered(self, message: Msg) -> None:
        waiting = self._waiting.get(message.subject)
        if waiting is None or waiting.answer.done():
            return
        if status(message) == "503":
            waiting.answer.set_exception(Unserved(f"nobody serves {waiting.subject}"))
        else:
            waiting.answer.set_result(message)

    async def _failed(self, error: Exception) -> None:
        # The parser of nats-py hands on what the server says in lower case.
        self.trouble = str(error) or type(error).__name__
        denied = _DENIED.search(self.trouble)
        if denied is None:
            return
        what, subject = denied.groups()
        if what == "subscription" and subject.startswith(self._inbox.lower()):
            self._deaf = f"no answer can reach us: {self.trouble}"
        self._give_up(self.trouble, None if self._deaf else subject)

    async def _broken(self) -> None:
        self._give_up("the connection broke before the answer", None)

    async def _restored(self) -> None:
        self.trouble = self._deaf = ""
        for listener in self._listeners:
            listener()

    def _give_up(self, why: str, subject: str | None) -> None:
        for waiting in list(self._waiting.values()):
            if subject in (None, waiting.subject.lower()) and not waiting.answer.done():
                waiting.answer.set_exception(Unanswered(f"{waiting.subject}: {why}"))


# Where somebody waits for an answer: in our account, or by way of nats-server in his. Nothing else is answered: we may
# publish where the one who asks may not, and must not be made to do it for him.
_INBOX = re.compile(r"_INBOX(\.[A-Za-z0-9_-]+)+|_R_(\.[A-Za-z0-9]+)+")


def answerable(reply: str) -> bool:
    """Whether this is a place where somebody waits for an answer."""
    return _INBOX.fullmatch(reply) is not None


async def answer(link: Link, asked: Msg, payload: bytes) -> None:
    """Answer whoever asked, if he waits for it."""
    if answerable(asked.reply):
        await link.publish(asked.reply, payload)


def status(message: Msg) -> str:
    """The server's own word about a message, such as `503`; empty for what a client sent."""
    return "" if message.data or not message.headers else message.headers.get("Status", "")


async def drained(subscription: Subscription) -> None:
    """Tell the server that no more is wanted, and let what is on its way arrive."""
    try:
        async with asyncio.timeout(_DRAINING):
            await subscription.drain()  # type: ignore[no-untyped-call]  # nats-py
    except (TimeoutError, NatsError):
        pass  # without a server nothing more comes
