"""What lies between the bus and the shell: an event in hand, where it comes from, and the two ways not to be done."""

from __future__ import annotations

from typing import Protocol

from amends.common.envelope import Row
from amends.common.identity import PullId


class Later(Exception):
    """The world is not ready: the event comes again after `delay` seconds, and that was no failure."""

    def __init__(self, delay: float, reason: str) -> None:
        super().__init__(reason)
        self.delay = delay


class Never(Exception):
    """Nobody can work on this event: a human must look at it."""


def pull_of(loop: str) -> PullId:
    """The pull request that a loop follows."""
    repo, kind, *rest = loop.split("-")
    if kind != "pr":
        raise Never(f"{loop} follows no pull request")
    return PullId(int(repo), int(rest[0]))


class Delivery(Protocol):
    """One event in hand. None of these raises: what does not reach the bus comes again."""

    @property
    def pos(self) -> int: ...
    @property
    def loop(self) -> str: ...
    @property
    def number(self) -> int:
        """How often it was delivered, this time included."""
        ...

    def row(self) -> Row:
        """The event as it is stored; raises ValueError when these are no bytes of ours."""
        ...

    async def times_put_off(self) -> int | None:
        """How many of the earlier deliveries were put off; None when that cannot be found out now."""
        ...

    async def alive(self) -> None:
        """It is still being worked on."""
        ...

    async def done(self) -> None:
        """It need not come again."""
        ...

    async def again(self, delay: float) -> None:
        """The attempt failed; it must come again."""
        ...

    async def put_off(self, delay: float) -> None:
        """It must come again, and this was no attempt."""
        ...

    async def drop(self, reason: str) -> None:
        """It must not come again although it was not done."""
        ...


class Inbox(Protocol):
    """Where a service's events come from."""

    async def open(self) -> None: ...
    async def close(self) -> None:
        """Ask for no more; what is on its way still comes."""
        ...

    async def next(self) -> Delivery | None:
        """The next event, however long it takes; None after closing, when none is left."""
        ...

    def health(self) -> dict[str, str]: ...
