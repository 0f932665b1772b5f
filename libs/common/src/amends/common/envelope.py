"""The recorded form of a fact: its place in the log, its CloudEvents 1.0 envelope, and its link in the hash chain."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import NamedTuple, get_args
from uuid import UUID, uuid5

from amends.common.events import AnyFact, Fact
from amends.common.upcast import upcast

FACTS: dict[str, type[AnyFact]] = {cls.model_fields["type"].default: cls for cls in get_args(AnyFact)}
VOCABULARY = 1  # raise it when a type or a schema version is added: older evaluators then stand aside
MAX_ENVELOPE = 256 * 1024
GENESIS = bytes(32)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAMESPACE = UUID("5f0c6b3e-6c1d-5d0e-9a57-0d1f3b8a2c44")


class Event(NamedTuple):
    """One row of the log. `time` is the database's clock in microseconds; `cause` the position this followed from."""

    pos: int
    loop: str
    version: int
    key: str
    time: int
    source: str
    actor: str
    cause: int | None
    policy: str
    fact: AnyFact

    @property
    def type(self) -> str:
        """The fact's name, `noun.verbed`."""
        return self.fact.type

    @property
    def id(self) -> str:
        """The same intent has the same id, on every machine and in every life."""
        return event_id(self.loop, self.key)


class Row(NamedTuple):
    """An event exactly as it is stored: what is hashed is what is kept."""

    pos: int
    loop: str
    version: int
    key: str
    type: str
    schema: int
    time: int
    source: str
    actor: str
    cause: int | None
    policy: str
    data: bytes
    hash: bytes


class Gist(NamedTuple):
    """What folding needs of a row: not who said it and why, and not what proves it."""

    pos: int
    loop: str
    version: int
    key: str
    type: str
    schema: int
    time: int
    data: bytes


def event_id(loop: str, key: str) -> str:
    """A name-based UUID of loop and key."""
    return str(uuid5(_NAMESPACE, f"{loop}\n{key}"))


def encode(fact: Fact) -> bytes:
    """The fact's own fields as JSON (its type is a column)."""
    return fact.__pydantic_serializer__.to_json(fact, exclude=_TYPE)


_TYPE = {"type"}


def decode(type_: str, schema: int, data: bytes) -> AnyFact:
    """The fact of stored bytes, brought up to today's schema."""
    cls = FACTS.get(type_)
    if cls is None or schema > cls.schema_version:
        raise UnknownFactError(f"{type_} schema {schema} is newer than this program (vocabulary {VOCABULARY})")
    if schema < cls.schema_version:
        return cls.model_validate(upcast(type_, schema, cls.schema_version, json.loads(data)))
    fact: AnyFact = cls.__pydantic_validator__.validate_json(data)
    return fact


class UnknownFactError(Exception):
    """A stored event is of a type or schema that this program does not know."""


def row_of(event: Event, previous: bytes, data: bytes | None = None) -> Row:
    """The event as it will be stored behind the row whose hash is `previous`."""
    data = encode(event.fact) if data is None else data
    fields = (
        event.pos, event.loop, event.version, event.key, event.type, event.fact.schema_version,
        event.time, event.source, event.actor, event.cause, event.policy,
    )  # fmt: skip
    return Row(*fields, data, chained(previous, fields, data))


def chained(previous: bytes, fields: tuple[object, ...], data: bytes) -> bytes:
    """The hash of a row: over the row before it, its own columns and its exact data."""
    return sha256(b"\n".join((previous, repr(fields).encode(), data))).digest()


def rehashed(row: Row, previous: bytes) -> bytes:
    """The hash this row should have; anything else means that it was changed."""
    fields = (
        row.pos, row.loop, row.version, row.key, row.type, row.schema,
        row.time, row.source, row.actor, row.cause, row.policy,
    )  # fmt: skip
    return chained(previous, fields, row.data)


def event_of(row: Row) -> Event:
    """The stored row with its fact decoded."""
    pos, loop, version, key, _type, _schema, time, source, actor, cause, policy, _data, _hash = row
    return Event(pos, loop, version, key, time, source, actor, cause, policy, fact_of(row))


def fact_of(row: Row | Gist) -> AnyFact:
    """The stored row's fact."""
    read = _TODAY.get((row.type, row.schema))
    return read(row.data) if read else decode(row.type, row.schema, row.data)


_TODAY = {(name, cls.schema_version): cls.__pydantic_validator__.validate_json for name, cls in FACTS.items()}


def subject(loop: str, type_: str) -> str:
    """The JetStream subject; a type's dot stays, so `events.*.review.rejected` finds all of a kind."""
    return f"events.{loop}.{type_}"


def moment(time: int) -> datetime:
    """The log's microseconds as a date."""
    return _EPOCH + timedelta(microseconds=time)


def cloud_event(row: Row) -> bytes:
    """The row as a structured CloudEvent; `hash` and all columns travel, so a mirror can restore a log."""
    attributes = {
        "specversion": "1.0",
        "id": event_id(row.loop, row.key),
        "source": f"amends/{row.source}",
        "type": row.type,
        "subject": row.loop,
        "time": moment(row.time).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "loop": row.loop,
        "pos": row.pos,
        "version": row.version,
        "key": row.key,
        "schema": row.schema,
        "actor": row.actor,
        "cause": row.cause,
        "policy": row.policy,
        "hash": row.hash.hex(),
    }
    head = json.dumps(attributes, ensure_ascii=False, separators=(",", ":"))
    return head[:-1].encode() + b',"data":' + row.data + b"}"


def row_from(envelope: bytes) -> Row:
    """The row that a CloudEvent of ours was made of, byte for byte (`data` is always last)."""
    head, _, data = envelope.partition(b',"data":')
    fields = json.loads(head + b"}")
    return Row(
        pos=fields["pos"],
        loop=fields["loop"],
        version=fields["version"],
        key=fields["key"],
        type=fields["type"],
        schema=fields["schema"],
        time=(datetime.fromisoformat(fields["time"]) - _EPOCH) // timedelta(microseconds=1),
        source=fields["source"].removeprefix("amends/"),
        actor=fields["actor"],
        cause=fields["cause"],
        policy=fields["policy"],
        data=data[:-1],
        hash=bytes.fromhex(fields["hash"]),
    )
