"""The recorder behind the bus: FastStream serves `report.*`, `ask.*` and `blob.*` in front of a desk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from faststream.nats import NatsBroker, NatsMessage
from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from pydantic import ValidationError

from amends.common.answers import Refused, Stop, Unavailable
from amends.common.bus import wire
from amends.common.bus.client import SturdyClient
from amends.common.bus.desk import Desk
from amends.common.bus.link import answerable, drained

_LOG = logging.getLogger(__name__)
GROUP = "evaluators"
_FAREWELL = 2.0  # seconds for the last answers to leave
AT_ONCE = 1_024  # requests in hand; more wait in the client, and what waits too long is asked again

Serve = Callable[[str, bytes], Awaitable[bytes]]


class _Broker(NatsBroker):
    async def _connect(self) -> Client:
        client = SturdyClient()
        await client.connect(**self._connection_kwargs)
        self.config.connect(client)
        return client

    def _log_connection_broken(self, error_cb: Any = None) -> Any:  # noqa: ANN401 - FastStream's own signature
        # Its own raises: nats-py would never come back to a server that did not let it in once.
        return error_cb


class Requests:
    """Serves while it is joined to the queue group of evaluators; it may leave and join again at any time."""

    def __init__(self, url: str, desk: Desk) -> None:
        self._url = url
        self._desk = desk
        self._broker: NatsBroker | None = None
        self._trouble = self._deaf = ""
        self._in_hand: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(AT_ONCE)

    @property
    def joined(self) -> bool:
        """Whether requests may reach us now."""
        return self._broker is not None

    def health(self) -> str:
        """`ok`, or why nobody reaches us."""
        if self._broker is None:
            return "not in the queue group"
        if not self._broker.connection.is_connected:
            return f"not connected: {self._trouble}"
        return self._deaf or "ok"

    async def join(self) -> None:
        """Take requests from now on; waits until there is a server."""
        if self._broker is not None:
            return
        broker = _Broker(
            self._url.split(","),
            name="amends evaluator requests",
            inbox_prefix="_INBOX.evaluator",
            logger=None,
            apply_types=False,
            # Bytes stay bytes: what a report holds is for the desk to judge, and it must be answered whatever it is.
            decoder=_as_it_is,
            pending_size=1,  # an answer is not kept for a server that is away: it would come too late
            reconnect_time_wait=0.05,  # type: ignore[arg-type]  # any number of seconds does
            max_reconnect_attempts=-1,
            ping_interval=10,
            connect_timeout=2,
            error_cb=self._failed,
            reconnected_cb=self._restored,
        )
        for subject, serve in self._served().items():
            broker.subscriber(subject, GROUP, no_reply=True)(self._taking(serve, broker))
        await broker.start()
        with suppress(NatsError):  # one that goes away now hears of us when it is back
            await broker.connection.flush()  # only now the server has heard of us
        self._broker = broker

    async def leave(self, patience: float = 10.0) -> None:
        """Take no more, answer what is in hand, close the connection."""
        broker, self._broker = self._broker, None
        if broker is None:
            return
        connection = broker.connection
        # FastStream would wait first and drop what arrives meanwhile. So: tell the server, then empty the pipe.
        await asyncio.gather(*(_let_go(subscriber) for subscriber in broker.subscribers))
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=patience)
        # FastStream would have nats-py drain, which takes half a minute with a hung server, and cannot be stopped.
        with suppress(NatsError, OSError):
            async with asyncio.timeout(_FAREWELL):
                await connection.flush()
        await connection.close()
        with suppress(NatsError):  # that the connection is closed
            await broker.stop()

    async def _failed(self, error: Exception) -> None:
        self._trouble = str(error) or type(error).__name__
        if "permissions violation for subscription" in self._trouble.lower():
            self._deaf = f"nobody reaches us: {self._trouble}"

    async def _restored(self) -> None:
        self._trouble = self._deaf = ""

    def _served(self) -> dict[str, Serve]:
        return {
            "report.*": self._report,
            "ask.may": self._may,
            "ask.requeue": self._requeue,
            "ask.followed": self._followed,
            "ask.situation": self._situation,
            "blob.put": self._put,
            "blob.get": self._get,
        }

    def _taking(self, serve: Serve, broker: NatsBroker) -> Callable[[NatsMessage], Awaitable[None]]:
        # A task of our own for each request, so that reports meet in one transaction. FastStream's `max_workers` does
        # that too, at three times the cost, and forgets on stop what it has taken and not begun.
        async def take(message: NatsMessage) -> None:
            if not answerable(message.reply_to):
                _LOG.warning("a request without an inbox", extra={"subject": message.raw_message.subject})
                return
            await self._room.acquire()
            task = asyncio.create_task(self._answer(serve, message, broker))
            self._in_hand.add(task)
            task.add_done_callback(self._done)

        return take

    def _done(self, task: asyncio.Task[None]) -> None:
        self._in_hand.discard(task)
        self._room.release()

    async def _answer(self, serve: Serve, message: NatsMessage, broker: NatsBroker) -> None:
        asked = message.raw_message
        try:
            answer = await serve(asked.subject, asked.data)
        except Exception as error:  # noqa: BLE001 - whoever asked must get an answer, and a refusal would be a lie
            _LOG.warning("a request failed", extra={"subject": asked.subject, "error": repr(error)})
            answer = wire.answer_bytes(Unavailable(f"the evaluator failed to answer ({type(error).__name__})"))
        try:
            await broker.connection.publish(asked.reply, answer)
        except NatsError as error:
            _LOG.warning("an answer was not sent", extra={"subject": asked.subject, "error": repr(error)})

    async def _report(self, subject: str, raw: bytes) -> bytes:
        return wire.answer_bytes(await self._desk.report_raw(subject.removeprefix("report."), raw))

    async def _may(self, _: str, raw: bytes) -> bytes:
        try:
            asked = wire.MayAsked.model_validate_json(raw)
        except ValidationError as error:
            return wire.leave_bytes(Stop(f"malformed: {_first(error)}"))
        return wire.leave_bytes(await self._desk.may(asked.pos, asked.run))

    async def _requeue(self, _: str, raw: bytes) -> bytes:
        try:
            asked = wire.Requeued.model_validate_json(raw)
        except ValidationError as error:
            return wire.answer_bytes(Refused("malformed", _first(error)))
        return wire.answer_bytes(await self._desk.requeue(asked))

    async def _followed(self, _: str, _raw: bytes) -> bytes:
        return wire.followed_bytes(await self._desk.followed())

    async def _situation(self, _: str, raw: bytes) -> bytes:
        try:
            about = wire.MayAsked.model_validate_json(raw)
        except ValidationError as error:
            return wire.answer_bytes(Refused("malformed", _first(error)))
        found = await self._desk.asked(about.pos)
        return wire.MISSING if found is None else wire.situation_bytes(found)

    async def _put(self, _: str, raw: bytes) -> bytes:
        chunk = wire.chunk_from(raw)
        if chunk is None:
            return wire.answer_bytes(Refused("malformed", "a part of a blob is a line of JSON and at most 256 KiB"))
        trouble = await self._desk.put_chunk(chunk)
        return wire.KEPT if trouble is None else wire.answer_bytes(trouble)

    async def _get(self, _: str, raw: bytes) -> bytes:
        try:
            asked = wire.ChunkAsked.model_validate_json(raw)
        except ValidationError as error:
            return wire.answer_bytes(Refused("malformed", _first(error)))
        chunk = await self._desk.get_chunk(asked.sha, asked.n)
        return wire.MISSING if chunk is None else wire.chunk_bytes(chunk)


async def _as_it_is(message: Any) -> Any:  # noqa: ANN401 - what FastStream hands to the handler
    return message


async def _let_go(subscriber: Any) -> None:  # noqa: ANN401 - a subscriber of FastStream that has a subscription
    if isinstance(subscriber.subscription, Subscription):
        await drained(subscriber.subscription)
    subscriber.subscription = None


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(str(part) for part in first['loc']) or 'the request'}: {first['msg']}"[:400]
