"""Old stored events, brought up to today's schema. Rows are never rewritten; a step here lives for ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Stored = dict[str, object]
Step = Callable[[Stored], Stored]

# STEPS[type][n] turns the data of schema n into that of schema n + 1.
STEPS: Mapping[str, Mapping[int, Step]] = {}


def upcast(
    type_: str, schema: int, today: int, stored: Stored, steps: Mapping[str, Mapping[int, Step]] = STEPS
) -> Stored:
    """`stored` of this schema as today's would have written it."""
    known = steps.get(type_, {})
    for number in range(schema, today):
        if number not in known:
            raise LookupError(f"{type_} has no step from schema {number}: write it in upcast.py")
        stored = known[number](stored)
    return stored
