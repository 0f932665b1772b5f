"""Whether the projections beside the log are what the log says: rebuilt from nothing they must come out equal."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from amends.common.rows import ClaimRow, LoopRow, OutstandingRow, TimerRow
from amends.evaluator.projections import Projection
from amends.evaluator.replay import Rebuilt

LONGEST = 120  # characters of a value that is shown
MOST = 5  # fields of one state that are named


class Kept(NamedTuple):
    """What is kept beside the log; `loops` may come one by one and must have their state."""

    loops: Iterable[LoopRow]
    timers: Sequence[TimerRow]
    outstanding: Sequence[OutstandingRow]
    claims: Sequence[ClaimRow]


@dataclass(frozen=True)
class Difference:
    """Something kept that the log does not say, or the other way round."""

    loop: str
    what: str
    rebuilt: str
    kept: str

    def __str__(self) -> str:
        return f"{self.loop}: {self.what} is {self.kept}, and the log says {self.rebuilt}"


def differences(rebuilt: Rebuilt, kept: Kept, among: Collection[str] | None = None) -> Iterator[Difference]:
    """Each difference between a log that was folded to its end and what is kept beside it, in all loops or in some."""
    timers, outstanding, claims = (_by_loop(rows, among) for rows in (kept.timers, kept.outstanding, kept.claims))
    missing = dict.fromkeys(name for name in rebuilt.versions if among is None or name in among)
    for row in kept.loops:
        if row.loop not in missing:
            yield Difference(row.loop, "its row", "nothing", "there")
            continue
        del missing[row.loop]
        if (trouble := rebuilt.unfolded.get(row.loop)) and not row.stuck:
            yield Difference(row.loop, "its row", f"{trouble.error} at position {trouble.pos}", "not stuck")
            for left in (timers, outstanding, claims):
                left.pop(row.loop, None)
            continue
        stuck = row.stuck if row.loop in rebuilt.stuck else None
        expected = rebuilt.projection(row.loop, stuck=stuck)
        yield from _rows(expected, row)
        yield from _lists(row.loop, "timers", expected.timers, timers.pop(row.loop, ()))
        yield from _lists(row.loop, "outstanding", expected.outstanding, outstanding.pop(row.loop, ()))
        yield from _lists(row.loop, "claims", rebuilt.claims(row.loop, stuck=stuck), claims.pop(row.loop, ()))
    for name in missing:
        yield Difference(name, "its row", f"version {rebuilt.versions[name]}", "missing")
    for left, what in ((timers, "timers"), (outstanding, "outstanding"), (claims, "claims")):
        for name, rows in left.items():
            yield from _lists(name, what, (), rows)


Listed = TimerRow | OutstandingRow | ClaimRow


def _by_loop(rows: Sequence[Listed], among: Collection[str] | None) -> dict[str, list[Listed]]:
    found = defaultdict[str, list[Listed]](list)
    for row in rows:
        if among is None or row.loop in among:
            found[row.loop].append(row)
    return found


def _rows(expected: Projection, row: LoopRow) -> Iterator[Difference]:
    for name, is_, kept in zip(LoopRow._fields, expected.row, row, strict=True):
        if is_ != kept and name != "state":
            yield Difference(row.loop, name, _shown(is_), _shown(kept))
    if expected.row.state != row.state:
        yield from islice(_inside(row.loop, "state", _parsed(expected.row.state), _parsed(row.state)), MOST)


def _inside(loop: str, path: str, rebuilt: object, kept: object) -> Iterator[Difference]:
    if isinstance(rebuilt, dict) and isinstance(kept, dict):
        for name in (*rebuilt, *(name for name in kept if name not in rebuilt)):
            yield from _inside(loop, f"{path}.{name}", rebuilt.get(name), kept.get(name))
        if rebuilt == kept and list(rebuilt) != list(kept):
            yield Difference(loop, f"{path} (its order)", _shown(list(rebuilt)), _shown(list(kept)))
    elif rebuilt != kept:
        yield Difference(loop, path, _shown(rebuilt), _shown(kept))


def _lists(loop: str, what: str, rebuilt: Sequence[Listed], kept: Sequence[Listed]) -> Iterator[Difference]:
    expected, found = set(rebuilt), set(kept)
    lacking, surplus = sorted(expected - found, key=repr), sorted(found - expected, key=repr)
    if lacking or surplus:
        yield Difference(loop, what, _shown(list(map(_plain, lacking))), _shown(list(map(_plain, surplus))))


def _plain(row: Listed) -> dict[str, object]:
    return {name: value for name, value in row._asdict().items() if name != "loop"}


def _parsed(state: bytes) -> object:
    try:
        return json.loads(state)
    except (ValueError, TypeError):
        return repr(state)[:LONGEST]


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
