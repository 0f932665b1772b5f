"""What is followed: for whoever looks after GitHub and has no log."""

from __future__ import annotations

from typing import Protocol

from amends.common.answers import Followed
from amends.common.identity import INSTALLATION
from amends.common.rows import LoopRow
from amends.evaluator.projections import load

MOST_LOOPS = 10_000


class Loops(Protocol):
    """What is read of the log."""

    def loop(self, name: str) -> LoopRow | None: ...
    def loops(self, status: str | None = None, repo: str | None = None, *, limit: int = 500) -> list[LoopRow]: ...


def followed(shelf: Loops) -> list[Followed]:
    """The repositories that the installation lists, each with its pull requests that are not over in the log."""
    installation = shelf.loop(INSTALLATION)
    listed = load(installation.state).rules.repositories if installation else None
    return [_of(full_name, shelf.loops(repo=full_name, limit=MOST_LOOPS)) for full_name in dict.fromkeys(listed or ())]


def _of(full_name: str, rows: list[LoopRow]) -> Followed:
    repo = next((row.repo for row in rows if row.number is not None), None)
    numbers = {row.number for row in rows if row.number is not None and row.repo == repo and row.status != "done"}
    return Followed(full_name=full_name, repo=repo, numbers=tuple(sorted(numbers)))
