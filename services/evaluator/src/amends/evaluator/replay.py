"""The log folded again from nothing: where every loop stands, computed from the events alone. Values in, values out.

It follows `batch.py` step by step: a loop's projection is that of its last event under the policy as of that position,
and a loop that our own code got stuck in stands before the event it got stuck at, until something shows otherwise.
"""

from __future__ import annotations

import gc
import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from operator import attrgetter, itemgetter
from typing import Any

from amends.common.envelope import FACTS, Gist, Row, fact_of
from amends.common.frozen import changed, replace
from amends.common.identity import INSTALLATION, policy_loop
from amends.common.loop import Loop, Mark, Spent, told
from amends.common.policy import Policy
from amends.common.rows import ClaimRow
from amends.common.standing import policy_for
from amends.common.state import dump, load
from amends.evaluator.projections import Projection, claimed, project

AT_HAND = 2_000  # loops that are kept unpacked, 40 kB each; a packed one takes 5


def rebuild(rows: Iterable[Row | Gist], upto_pos: int | None = None, upto_time: int | None = None) -> Rebuilt:
    """Everything there is to know of the log's loops, up to a position or a time (microseconds) if one is given."""
    if upto_pos is not None:
        rows = takewhile(lambda row: row.pos <= upto_pos, rows)
    if upto_time is not None:
        rows = takewhile(lambda row: row.time <= upto_time, rows)
    return Rebuilt().further(rows)


@dataclass(frozen=True)
class Stuck:
    """A loop before the event that our code failed at, and the version of that code."""

    loop: Loop
    code: str


@dataclass(frozen=True)
class Unfolded:
    """An event that this program cannot fold; its loop stands before it."""

    pos: int
    loop: str
    error: str


@dataclass
class Rebuilt:
    """The log folded as far as it was fed. `events` counts what was folded, `pos` and `time` are the last event's."""

    pos: int = 0
    time: int = 0
    events: int = 0
    versions: dict[str, int] = field(default_factory=dict)
    unfolded: dict[str, Unfolded] = field(default_factory=dict)
    stuck: dict[str, Stuck] = field(default_factory=dict)
    at_hand: int = AT_HAND
    _before: dict[str, Any] = field(default_factory=dict)  # what the last event's loop was without that event
    _loops: dict[str, Loop] = field(default_factory=dict)
    _packed: dict[str, bytes] = field(default_factory=dict)
    _ends: dict[str, int] = field(default_factory=dict)
    _claims: dict[str, dict[str, Spent]] = field(default_factory=dict)
    _settings: dict[str, list[tuple[int, Loop]]] = field(default_factory=dict)

    def further(self, rows: Iterable[Row | Gist]) -> Rebuilt:
        """Fold what comes next; the same object, for a log that grows meanwhile."""
        with _uncollected():
            for row in rows:
                self._fold(row)
        return self

    # --- what stands -----------------------------------------------------------------------------------------------

    def loop(self, name: str) -> Loop:
        """The state of a loop; of a stuck one, the state it is stuck in."""
        stuck = self.stuck.get(name)
        return stuck.loop if stuck else self._whole(name)

    def policy(self, loop: Loop) -> Policy:
        """What was in force for the loop at its last event."""
        if loop.kind != "change":
            return policy_for(loop, loop, Loop(""))
        return policy_for(loop, self._setting(INSTALLATION, loop.id), self._setting(policy_loop(loop.id), loop.id))

    def policy_now(self, loop: Loop) -> Policy:
        """What is in force for the loop at the end, whether or not anything has happened in it since."""
        if loop.kind != "change":
            return policy_for(loop, loop, Loop(""))
        settings = (INSTALLATION, policy_loop(loop.id))
        return policy_for(loop, *(self.loop(name) if name in self.versions else Loop(name) for name in settings))

    def projection(self, name: str, *, stuck: str | None = None) -> Projection:
        """What is kept of a loop. A newer program leaves no trace when it gets a loop unstuck: `stuck` tells that."""
        jam = self.stuck.get(name)
        code = jam.code if jam and stuck is None else stuck or ""
        loop = jam.loop if jam and code else self._whole(name)
        return project(loop, self.policy(loop), self.versions[name], code)

    def claims(self, name: str, *, stuck: str | None = None) -> list[ClaimRow]:
        """Every claim there ever was in a loop, as they are kept; its state only remembers the latest."""
        found = self._claims.get(name, {})
        if (jam := self.stuck.get(name)) and stuck != "":
            found = found | jam.loop.claims
        return [claimed(name, step, claim) for step, claim in found.items()]

    def digest(self) -> str:
        """A hash over where every loop stands: two replays of one log have the same."""
        total = sha256()
        for name in sorted(self.versions):
            state = (name, self.versions[name], self.stuck[name].code if name in self.stuck else "")
            total.update(repr(state).encode() + dump(self.loop(name)) + b"\n")
        return total.hexdigest()

    # --- how -------------------------------------------------------------------------------------------------------

    def _fold(self, row: Row | Gist) -> None:
        name, pos = row.loop, row.pos
        loop = self._loops.get(name)
        if loop is None:
            loop = self._loops[name] = self._unpacked(name)
        if self.stuck and shows_unstuck(row):
            self.stuck.pop(name, None)
        if row.type == "loop.stuck":
            self.stuck[name] = Stuck(replace(loop, **self._before), _code(row))
        self._before = loop.__dict__.copy()
        if name not in self.unfolded:
            self._tell(loop, row)
        self.pos, self.time = pos, row.time
        self.events += 1
        self.versions[name] = row.version
        self._ends[name] = pos
        if loop.kind != "change":
            self._settings.setdefault(name, []).append((pos, self.loop(name)))

    def _tell(self, loop: Loop, row: Row | Gist) -> None:
        known = loop.claims
        try:
            told(loop, fact_of(row), _made(Mark, (row.pos, row.version, row.time)))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the other loops can be rebuilt
            changed(loop, **self._before)
            self.unfolded[row.loop] = Unfolded(row.pos, row.loop, type(error).__name__)
            return
        if loop.claims is not known:
            self._claims.setdefault(row.loop, {}).update(loop.claims)

    def _whole(self, name: str) -> Loop:
        """A copy for whoever asks: what is at hand is changed in place by the events to come."""
        loop = self._loops.get(name)
        return replace(loop) if loop is not None else load(self._packed[name])

    def _unpacked(self, name: str) -> Loop:
        if len(self._loops) >= self.at_hand:
            self._pack()
        packed = self._packed.pop(name, None)
        return Loop(name) if packed is None else load(packed)

    def _pack(self) -> None:
        """Make room for some others; not for many, since packing a loop takes as long as folding four events."""
        longest_ago = sorted(self._loops.values(), key=attrgetter("pos"))
        for loop in longest_ago[: max(1, self.at_hand // 8)]:
            self._packed[loop.id] = dump(self._loops.pop(loop.id))

    def _setting(self, name: str, at: str) -> Loop:
        """A settings loop as of another loop's last event."""
        changes = self._settings.get(name, [])
        earlier = bisect_right(changes, self._ends[at], key=itemgetter(0))
        return changes[earlier - 1][1] if earlier else Loop(name)


_made = tuple.__new__  # as `Mark(...)`, which is Python


def _code(row: Row | Gist) -> str:
    try:
        return str(json.loads(row.data)["code"])
    except (ValueError, KeyError, TypeError):
        return "unknown"


def shows_unstuck(row: Row | Gist) -> bool:
    """Whether a stuck loop is not stuck any more: something was decided in it, or a newer program tried again."""
    return row.type in _DECIDED or row.key.startswith("timer/unstick/")


_DECIDED = frozenset(name for name, fact in FACTS.items() if not fact.by) - {"loop.stuck"}


@contextmanager
def _uncollected() -> Iterator[None]:
    """Folding makes no cycles, and looking for them among so many small values takes as long as the folding."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            # Makes old what is new: or else the next value that anybody makes sets off the search for them after all.
            gc.freeze()
            gc.unfreeze()
            gc.enable()
