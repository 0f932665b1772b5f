"""Where two policies part in a loop, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amends.common.events import AnyFact

# What differs whenever the policy does, or only says in words what other fields say.
IDLE = {"type", "rules", "detail", "history"}


@dataclass(frozen=True)
class Divergence:
    """Where the two part in a loop: `after` says which fact at `pos`, or which wait that was over at `time`, did it."""

    loop: str
    pos: int
    time: int
    after: str
    recorded: tuple[str, ...]
    other: tuple[str, ...]


def essence(fact: AnyFact) -> tuple[str, str]:
    """What a decision says, to be compared."""
    return fact.type, fact.model_dump_json(exclude=IDLE)


def told(facts: Sequence[AnyFact], beside: Sequence[AnyFact]) -> tuple[str, ...]:
    """Decisions in words, beside those of the other policy."""
    twins = {fact.key: fact for fact in beside}
    return tuple(_words(fact, twins.get(fact.key)) for fact in facts)


def _words(fact: AnyFact, twin: AnyFact | None) -> str:
    """The fact's name and key, and where its twin of the other policy says something else."""
    if twin is None or twin.type != fact.type:
        return f"{fact.type} {fact.key}"
    names = [name for name in type(fact).model_fields if name not in IDLE]
    differing = [f"{name}={getattr(fact, name)!r}"[:80] for name in names if getattr(fact, name) != getattr(twin, name)]
    return " ".join((fact.type, fact.key, *differing))
