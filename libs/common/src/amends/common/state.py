"""A loop's state as it is stored: of a version that may lie a few events back, because writing it takes its time."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import TypeAdapter

from amends.common.envelope import Row, event_of
from amends.common.loop import Loop, evolve

_STATE = TypeAdapter(Loop)


def dump(loop: Loop) -> bytes:
    """The loop's state as stored; what is as at the beginning is left out."""
    return _STATE.dump_json(loop, exclude_defaults=True)


def load(state: bytes) -> Loop:
    """The loop of a stored state."""
    return _STATE.validate_json(state)


def caught_up(loop: Loop, later: Iterable[Row]) -> Loop:
    """The loop after the events that came since its state was stored."""
    for row in later:
        loop = evolve(loop, event_of(row))
    return loop
