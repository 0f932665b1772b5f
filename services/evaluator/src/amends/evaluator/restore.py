"""A log restored from an older copy gets its end back from the mirror: all in one transaction, or nothing."""

from __future__ import annotations

from dataclasses import dataclass

from amends.common.envelope import VOCABULARY, Row, event_of
from amends.common.log import Head, Log
from amends.evaluator.audit import gists
from amends.evaluator.batch import blobs_of
from amends.evaluator.code import CODE
from amends.evaluator.refresh import store
from amends.evaluator.replay import Rebuilt
from amends.evaluator.tail import Mirror, NoTailError, tail
from amends.evaluator.writer import Writer


@dataclass(frozen=True)
class Imported:
    """How many events came back, where the log ends now, and the blobs that did not come with them."""

    events: int
    pos: int
    missing: frozenset[str]


async def import_tail(log: Log, writer: Writer, mirror: Mirror) -> Imported:
    """Append what only the mirror still has, with the projections that follow from it."""
    head = log.head()
    rows = await tail(mirror, head)
    if not rows:
        return Imported(0, head.pos, frozenset())
    rebuilt = Rebuilt().further(gists(log)).further(rows)
    unknown = [each for each in rebuilt.unfolded.values() if each.pos > head.pos and each.error == "UnknownFactError"]
    if unknown:
        raise NoTailError(f"the mirror's event at position {unknown[0].pos} is newer than this program: upgrade amends")
    with writer.transaction() as tx:
        if tx.head != head:
            raise NoTailError("somebody writes to this log: stop every evaluator first")
        tx.append(rows)
        store(tx, rebuilt, dict.fromkeys(row.loop for row in rows))
        last = rows[-1]
        tx.advance(Head(last.pos, last.hash, last.time, head.epoch, max(head.vocabulary, VOCABULARY), CODE))
    return Imported(len(rows), rows[-1].pos, _missing(log, rows))


def _missing(log: Log, rows: list[Row]) -> frozenset[str]:
    named = {sha for row in rows for sha in blobs_of(event_of(row).fact)}
    return frozenset(named - log.has_blobs(sorted(named)))
