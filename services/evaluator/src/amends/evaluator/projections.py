"""The views that are kept beside the log, computed from a loop alone: its row, its timers, what it is owed, its claims.

They are written in the transaction of the events they follow from, and rebuilt from nothing they must come out equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from amends.common.loop import Loop, Phase, Spent
from amends.common.policy import Policy
from amends.common.rows import ClaimRow, LoopRow, OutstandingRow, TimerRow
from amends.common.standing import blocked, questions, requests, status, timers
from amends.common.state import dump

STALE = 8  # events after which a state is stored anew: whoever reads it folds the rest


class Kept(NamedTuple):
    """What is stored of a loop: its state's version, the repository's name beside it, and its waits and claims."""

    folded: int
    full_name: str
    timers: tuple[TimerRow, ...] = ()
    outstanding: tuple[OutstandingRow, ...] = ()
    claims: tuple[ClaimRow, ...] = ()


@dataclass(frozen=True)
class Projection:
    """All that is kept of one loop."""

    row: LoopRow
    timers: tuple[TimerRow, ...]
    outstanding: tuple[OutstandingRow, ...]
    claims: tuple[ClaimRow, ...]

    @property
    def kept(self) -> Kept:
        """It as it is remembered, without what the loop says itself."""
        return Kept(self.row.folded, self.row.full_name, self.timers, self.outstanding, self.claims)


def project(loop: Loop, policy: Policy, version: int, stuck: str = "", kept: Kept | None = None) -> Projection:
    """What is kept of a loop at `version`; of a stuck one the state is older than that.

    As long as the state that is `kept` of it is fresh enough, its state is left out.
    """
    pull = loop.pull
    full_name = pull.full_name if pull else ""
    fresh = kept is not None and not stuck and version - kept.folded < STALE and kept.full_name == full_name
    off = loop.kind == "installation" and bool(loop.paused or loop.fixing_off)
    repo, _, rest = loop.id.partition("-")
    row = LoopRow(
        loop=loop.id,
        version=version,
        pos=loop.pos,
        kind=loop.kind,
        repo=int(repo) if repo.isdigit() else None,
        number=int(rest.removeprefix("pr-")) if rest.startswith("pr-") else None,
        full_name=full_name,
        title=pull.title if pull else "",
        url=pull.url if pull else "",
        status="stuck" if stuck else status(loop, policy),
        n=loop.n,
        used=loop.used,
        human=bool(stuck) or ((loop.phase is Phase.STOPPED or bool(questions(loop, policy))) and not loop.finished),
        blocked="installation" if off or blocked(loop, policy) else "",
        updated=loop.time,
        stuck=stuck,
        folded=kept.folded if kept and fresh else loop.version,
        state=b"" if fresh else dump(loop),
    )
    waits = () if stuck else tuple(TimerRow(loop.id, *timer) for timer in timers(loop, policy))
    owed = tuple(OutstandingRow(pos, loop.id, service, due) for pos, service, due in requests(loop, policy))
    return Projection(row, waits, owed, claims(loop))


def claims(loop: Loop) -> tuple[ClaimRow, ...]:
    """The loop's latest claims."""
    return tuple(claimed(loop.id, step, claim) for step, claim in loop.claims.items())


def claimed(loop: str, step: str, claim: Spent) -> ClaimRow:
    """The claim of one attempt."""
    n, k = map(int, step.split("/"))
    return ClaimRow(loop, n, k, claim.holder, claim.run, claim.day, claim.live, claim.usd_micro)
