"""Whether a log kept every promise, found out twice: by amends' own audit, and here by other means.

What stands here reads the tables with SQL of its own, and knows how a hash is made from the design and not from the
code, so that a mistake in one of the two shows.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from amends.common.log import Log
from amends.evaluator.audit import Audit, audit
from tests.faults.support.ledger import Ledger, Told, told
from tests.support.book import rebuilt


class Stored(NamedTuple):
    """A row of `events`, as it stands in the table."""

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


@dataclass
class Findings:
    """What was counted, and everything that is wrong."""

    events: int = 0
    acknowledged: int = 0
    mirrored: int = 0
    lost: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> list[str]:
        """All that is wrong, a few of each kind."""
        kinds = ("lost", "gaps", "doubled", "differing", "other")
        return [f"{kind}: {what}" for kind in kinds for what in getattr(self, kind)[:5]]


def examined(database: str, ledger: Ledger, *, twice: bool) -> Findings:
    """All but the mirror, at any moment, whoever was killed last; `twice` folds the log in both ways that we have."""
    rows = stored(database)
    return Findings(
        events=len(rows),
        acknowledged=ledger.acknowledged,
        lost=[*lost(rows, ledger), *blobs_lost(database, ledger)],
        gaps=[*gaps(rows)],
        doubled=[*doubles(rows), *ledger.doubled],
        other=[
            *apart(rows), *head_differs(database, rows), *invented(rows, ledger), *unwelcome(ledger),
            *audited(database), *(projections_differ(database) if twice else ()),
        ],
    )  # fmt: skip


# --- the log ---------------------------------------------------------------------------------------------------------


def query(database: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query, from the driver itself."""
    if database.startswith("sqlite"):
        with closing(sqlite3.connect(Path(database.removeprefix("sqlite:///")))) as connection:
            return connection.execute(sql).fetchall()
    with psycopg.connect(database) as connection:
        return connection.execute(sql.encode()).fetchall()


def stored(database: str) -> list[Stored]:
    """The log, whole."""
    rows = query(database, f"SELECT {', '.join(Stored._fields)} FROM events ORDER BY pos")  # noqa: S608 - our names
    return [Stored(*row)._replace(data=bytes(row[-2]), hash=bytes(row[-1])) for row in rows]


def gaps(rows: Sequence[Stored]) -> Iterator[str]:
    """I1, I2 and I8: positions and versions without a gap, every hash on the one before, time never runs back."""
    previous, versions, time = bytes(32), Counter[str](), 0
    for expected, row in enumerate(rows, 1):
        versions[row.loop] += 1
        if row.pos != expected or row.version != versions[row.loop] or row.time < time:
            yield f"position {row.pos} where {expected} belongs; version {row.version} of {row.loop}; time {row.time}"
        if row.hash != sha256(b"\n".join((previous, repr(row[:11]).encode(), row.data))).digest():
            yield f"the hash at {row.pos} is not that of its content behind the event before"
        previous, time = row.hash, row.time


def doubles(rows: Sequence[Stored]) -> Iterator[str]:
    """I3 and more: no key twice in a loop, and nothing that was reported is there twice under different keys."""
    keys = Counter((row.loop, row.key) for row in rows)
    yield from (f"the key {key} of {loop} {times} times" for (loop, key), times in keys.items() if times > 1)
    said = Counter((row.type, row.loop, row.data) for row in rows if row.source != "evaluator")
    yield from (f"{type_} of {loop} {times} times" for (type_, loop, _), times in said.items() if times > 1)


def lost(rows: Sequence[Stored], ledger: Ledger) -> Iterator[str]:
    """What was answered `recorded` stands at that very position; what was `already` there is still there."""
    at = {row.pos: row for row in rows}
    for pos, what in ledger.recorded.copy().items():
        if pos not in at or _telling(at[pos]) != what:
            yield f"position {pos} was answered to {what}"
    for pos, loop, key in ledger.already.copy():
        # The key of a snapshot ends in a number, which its reporter does not know.
        if pos not in at or at[pos].loop != loop or not f"{at[pos].key}/".startswith(f"{key}/"):
            yield f"position {pos} was said to hold {key} of {loop} already"


def invented(rows: Sequence[Stored], ledger: Ledger) -> Iterator[str]:
    """Nothing stands in the log that nobody reported."""
    for row in rows:
        if row.source != "evaluator" and ledger.complete and not ledger.sent[_telling(row)]:
            yield f"position {row.pos}: nobody who may report it reported {_telling(row)}"


def unwelcome(ledger: Ledger) -> Iterator[str]:
    """Nothing was refused that had to be taken; only the results of an attempt that was given up come too late."""
    yield from (f"{times} refused as {reason}" for reason, times in ledger.refused.items() if reason != "superseded")


def apart(rows: Sequence[Stored]) -> Iterator[str]:
    """I5: what was decided stands right behind its cause, but for other decisions, and is of the same moment."""
    at = {row.pos: row for row in rows}
    for row in rows:
        if row.cause is None or row.source != "evaluator" or row.type == "timer.fired":
            continue
        if row.cause not in at or row.cause >= row.pos or at[row.cause].time != row.time:
            yield f"{row.type} at {row.pos} was not recorded together with its cause at {row.cause}"
        elif any(at[pos].source != "evaluator" for pos in range(row.cause + 1, row.pos) if pos in at):
            yield f"something stands between {row.type} at {row.pos} and its cause at {row.cause}"


def head_differs(database: str, rows: Sequence[Stored]) -> Iterator[str]:
    """The head row is about the last event."""
    [(pos, hash_, time)] = query(database, "SELECT pos, hash, time FROM head")
    last = (rows[-1].pos, rows[-1].hash, rows[-1].time) if rows else (0, bytes(32), 0)
    if (pos, bytes(hash_), time) != last:
        yield f"the head says {pos}, the last event is {last[0]}"


def _telling(row: Stored) -> Told:
    return told(row.loop, row.type, row.data)


# --- beside the log --------------------------------------------------------------------------------------------------


def audited(database: str) -> list[str]:
    """Amends' own opinion."""
    with closing(Log(database)) as log:
        return complaints(audit(log, deep=True))


def complaints(result: Audit) -> list[str]:
    """What an audit found."""
    return [f"the audit: {violation}" for violation in result.violations]


def projections_differ(database: str) -> Iterator[str]:
    """I7, by the rebuild that the property tests use: it knows nothing of `replay` and `verify`."""
    with closing(Log(database)) as log:
        views = rebuilt(log.rows(0, 10_000_000))
        kept = {name: log.loop(name) for name in views.loops}
        yield from (f"the row of {name} is not what the log says" for name in kept if kept[name] != views.loops[name])
        if set(log.timers(limit=1_000_000)) != views.timers:
            yield "the timers are not what the log says"
        if set(log.outstanding()) != views.outstanding:
            yield "what is outstanding is not what the log says"
        if {(claim.loop, claim.n, claim.k): claim for claim in log.claims()} != views.claims:
            yield "the claims are not what the log says"


def blobs_lost(database: str, ledger: Ledger) -> Iterator[str]:
    """Every blob that was put is there, byte for byte."""
    with closing(Log(database)) as log:
        yield from (f"blob {sha} is lost" for sha, content in ledger.blobs.copy().items() if log.blob(sha) != content)
