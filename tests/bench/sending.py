"""Sends webhooks over some connections for some time, and measures the answers. A process of its own.

    python -m tests.bench.sending

Each connection sends the next delivery when the last one is answered with a 2xx; any other answer ends the bench.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from itertools import count
from typing import cast

from tests.bench.conversation import Measured, converse, measured
from tests.bench.deliveries import lane

_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *([0-9]+)")
_LANES = count()


class Sender(asyncio.Protocol):
    """One connection."""

    def __init__(self, deliveries: Iterator[bytes], until: float) -> None:
        self._deliveries = deliveries
        self._until = until
        self._buffer = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None
        self.took: list[float] = []
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or length is None or len(body) < int(length[1]):
            return
        if not head.startswith(b"HTTP/1.1 20"):
            self.done.set_exception(RuntimeError(f"answered {self._buffer[:500]!r}"))
            return
        now = time.perf_counter()
        self.took.append(now - self._sent)
        self._buffer = b""
        if now < self._until:
            self._send()
        else:
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("hung up"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _send(self) -> None:
        delivery = next(self._deliveries)
        self._sent = time.perf_counter()
        if self._transport is not None:
            self._transport.write(delivery)


async def _run(port: int, connections: int, seconds: float) -> Measured:
    loop = asyncio.get_running_loop()
    began, cpu = time.perf_counter(), time.process_time()
    senders = []
    for _ in range(connections):
        deliveries = lane(next(_LANES) % 5_000)
        _, sender = await loop.create_connection(lambda: Sender(deliveries, began + seconds), "127.0.0.1", port)  # noqa: B023
        senders.append(sender)
    await asyncio.gather(*(sender.done for sender in senders))
    result = measured(time.perf_counter() - began, time.process_time() - cpu, [one for s in senders for one in s.took])
    for sender in senders:
        sender.close()
    return result


def run(port: int, connections: int, seconds: float) -> Measured:
    return asyncio.run(_run(port, connections, seconds))


if __name__ == "__main__":
    converse(run)
