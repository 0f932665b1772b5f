"""Which lines of a file a change touches, in the lines of the base: what items lay claim to.

The base does not move while a fix is made, so a claim stays right whatever else changes in the same file. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_MOST = 4_000  # lines that are compared one by one; of more, everything between the first and the last difference
_RANGE = re.compile(r"(.*):([0-9]{1,9})-([0-9]{1,9})", re.DOTALL)
_EVERYTHING = 10**9


class Hunk(NamedTuple):
    """Lines `start` to `end` of a file of the base, from 1; nothing between them is an insertion before `start`."""

    path: str
    start: int
    end: int

    @property
    def name(self) -> str:
        """As verdicts name it: `app.py:10-12`."""
        return f"{self.path}:{self.start}-{self.end}"

    def holds(self, other: Hunk) -> bool:
        """Whether the other is within it; what is inserted right beside it is."""
        return self.path == other.path and self.start <= other.start and other.end <= self.end


def claimed(name: str) -> Hunk:
    """What a verdict's `hunks` name: lines of a file, or a whole file."""
    found = _RANGE.fullmatch(name)
    return Hunk(found[1], int(found[2]), int(found[3])) if found else Hunk(name, 0, _EVERYTHING)


def hunks(path: str, before: bytes | None, after: bytes | None) -> tuple[Hunk, ...]:
    """Where the two differ. A file that was not there, or is not any more, is one hunk; so is a change of mode."""
    if before is None or after is None or before == after:
        return (Hunk(path, 1, before.count(b"\n") + 1 if before and after is None else 0),)
    old, new = before.split(b"\n"), after.split(b"\n")
    start = _same(old, new)
    tail = _same(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - tail], new[start : len(new) - tail]
    if len(old) > _MOST or len(new) > _MOST:
        return (Hunk(path, start + 1, start + len(old)),)
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple(Hunk(path, start + a + 1, start + b) for code, a, b, _, _ in codes if code != "equal")


def unclaimed(found: Iterable[Hunk], names: Iterable[str]) -> tuple[Hunk, ...]:
    """The hunks that nobody lays claim to. Claims side by side hold what reaches from one into the next."""
    claims: dict[str, list[Hunk]] = {}
    for claim in map(claimed, names):
        claims.setdefault(claim.path, []).append(claim)
    joined = {path: _joined(of) for path, of in claims.items()}
    return tuple(one for one in found if not any(claim.holds(one) for claim in joined.get(one.path, ())))


def _joined(claims: Sequence[Hunk]) -> list[Hunk]:
    """With what may be inserted right before and right after; what touches is one."""
    joined: list[Hunk] = []
    for claim in sorted(claims):
        if joined and claim.start <= joined[-1].end + 1:
            joined[-1] = joined[-1]._replace(end=max(joined[-1].end, claim.end))
        else:
            joined.append(claim)
    return joined


def _same(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    for place, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return place
    return min(len(old), len(new))
