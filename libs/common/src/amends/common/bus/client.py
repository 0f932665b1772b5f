"""nats-py's client with the faults mended that a stop in good order, or a hostile neighbour, runs into."""

from __future__ import annotations

from contextlib import suppress

from nats.aio.client import Client
from nats.aio.msg import Msg


class SturdyClient(Client):
    """The client for all our connections."""

    async def flush(self, timeout: int = 10) -> None:  # noqa: ASYNC109 - its own signature
        """Return when the server has dealt with all that was sent before.

        nats-py writes a PING past what is still pending, so that one PONG proves nothing: it may come before the
        server has heard of a subscription, or of its end.
        """
        await super().flush(timeout)
        await super().flush(timeout)

    async def close(self) -> None:
        """Leave, also when the server is gone: nats-py would raise because it cannot send what is pending."""
        if not self.is_connected:
            self._pending, self._pending_data_size = [], 0
        with suppress(OSError):
            await super().close()

    def _build_message(
        self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: dict[str, str] | None
    ) -> Msg:
        # nats-py decodes strictly: bytes that are no UTF-8 in anybody's reply subject would end its reading for good,
        # and the connection would hang until the missing PONGs are noticed.
        message: Msg = super()._build_message(sid, _readable(subject), _readable(reply), data, headers)
        return message


def _readable(subject: bytes) -> bytes:
    return subject.decode(errors="replace").encode()
