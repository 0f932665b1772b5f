"""What the log's tables hold beside events: the head, the projections, and what was parked. Values only, no I/O.

They are tuples in the order of their columns, so that a row read is one call and a batch to write needs no copying.
Times are microseconds of the database's clock.
"""

from __future__ import annotations

from typing import NamedTuple


class Head(NamedTuple):
    """The end of the log: its last event's position, hash and time, and who may write after it."""

    pos: int
    hash: bytes
    time: int
    epoch: str
    vocabulary: int
    code: str


class LoopRow(NamedTuple):
    """A loop as it stands at `version`. `stuck` is the code version it is stuck under; lists leave `state` out.

    What is stored as `state` is of version `folded`; whoever reads a single loop gets it as of `version`.
    """

    loop: str
    version: int
    pos: int
    kind: str
    repo: int | None
    number: int | None
    full_name: str
    title: str
    url: str
    status: str
    n: int
    used: int
    human: bool
    blocked: str
    updated: int
    stuck: str
    folded: int = 0
    state: bytes = b""


class Stored(NamedTuple):
    """What is needed to go on with a loop."""

    version: int
    stuck: str
    folded: int
    state: bytes


class TimerRow(NamedTuple):
    """A timer that was set and has not fired; a deadline waits for the grace after a start, a window does not."""

    loop: str
    name: str
    generation: int
    due: int
    deadline: bool


class OutstandingRow(NamedTuple):
    """The request at `pos`, which its service has not answered."""

    pos: int
    loop: str
    service: str
    due: int


class ClaimRow(NamedTuple):
    """Who works or worked on attempt k of cycle n. `usd_micro` is reserved while it is live and spent afterwards."""

    loop: str
    n: int
    k: int
    holder: str
    run: str
    day: int
    live: bool
    usd_micro: int


class ParkedRow(NamedTuple):
    """Bytes that could not be recorded. They came `times` times, from `time` to `last`."""

    id: int
    time: int
    last: int
    times: int
    service: str
    subject: str
    reason: str
    detail: str
    sha: str
    size: int
    data: bytes
