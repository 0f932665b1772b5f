"""How a push ended, by what git says of it."""

from __future__ import annotations

from dataclasses import dataclass

from amends.common.git.process import Done


@dataclass(frozen=True)
class Pushed:
    """The branch is at the commit now."""


@dataclass(frozen=True)
class Moved:
    """The branch is not where it was expected, or not there: nothing was written."""

    detail: str


@dataclass(frozen=True)
class Rejected:
    """The other side does not take it."""

    detail: str


@dataclass(frozen=True)
class Unknown:
    """It was not heard what became of it: look before doing anything else."""

    detail: str


Push = Pushed | Moved | Rejected | Unknown
_STALE = ("(stale info)", "(fetch first)", "(non-fast-forward)", "(remote ref updated since checkout)")


def outcome(done: Done) -> Push:
    """What became of it."""
    said = done.out.decode(errors="replace")
    words = f"{said}\n{done.err.decode(errors='replace')}".strip()[-1_000:]
    ref = next((line for line in said.splitlines() if line[:1] in {"!", "=", " ", "+", "*"} and "\t" in line), "")
    if done.code == 0 and ref[:1] in {" ", "="}:
        return Pushed()
    if any(mark in ref for mark in _STALE):
        return Moved(ref.rpartition("\t")[2])
    if "[remote rejected]" in ref or "[rejected]" in ref:
        return Rejected(words)
    return Unknown(words)
