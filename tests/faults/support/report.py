"""What the fault tests found, as a table at the end of the run."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.faults.support.checks import Findings

HEADS = ("fault", "where", "times", "events", "answered", "mirrored", "lost", "gaps", "doubled", "differing", "other")


@dataclass(frozen=True)
class Line:
    """One kind of fault, how often it happened, and what was found afterwards."""

    fault: str
    where: str
    times: int
    found: Findings

    def cells(self) -> tuple[str, ...]:
        """As it is printed."""
        found = self.found
        wrong = (found.lost, found.gaps, found.doubled, found.differing, found.other)
        counts = (self.times, found.events, found.acknowledged, found.mirrored, *map(len, wrong))
        return (self.fault, self.where, *(f"{count:,}" for count in counts))


LINES: list[Line] = []


def write_table(terminal: pytest.TerminalReporter) -> None:
    """Once, whoever asks first."""
    if LINES:
        terminal.section("faults")
        for line in table():
            terminal.write_line(line)
        LINES.clear()


def table() -> list[str]:
    """All lines, and what they come to."""
    total = f"{sum(line.times for line in LINES):,}"
    cells = [HEADS, *(line.cells() for line in LINES), ("all", "", total, *[""] * 8)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(_aligned, row, widths, range(len(row)))).rstrip() for row in cells]


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column < 2 else cell.rjust(width)
