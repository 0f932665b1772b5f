"""Whether the mirror is the log wherever it reaches: read with a client of its own, every message, and by the audit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta

import nats
from nats.aio.client import Client
from nats.js.api import AckPolicy, ConsumerConfig, StreamState
from nats.js.errors import NotFoundError

from amends.common.bus.mirror import STREAM, Mirror
from amends.common.events import REACTIONS
from amends.common.log import Log
from amends.evaluator.audit import Audit
from amends.evaluator.audit_mirror import audit_mirror
from tests.faults.support.checks import Stored, complaints
from tests.support.nats import linked

EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
AT_ONCE = 1_000
SAMPLES = 200
INNER = b',"data":'


def compared(rows: Sequence[Stored], database: str, nats_url: str) -> tuple[int, list[str]]:
    """How many messages the mirror has, and what is wrong with them."""
    return asyncio.run(_compared(rows, database, nats_url))


async def _compared(rows: Sequence[Stored], database: str, nats_url: str) -> tuple[int, list[str]]:
    client = await nats.connect(nats_url, connect_timeout=5, max_reconnect_attempts=0)
    try:
        stream = client.jetstream()
        state = (await stream.stream_info(STREAM)).state
        there = {consumer.name for consumer in await stream.consumers_info(STREAM)}
        wrong = [what async for what in _differing(client, state, rows)]
    except NotFoundError:
        return 0, []  # there is none yet
    finally:
        await client.close()
    wrong += [f"the consumer {name} is missing" for name in REACTIONS if name not in there]
    return state.messages, wrong + await _audited(database, nats_url)


async def _differing(client: Client, state: StreamState, rows: Sequence[Stored]) -> AsyncIterator[str]:
    if state.last_seq > len(rows):
        yield f"the mirror reaches {state.last_seq}, the log {len(rows)}"
    if state.messages != state.last_seq - state.first_seq + 1:
        yield f"the mirror has {state.messages} messages from {state.first_seq} to {state.last_seq}"
    expected = state.first_seq
    async for seq, data in _messages(client, state.messages):
        if seq != expected or seq > len(rows) or _row(data) != rows[seq - 1]:
            yield f"the message at {seq} is not the event at {expected}: {data[:200]!r}"
            return
        expected += 1


async def _messages(client: Client, many: int) -> AsyncIterator[tuple[int, bytes]]:
    config = ConsumerConfig(ack_policy=AckPolicy.NONE, inactive_threshold=10, mem_storage=True)
    subscription = await client.jetstream().pull_subscribe("events.>", stream=STREAM, config=config)
    while many > 0:
        batch = await subscription.fetch(min(AT_ONCE, many), timeout=10)
        for message in batch:
            yield message.metadata.sequence.stream, message.data
        many -= len(batch)


def _row(data: bytes) -> Stored:
    """The row that a CloudEvent says it is."""
    said = json.loads(data)
    time = (datetime.fromisoformat(said["time"]) - EPOCH) // timedelta(microseconds=1)
    return Stored(
        said["pos"], said["loop"], said["version"], said["key"], said["type"], said["schema"], time,
        said["source"].removeprefix("amends/"), said["actor"], said["cause"], said["policy"],
        data[data.index(INNER) + len(INNER) : -1], bytes.fromhex(said["hash"]),
    )  # fmt: skip


async def _audited(database: str, nats_url: str) -> list[str]:
    result = Audit()
    async with linked(nats_url) as link:
        with closing(Log(database)) as log:
            await audit_mirror(result, log, Mirror(link), SAMPLES)
    return complaints(result)
