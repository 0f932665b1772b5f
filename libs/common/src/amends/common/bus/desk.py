"""What stands behind the requests: the recorder, as whoever serves it over the bus calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from amends.common.answers import Answer, Followed, Go, Refused, Stop, Unavailable
from amends.common.bus import wire
from amends.common.situation import Asked


class Desk(Protocol):
    """Who answers. What it raises is answered `unavailable`: ask again."""

    async def report_raw(self, service: str, raw: bytes) -> Answer:
        """Record the fact of these bytes, whatever they are."""
        ...

    async def may(self, pos: int, run: str) -> Go | Stop | Unavailable:
        """Whether the work that the event at `pos` asked for may still have its effect."""
        ...

    async def requeue(self, asked: wire.Requeued) -> Answer:
        """Have something that was parked worked on again."""
        ...

    async def followed(self) -> Sequence[Followed]:
        """The repositories that the installation lists, and the pull requests that are open in the log."""
        ...

    async def asked(self, pos: int) -> Asked | None:
        """What the event at `pos` asks of the notifier, and how its loop stands; None where there is none."""
        ...

    async def put_chunk(self, chunk: wire.Chunk) -> Refused | Unavailable | None:
        """Keep a part of a blob, durably; with the last one the blob is there, or refused."""
        ...

    async def get_chunk(self, sha: str, n: int) -> wire.Chunk | None:
        """Part n of a blob; None when nobody ever put it."""
        ...
