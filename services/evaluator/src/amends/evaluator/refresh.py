"""Views that an older program kept are folded again from the log before this one goes on with them."""

from __future__ import annotations

from collections.abc import Iterable

from amends.common.envelope import VOCABULARY
from amends.common.log import Log
from amends.evaluator.audit import gists
from amends.evaluator.code import CODE
from amends.evaluator.replay import Rebuilt
from amends.evaluator.writer import Tx, Writer


def refresh(log: Log, writer: Writer) -> int:
    """Rebuild all views if another version of the code wrote last; answers how many loops that were."""
    head = log.head()
    if not head.pos or head.code == CODE or head.vocabulary > VOCABULARY:
        return 0
    rebuilt = Rebuilt().further(gists(log))
    with writer.transaction() as tx:
        rebuilt.further(log.rows(head.pos, limit=tx.head.pos - head.pos) if tx.head.pos > head.pos else [])
        names = list(rebuilt.versions)
        store(tx, rebuilt, names)
        tx.advance(tx.head._replace(vocabulary=max(tx.head.vocabulary, VOCABULARY), code=CODE))
    return len(names)


def store(tx: Tx, rebuilt: Rebuilt, names: Iterable[str]) -> None:
    """Keep what was rebuilt of these loops."""
    projections = {name: rebuilt.projection(name) for name in names}
    tx.save(
        [projection.row for projection in projections.values()],
        {name: projection.timers for name, projection in projections.items()},
        {name: projection.outstanding for name, projection in projections.items()},
        [claim for name in projections for claim in rebuilt.claims(name)],
    )
