"""The durable consumers, one for each service that reacts to events. Only the evaluator makes and mends them."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from nats.aio.msg import Msg

from amends.common.bus.jetstream import (
    NANOSECONDS,
    NO_CONSUMER,
    NO_STREAM,
    THERE_ALREADY,
    Rejected,
    ask,
    drift,
    look,
    make_stream,
)
from amends.common.bus.link import Link, Unanswered, answer
from amends.common.bus.mirror import STREAM
from amends.common.events import REACTIONS, Reporter

_LOG = logging.getLogger(__name__)
ACK_WAIT = 60.0
DEFERRED = "DEFERRED"
STANDING = "consumer"  # where each service asks how its own stands: JetStream's API is for the evaluator alone


class Consumers:
    """The durables of the stream `EVENTS`, and the small stream in which workers note what they put off."""

    def __init__(self, link: Link, replicas: int = 1, ack_wait: float = ACK_WAIT) -> None:
        self._link = link
        self._replicas = replicas
        self._ack_wait = ack_wait

    async def ensure(self, oldest: Mapping[str, int], first: int) -> tuple[str, ...]:
        """Make what is missing and mend what differs; answers with what could not be mended.

        A missing durable starts at the oldest request its service has not answered, else at `first`: history is not
        worked through again.
        """
        wrong = await self._ensure_notes()
        for service in REACTIONS:
            wrong += await self._ensure(service, oldest.get(service, first))
        return wrong

    async def standing(self) -> dict[str, tuple[int, int, int]]:
        """For each consumer that exists: how many events wait, how many are in hand, how many came again."""
        found = {}
        for service in REACTIONS:
            if info := await look(self._link, f"CONSUMER.INFO.{STREAM}.{service}", NO_CONSUMER):
                found[str(service)] = (info["num_pending"], info["num_ack_pending"], info["num_redelivered"])
        return found

    async def serve(self) -> None:
        """Tell every service how its consumer stands, for as long as the connection is there."""
        await self._link.subscribe(f"{STANDING}.*", self._asked)

    async def _asked(self, message: Msg) -> None:
        service = message.subject.removeprefix(f"{STANDING}.")
        try:
            found = await look(self._link, f"CONSUMER.INFO.{STREAM}.{service}", NO_CONSUMER)
            await answer(self._link, message, json.dumps(found).encode())
        except (Unanswered, Rejected) as error:
            _LOG.info("how a consumer stands was not told", extra={"service": service, "error": str(error)})

    async def _ensure(self, service: Reporter, start: int) -> tuple[str, ...]:
        info = await look(self._link, f"CONSUMER.INFO.{STREAM}.{service}", NO_CONSUMER)
        wanted = durable(service, self._ack_wait)
        if info is None:
            began = {**wanted, "deliver_policy": "by_start_sequence", "opt_start_seq": start}
            try:
                await self._put(service, began, "create")
            except Rejected as rejected:
                if rejected.code != THERE_ALREADY:
                    raise
                return ()  # another evaluator was faster; the next look sees what it made
            _LOG.info("made a consumer", extra={"service": service, "start": start})
            return ()
        found = info["config"]
        different = drift(wanted, found)
        if not different:
            return ()
        try:
            await self._put(service, {**found, "filter_subject": None, **wanted}, "update")
        except Rejected as rejected:
            return (f"consumer {service}: {', '.join(different)} ({rejected})",)
        _LOG.warning("mended a consumer", extra={"service": service, "drift": different})
        return ()

    async def _put(self, service: str, config: Mapping[str, object], action: str) -> None:
        verb = f"CONSUMER.CREATE.{STREAM}.{service}"
        given = {name: value for name, value in config.items() if value is not None}
        await ask(self._link, verb, stream_name=STREAM, config=given, action=action)

    async def _ensure_notes(self) -> tuple[str, ...]:
        info = await look(self._link, f"STREAM.INFO.{DEFERRED}", NO_STREAM)
        if info is None:
            await make_stream(self._link, _notes(self._replicas))
            return ()
        return tuple(f"stream {DEFERRED}: {what}" for what in drift(_notes(self._replicas), info["config"]))


def durable(service: Reporter, ack_wait: float = ACK_WAIT) -> dict[str, object]:
    """What a service's consumer must be. It has no last delivery: when to give up is the worker's to say (ADR 4)."""
    return {
        "name": service,
        "durable_name": service,
        "ack_policy": "explicit",
        "ack_wait": round(ack_wait * NANOSECONDS),
        "max_deliver": -1,
        "max_ack_pending": 1_000,  # what is put off stays pending, and must not keep the rest away
        "replay_policy": "instant",
        "filter_subjects": [f"events.*.{type_}" for type_ in REACTIONS[service]],
        **_NEVER,
    }


# What would have events come without what they say, refuse who asks for one, or let the consumer go while it rests.
_NEVER = dict.fromkeys(("headers_only", "backoff", "max_bytes", "max_expires", "inactive_threshold"))


def _notes(replicas: int) -> dict[str, object]:
    return {
        "name": DEFERRED,
        "subjects": ["deferred.*.*"],
        "retention": "limits",
        "discard": "old",
        "storage": "file",
        "num_replicas": replicas,
        "max_msgs_per_subject": 1,
        "max_age": 30 * 86_400 * NANOSECONDS,
        "max_msg_size": 1_024,
        "allow_direct": True,
    }
