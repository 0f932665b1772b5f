"""Which lines of a file a change touches, in the lines of the base: what items lay claim to.

The base does not move while a fix is made, so a claim stays right whatever else changes in the same file. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

_MOST = 4_000  # lines that are compared one by one; of more, everything between the first and the last difference
_EXACT = 400  # of more, lines that stand there again and again are not compared each with each: that takes hours
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

    @property
    def place(self) -> str:
        """As people say it: `app.py:10`, also for what is inserted there, and of a new file just its name."""
        if self.end == _EVERYTHING or (self.start, self.end) == (1, 0):
            return self.path
        return self.name if self.end > self.start else f"{self.path}:{self.start}"

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
        return (Hunk(path, 1, _lines(before) if before and after is None else 0),)
    old, new = before.split(b"\n"), after.split(b"\n")
    start = _same(old, new)
    tail = _same(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - tail], new[start : len(new) - tail]
    if len(old) > _MOST or len(new) > _MOST:
        return (Hunk(path, start + 1, start + len(old)),)
    codes = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > _EXACT).get_opcodes()
    return tuple(Hunk(path, start + a + 1, start + b) for code, a, b, _, _ in codes if code != "equal")


def _lines(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n"))


def unclaimed(path: str, before: bytes | None, after: bytes | None, names: Iterable[str]) -> tuple[Hunk, ...]:
    """The hunks that nobody lays claim to.

    Where lines repeat, a difference can be seen in more than one place. So it is not asked where it is seen, but
    whether everything outside of the claims is still there, in order: then all that differs is within them.
    """
    claims = _joined(claim for claim in map(claimed, names) if claim.path == path)
    found = hunks(path, before, after)
    if before is not None and after is not None and before != after and _fits(before, after, claims):
        return ()
    return tuple(one for one in found if not any(claim.holds(one) for claim in claims))


def _fits(before: bytes, after: bytes, claims: Sequence[Hunk]) -> bool:
    """Whether `after` is `before` with something else, or nothing, in the place of the claims."""
    if not claims:
        return False
    old, new = before.split(b"\n"), after.split(b"\n")
    kept, at = [], 0
    for claim in claims:
        kept.append(old[at : max(claim.start - 1, 0)])
        at = claim.end
    first, last = kept.pop(0), old[at:]
    if new[: len(first)] != first or len(new) < len(first) + len(last) or new[len(new) - len(last) :] != last:
        return False
    return _in_order(new[len(first) : len(new) - len(last)], kept)


def _in_order(lines: Sequence[bytes], pieces: Iterable[Sequence[bytes]]) -> bool:
    """Whether all pieces are there, one after the other: the first place of each leaves the most room for the next."""
    text, at = _ended(lines), 0
    for piece in pieces:
        wanted = _ended(piece)
        found = text.find(wanted, at)
        if found < 0:
            return False
        at = found + len(wanted) - 1  # what ends it is what the next begins after
    return True


def _ended(lines: Sequence[bytes]) -> bytes:
    """The lines as one text, in which each stands between two ends."""
    return b"\n".join([b"", *lines, b""])


def _joined(claims: Iterable[Hunk]) -> list[Hunk]:
    """What touches is one."""
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
