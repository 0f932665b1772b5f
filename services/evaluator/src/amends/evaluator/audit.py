"""The audit of a log: every invariant of the design asserted over all of it, while it may go on being written.

Each violation is named with its position and a remedy. One pass reads the events, and the projections are compared with
what that pass rebuilt. The mirror (I6) is `audit_mirror`'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from amends.common.envelope import Gist, Row, UnknownFactError, event_of
from amends.common.log import BlobDamaged, Log
from amends.evaluator.batch import blobs_of
from amends.evaluator.decider import decide
from amends.evaluator.invariants import Invariant, Violation, Walk, legible
from amends.evaluator.replay import Rebuilt
from amends.evaluator.verify import Difference, Kept, differences

PAGE = 2_000
NAMING = frozenset({"comments.fetched", "fix.prepared", "fix.failed", "push.refused"})  # what blobs_of looks into
EVERYTHING = 2**31 - 1
SHOWN = 50  # violations of one invariant that are kept; all are counted
ROUNDS = 20  # looks at loops that move while they are looked at
REPORT = "report it as a bug, with this line"


@dataclass
class Audit:
    """What was looked at, and what is wrong. `notes` are no violations: what somebody should know all the same."""

    events: int = 0
    loops: int = 0
    blobs: int = 0
    mirrored: int = 0
    digest: str = ""
    counts: Counter[Invariant] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def found(self, violations: Iterable[Violation]) -> None:
        """Count them all, and keep the first of each kind."""
        for violation in violations:
            self.counts[violation.invariant] += 1
            if self.counts[violation.invariant] <= SHOWN:
                self.violations.append(violation)


def audit(log: Log, *, deep: bool = False) -> Audit:
    """Everything but the mirror; `deep` also reads every blob that an event names."""
    result, walk, rebuilt = Audit(), Walk(), Rebuilt()
    head = log.head()
    for page in pages(log, 0, head.pos):
        for row in page:
            result.found(walk.step(row))
        legibles = list(filter(legible, page))
        rebuilt.further(legibles)
        result.found(_blobs(log, legibles, result, deep=deep))
    result.found(walk.end(head))
    result.found(_unguarded(log))
    result.events, result.loops, result.digest = walk.pos, len(rebuilt.versions), rebuilt.digest()
    result.found(_drift(difference) for difference in drifted(log, rebuilt))
    result.notes += _notes(rebuilt)
    return result


def pages(log: Log, after: int, upto: int | None = None) -> Iterator[list[Row]]:
    """The log's events behind a position, page by page."""
    while page := log.rows(after, PAGE, upto):
        yield page
        after = page[-1].pos


def events(log: Log, after: int = 0, upto: int | None = None) -> Iterator[Row]:
    """The same, one by one."""
    for page in pages(log, after, upto):
        yield from page


def gists(log: Log) -> Iterator[Gist]:
    """What a rebuild needs of all of them."""
    after = 0
    while page := log.gists(after, PAGE):
        yield from page
        after = page[-1].pos


def _unguarded(log: Log) -> Iterator[Violation]:
    for trigger in log.unguarded():
        remedy = "rows could have been changed unnoticed: compare with a backup, then make the trigger again"
        yield Violation("I4", None, f"the trigger {trigger} is missing", remedy)


def _blobs(log: Log, page: Iterable[Row], result: Audit, *, deep: bool) -> Iterator[Violation]:
    named = {sha: row.pos for row in page if row.type in NAMING for sha in _named(row)}
    stored = log.has_blobs(sorted(named))
    result.blobs += len(named)
    for sha, pos in named.items():
        if sha not in stored:
            yield Violation("blobs", pos, f"blob {sha} is missing", "restore it from a backup")
        elif deep and not _sound(log, sha):
            yield Violation("blobs", pos, f"blob {sha} is damaged", "restore it from a backup")


def _named(row: Row) -> list[str]:
    try:
        return blobs_of(event_of(row).fact)
    except (ValueError, LookupError, UnknownFactError):
        return []  # that it cannot be read is told by the fold


def _sound(log: Log, sha: str) -> bool:
    try:
        return log.blob(sha) is not None
    except BlobDamaged:
        return False


# --- projections -----------------------------------------------------------------------------------------------------


def drifted(log: Log, rebuilt: Rebuilt) -> list[Difference]:
    """Where the projections are not what the log says; `rebuilt` follows a log that goes on meanwhile."""
    found: list[Difference] = []
    among: set[str] | None = None
    for _ in range(ROUNDS):
        suspects = list(differences(rebuilt, _kept(log, rebuilt, among), among))
        moved: set[str] = set()
        for page in pages(log, rebuilt.pos):
            moved |= {row.loop for row in page}
            rebuilt.further(row for row in page if legible(row))
        found += [suspect for suspect in suspects if suspect.loop not in moved]
        among = {suspect.loop for suspect in suspects} & moved
        if not among:
            break
    return found


def _kept(log: Log, rebuilt: Rebuilt, among: Collection[str] | None) -> Kept:
    names = list(rebuilt.versions) if among is None else list(among)
    if among is None:
        names += [row.loop for row in log.loops(limit=EVERYTHING) if row.loop not in rebuilt.versions]
    rows = (row for name in names if (row := log.loop(name)))
    return Kept(rows, log.timers(limit=EVERYTHING), log.outstanding(), log.claims())


def _drift(difference: Difference) -> Violation:
    return Violation("I7", None, str(difference), REPORT)


def _notes(rebuilt: Rebuilt) -> Iterator[str]:
    for stuck in rebuilt.stuck.values():
        yield f"{stuck.loop.id} is stuck under {stuck.code}: its facts are safe, a newer version tries again"
    for trouble in rebuilt.unfolded.values():
        yield f"{trouble.loop} cannot be folded by this program: {trouble.error} at position {trouble.pos}"
    for name in rebuilt.versions:
        if name in rebuilt.stuck or name in rebuilt.unfolded:
            continue
        loop = rebuilt.loop(name)
        if facts := decide(loop, rebuilt.policy(loop)):
            more = ", ".join(fact.type for fact in facts)
            yield f"{name} rests at version {loop.version}, where this program decides {more}: was it changed since?"
