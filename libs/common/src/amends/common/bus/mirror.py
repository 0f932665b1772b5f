"""The mirror: a JetStream stream in which the message at sequence s is the event at position s, or there is none."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amends.common.bus.jetstream import IN_FLIGHT, NO_MESSAGE, NO_STREAM, WRONG_LAST, drift, look, make_stream
from amends.common.bus.link import SECONDS, Link, Unanswered
from amends.common.effects import effect
from amends.common.envelope import Row, cloud_event, row_from, subject

STREAM = "EVENTS"
EPOCH = "amends.epoch"
MESSAGES = 1_000_000  # about 0.5 GB, and a month of a busy installation: more than a backup's interval
LARGEST = 512 * 1024  # bytes of a message: of an event with its headers, or of a part of a blob
WINDOW = 4 * 1024 * 1024  # bytes under way before the server must have confirmed them


class Conflict(Exception):
    """The stream does not end where we thought: somebody else mirrors too, or it lost something. Look again."""


class Overtaken(Conflict):
    """Somebody else has mirrored these rows, or does so right now: another evaluator, and nothing is wrong."""


class NotOurs(Exception):
    """A message in the stream is no event of a log: somebody else published it."""


@dataclass(frozen=True)
class State:
    """The stream as it stands. `created` tells one life of it from the next; `drift` is what is not as configured."""

    first: int
    last: int
    epoch: str
    created: str
    drift: tuple[str, ...]


class Mirror:
    """The stream `EVENTS` over one connection."""

    def __init__(self, link: Link, replicas: int = 1, seconds: float = SECONDS) -> None:
        self._link = link
        self._replicas = replicas
        self._seconds = seconds

    async def state(self) -> State | None:
        """How far the mirror reaches; None when there is none."""
        info = await look(self._link, f"STREAM.INFO.{STREAM}", NO_STREAM)
        return None if info is None else self._state(info)

    async def create(self, first: int, epoch: str) -> State:
        """Make the stream, empty, for the events from position `first` on."""
        config = {**stream(self._replicas), "first_seq": first, "metadata": {EPOCH: epoch}}
        return self._state(await make_stream(self._link, config))

    async def last_seq(self) -> int:
        """The position of the newest event that is mirrored, 0 without a mirror."""
        state = await self.state()
        return state.last if state else 0

    async def row_at(self, seq: int) -> Row | None:
        """The event at this position, read from the stream's leader."""
        found = await look(self._link, f"STREAM.MSG.GET.{STREAM}", NO_MESSAGE, seq=seq)
        if found is None:
            return None
        try:
            return row_from(b64decode(found["message"].get("data", "")))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise NotOurs(f"the message at {seq} of {STREAM} is no event of a log ({error!r})") from error

    async def publish(self, rows: Sequence[Row]) -> None:
        """Mirror rows that follow each other. Raises Conflict when they do not follow what the stream holds.

        Each names the sequence it must follow, so the server's word about the last holds for all before it: one
        confirmation per window is enough, and a copy, a gap or a second relay is refused without a trace.
        """
        size = 0
        with effect("mirror", rows):
            for row in rows:
                payload = cloud_event(row)
                size += len(payload)
                if row is rows[-1] or size > WINDOW:
                    await self._confirmed(row, payload)
                    size = 0
                else:
                    await self._link.publish(subject(row.loop, row.type), payload, headers=_headers(row))

    async def _confirmed(self, row: Row, payload: bytes) -> None:
        try:
            reply = await self._link.request(
                subject(row.loop, row.type), payload, headers=_headers(row), seconds=self._seconds
            )
        except Unanswered as why:
            raise Unanswered(f"position {row.pos} was not mirrored: {why}") from why
        answer = json.loads(reply.data)
        if answer.get("seq") == row.pos:
            return
        error = answer.get("error", answer)
        refused = Overtaken if error.get("err_code") in {WRONG_LAST, IN_FLIGHT} else Conflict
        raise refused(f"position {row.pos} was not mirrored: {error}")

    def _state(self, info: Mapping[str, Any]) -> State:
        config, state = info["config"], info["state"]
        return State(
            first=state["first_seq"],
            last=state["last_seq"],
            epoch=(config.get("metadata") or {}).get(EPOCH, ""),
            created=info["created"],
            drift=drift({**stream(self._replicas), **_NEVER}, config) + self._narrow(),
        )

    def _narrow(self) -> tuple[str, ...]:
        """What a server does not take was never sent, and would be tried again for ever."""
        if self._link.largest >= LARGEST:
            return ()
        return (f"NATS takes messages of {self._link.largest} bytes, not of {LARGEST}: raise its max_payload",)


def stream(replicas: int) -> dict[str, object]:
    """What the stream must be: nobody may delete, purge or roll up, and no message goes by its age."""
    return {
        "name": STREAM,
        "subjects": ["events.>"],
        "retention": "limits",
        "discard": "old",
        "storage": "file",
        "compression": "none",  # open corruption bugs
        "num_replicas": replicas,
        "max_msgs": MESSAGES,
        "max_bytes": -1,
        "max_age": 0,
        "max_msgs_per_subject": -1,
        "max_msg_size": LARGEST,
        "duplicate_window": 100_000_000,  # 0.1 s, the least: positions tell copies apart, not ids in memory
        "allow_direct": True,
        "deny_delete": True,
        "deny_purge": True,
        "allow_rollup_hdrs": False,
        "allow_msg_ttl": False,
    }


_NEVER = {"sealed": False, "mirror": None, "sources": None, "republish": None, "subject_transform": None}


def _headers(row: Row) -> dict[str, str]:
    return {
        "Nats-Expected-Last-Sequence": str(row.pos - 1),
        "Nats-Expected-Stream": STREAM,
        "Content-Type": "application/cloudevents+json",
    }
