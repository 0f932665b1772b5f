"""What travels between a reporter and the recorder: JSON, and for blobs a line of JSON before the bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from amends.common.answers import Already, Answer, Followed, Go, Recorded, Refused, Stop, Unavailable
from amends.common.events import AnyFact
from amends.common.policy import Id
from amends.common.situation import Asked as Situated

CHUNK = 256 * 1024
KEPT = b'{"kept":true}'
MISSING = b'{"missing":true}'
_FACT: TypeAdapter[AnyFact] = TypeAdapter(Annotated[AnyFact, Field(discriminator="type")])
_REFUSED = TypeAdapter(Refused)
_FOLLOWED = TypeAdapter(tuple[Followed, ...])
_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
PARTS = 256  # the evaluator joins a blob in memory: at most 64 MiB
_Part = Annotated[int, Field(ge=0, lt=PARTS)]


class Asked(BaseModel):
    """A question to the recorder; anything else in it is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class MayAsked(Asked):
    """Whether the work that the event at `pos` asked for may have its effect now."""

    pos: Id
    run: Annotated[str, StringConstraints(max_length=200)] = ""


class Requeued(Asked):
    """What is to be worked on again: a report that was parked, or the event that a service gave up on."""

    parked: Id | None = None
    pos: Id | None = None
    service: Annotated[str, StringConstraints(max_length=40)] = ""


class ChunkAsked(Asked):
    """Part n of a blob."""

    sha: _Sha256
    n: _Part = 0


class ChunkHead(ChunkAsked):
    """What the part is of: a blob of so many bytes in so many parts."""

    of: Annotated[int, Field(ge=1, le=PARTS)]
    size: Annotated[int, Field(ge=0, le=PARTS * CHUNK)]


@dataclass(frozen=True)
class Chunk:
    """Part n, from 0, of a blob in `of` parts. As often as one likes; the last one makes the blob be there."""

    sha: str
    n: int
    of: int
    size: int
    data: bytes


def answer_bytes(answer: Answer) -> bytes:
    """An answer to a report, as it is sent."""
    match answer:
        case Recorded():
            return json.dumps({"recorded": answer.pos}).encode()
        case Already():
            fact = answer.fact.model_dump_json() if answer.fact is not None else "null"
            return f'{{"already":{answer.pos},"fact":{fact}}}'.encode()
        case Refused():
            return json.dumps({"refused": vars(answer)}).encode()
        case Unavailable():
            return json.dumps({"unavailable": answer.detail}).encode()


def answer_from(raw: bytes) -> Answer:
    """The answer that was sent; one we cannot read is none."""
    match _object(raw):
        case {"recorded": int(pos)}:
            return Recorded(pos)
        case {"already": int(pos), **rest}:
            return Already(pos, _fact(rest.get("fact")))
        case {"refused": refused}:
            return _checked(_REFUSED, refused) or Unavailable(f"an answer we cannot read: {refused!r}"[:400])
        case {"unavailable": str(detail)}:
            return Unavailable(detail)
        case _:
            return Unavailable(f"an answer we cannot read: {raw[:200]!r}")


def leave_bytes(leave: Go | Stop | Unavailable) -> bytes:
    """Whether an effect may be made, as it is sent."""
    match leave:
        case Go():
            return b'{"go":true}'
        case Stop():
            return json.dumps({"stop": leave.reason}).encode()
        case Unavailable():
            return json.dumps({"unavailable": leave.detail}).encode()


def leave_from(raw: bytes) -> Go | Stop | Unavailable:
    """The leave that was sent; one we cannot read is none."""
    match _object(raw):
        case {"go": True}:
            return Go()
        case {"stop": str(reason)}:
            return Stop(reason)
        case {"unavailable": str(detail)}:
            return Unavailable(detail)
        case _:
            return Unavailable(f"an answer we cannot read: {raw[:200]!r}")


def followed_bytes(followed: Sequence[Followed]) -> bytes:
    """What the installation lists, as it is sent."""
    return b'{"followed":' + _FOLLOWED.dump_json(tuple(followed)) + b"}"


def followed_from(raw: bytes) -> tuple[Followed, ...] | None:
    """The list that was sent; None for anything else."""
    match _object(raw):
        case {"followed": followed}:
            return _checked(_FOLLOWED, followed)
        case _:
            return None


def situation_bytes(asked: Situated) -> bytes:
    """What an event asks of the notifier, as it is sent."""
    return b'{"situation":' + asked.model_dump_json().encode() + b"}"


def situation_from(raw: bytes) -> Situated | None:
    """What was sent about an event; None for anything else."""
    match _object(raw):
        case {"situation": dict(found)}:
            # As JSON, not as Python's values: a list is a tuple there, and a word an enum.
            try:
                return Situated.model_validate_json(json.dumps(found))
            except ValidationError:
                return None
        case _:
            return None


def chunks(content: bytes) -> list[Chunk]:
    """A blob in parts, to be put one after the other."""
    sha, of = sha256(content).hexdigest(), max(1, -(-len(content) // CHUNK))
    return [Chunk(sha, n, of, len(content), content[n * CHUNK : (n + 1) * CHUNK]) for n in range(of)]


def chunk_bytes(chunk: Chunk) -> bytes:
    """A part of a blob, as it is sent either way."""
    head = {"sha": chunk.sha, "n": chunk.n, "of": chunk.of, "size": chunk.size}
    return json.dumps(head).encode() + b"\n" + chunk.data


def chunk_from(raw: bytes) -> Chunk | None:
    """The part that was sent; None for anything else."""
    head, _, data = raw.partition(b"\n")
    found = _checked(TypeAdapter(ChunkHead), _object(head))
    if found is None or len(data) > CHUNK or found.n >= found.of:
        return None
    return Chunk(found.sha, found.n, found.of, found.size, data)


def _object(raw: bytes) -> object:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _fact(stored: Any) -> AnyFact | None:  # noqa: ANN401 - JSON
    return None if stored is None else _checked(_FACT, stored)


def _checked(adapter: TypeAdapter[Read], value: object) -> Read | None:
    try:
        return adapter.validate_python(value)
    except ValidationError:
        return None


Read = TypeVar("Read")
