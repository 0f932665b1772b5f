"""nats-py's client with the faults mended that a stop in good order, or a hostile neighbour, runs into."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

from nats.aio.client import Client, Srv
from nats.aio.msg import Msg
from nats.errors import Error

_DEALT_WITH = ("permissions violation", "stale connection")  # by nats-py, as we want it


class SturdyClient(Client):
    """The client for all our connections."""

    async def connect(  # type: ignore[override]  # we name what we give
        self,
        servers: str | list[str],
        **options: Any,  # noqa: ANN401 - nats-py's own
    ) -> None:
        """Come to every server of a cluster as who the first address says.

        nats-py would come to those that it is told of by another server without a name, and would not read `%40` as @.
        """
        first = urlsplit(servers if isinstance(servers, str) else servers[0])
        if first.username and first.password is not None:
            options |= {"user": unquote(first.username), "password": unquote(first.password)}
        await super().connect(servers, **options)

    async def flush(self, timeout: int = 10) -> None:  # noqa: ASYNC109 - its own signature
        """Return when the server has dealt with all that was sent before.

        nats-py writes a PING past what is still pending, so that one PONG proves nothing: it may come before the
        server has heard of a subscription, or of its end.
        """
        await super().flush(timeout)
        await super().flush(timeout)

    async def close(self) -> None:
        """Leave, also when the server is gone: nats-py would raise because it cannot send what is pending."""
        if self._flush_queue is None:  # nobody has begun to connect
            return
        if not self.is_connected:
            self._pending, self._pending_data_size = [], 0
        with suppress(OSError):
            await super().close()

    async def _process_err(self, err_msg: str) -> None:
        """Come back after whatever the server complains of and hangs up for.

        nats-py closes for good when it is told of a limit on connections or of a user who may not come in any more: the
        process would sit there until somebody restarts it, although the server may let it in again in a minute.
        """
        if self.is_connecting or any(known in err_msg.lower() for known in _DEALT_WITH):
            await super()._process_err(err_msg)
            return
        error = Error(err_msg.strip("'"))
        await self._error_cb(error)
        await self._process_op_err(error)

    async def _select_next_server(self) -> None:
        """Go on to the next try; nats-py would leave the connection of the last one to the garbage collector."""
        if self._transport is not None:
            self._transport.close()  # type: ignore[no-untyped-call]  # nats-py
        await super()._select_next_server()

    async def _connect_to_server(self, s: Srv) -> None:
        await _heeding(super()._connect_to_server(s))

    async def _process_connect_init(self) -> None:
        await _heeding(super()._process_connect_init())

    async def _process_headers(self, headers: bytes) -> dict[str, str] | None:
        # As below: a status that is no UTF-8, or a head that ends too early, would end its reading for good.
        try:
            return await super()._process_headers(headers)
        except (UnicodeDecodeError, IndexError):
            return None

    def _build_message(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: dict[str, str] | None
    ) -> Msg:
        # nats-py decodes strictly: bytes that are no UTF-8 in anybody's reply subject would end its reading for good,
        # and the connection would hang until the missing PONGs are noticed.
        message: Msg = super()._build_message(sid, _readable(subject), _readable(reply), data, headers)
        return message


async def _heeding(step: Awaitable[None]) -> None:
    """A step of coming to a server, of which nobody who cancels it has to wait for another.

    In Python 3.11 `asyncio.wait_for` loses a cancellation that comes just as what it waits for fails, and nats-py tries
    the next server for ever: one stop in fifty, without a server, did not stop.
    """
    try:
        await step
    finally:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise asyncio.CancelledError


def _readable(subject: bytes) -> bytes:
    return subject.decode(errors="replace").encode()
