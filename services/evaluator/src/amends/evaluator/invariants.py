"""What must hold for the rows of a log, each looked at once and in order: I1, I2, I3, I5 and I8 of the design."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from amends.common.envelope import FACTS, GENESIS, Row, rehashed
from amends.common.identity import INSTALLATION
from amends.common.rows import Head

Invariant = Literal["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "blobs"]
RESTORE = "restore a backup, then `amends restore --import-tail` brings in the rest from the mirror"
DECIDED = frozenset(name for name, fact in FACTS.items() if not fact.by)


@dataclass(frozen=True)
class Violation:
    """Something that must never be so; `pos` is where it shows, if it is about one event."""

    invariant: Invariant
    pos: int | None
    what: str
    remedy: str

    @property
    def found(self) -> str:
        """What is wrong, and where."""
        return self.what if self.pos is None else f"at position {self.pos}: {self.what}"

    def __str__(self) -> str:
        return f"{self.invariant} {self.found}; {self.remedy}"


@dataclass(frozen=True)
class _Turn:
    """The last fact that was reported, or alarm that was raised: decisions right behind it are its consequences."""

    pos: int
    loop: str
    time: int


class Walk:
    """A walk along the log. `step` each row, then compare with the `head`; what it keeps is a few bytes per event."""

    def __init__(self) -> None:
        self.pos = 0
        self._hash = GENESIS
        self._time = 0
        self._versions: dict[str, int] = {}
        self._keys: set[int] = set()  # hashes: the keys themselves would not fit for a long log
        self._turn = _Turn(0, "", 0)

    def step(self, row: Row) -> Iterator[Violation]:
        """What is wrong with the next row."""
        if not legible(row):
            yield Violation("I8", row.pos, "a column of it holds what was never written there", RESTORE)
            self.pos, self._hash = row.pos, row.hash
            return
        if row.pos != self.pos + 1:
            lacking = f"positions {self.pos + 1} to {row.pos - 1} are missing"
            yield Violation("I1", row.pos, lacking if row.pos > self.pos else f"it follows {self.pos}", RESTORE)
        if row.time < self._time:
            yield Violation("I1", row.pos, "its time is before that of the event before it", RESTORE)
        yield from self._in_its_loop(row)
        yield from self._decided(row)
        if not _chained(row, self._hash):
            what = "its hash is not that of its content and of the event before it: one of the two was changed"
            yield Violation("I8", row.pos, what, RESTORE)
        self.pos, self._hash, self._time = row.pos, row.hash, row.time

    def end(self, head: Head) -> Iterator[Violation]:
        """Whether the head row says what the last event says."""
        for name, is_, said in (
            ("position", self.pos, head.pos),
            ("hash", _hex(self._hash), _hex(head.hash)),
            ("time", self._time, head.time),
        ):
            if is_ != said:
                yield Violation(
                    "I1", self.pos, f"the log ends here with {name} {is_}, and its head says {said}", RESTORE
                )

    def _in_its_loop(self, row: Row) -> Iterator[Violation]:
        version = self._versions.get(row.loop, 0)
        if row.version != version + 1:
            what = f"{row.loop} has version {row.version} after version {version}"
            yield Violation("I2", row.pos, what, RESTORE)
        self._versions[row.loop] = row.version
        key = hash((row.loop, row.key))
        if key in self._keys:
            yield Violation("I3", row.pos, f"{row.loop} has the key {row.key!r} twice", RESTORE)
        self._keys.add(key)

    def _decided(self, row: Row) -> Iterator[Violation]:
        """A fact and its decisions commit together: they stand side by side and have one time."""
        if row.cause is not None and row.cause >= row.pos:
            yield Violation("I5", row.pos, f"its cause is position {row.cause}, which is not before it", RESTORE)
        turn = _Turn(row.pos, row.loop, row.time)
        if row.type not in DECIDED:
            self._turn = turn
            return
        together = row.cause == self._turn.pos and row.time == self._turn.time and row.source == "evaluator"
        if together and row.loop == self._turn.loop:
            return
        if together and (row.loop, row.type) == (INSTALLATION, "escalated"):
            self._turn = turn
            return
        what = f"{row.type} was not recorded together with what caused it ({row.cause})"
        yield Violation("I5", row.pos, what, "report it as a bug: the recorder must not split a decision from its fact")


def legible(row: Row) -> bool:
    """Whether what is beside its data is of its columns' types, which SQLite does not see to."""
    return tuple(map(type, row[:-2])) in _TYPES


_UPTO_ACTOR = (int, str, int, str, str, int, int, str, str)
_TYPES = frozenset((*_UPTO_ACTOR, cause, str) for cause in (int, type(None)))


def _hex(stored: object) -> str:
    return stored.hex() if isinstance(stored, bytes) else repr(stored)


def _chained(row: Row, previous: bytes) -> bool:
    try:
        return row.hash == rehashed(row, previous)
    except TypeError:
        return False  # SQLite would store a text where bytes belong
