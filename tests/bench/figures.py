"""What is printed: medians over rounds, ratios, and loudly what was missed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from tests.bench.conversation import Measured


@dataclass
class Score:
    """Collects what was promised and not reached. `at_most` and `at_least` hold for the ratio that is named."""

    missed: list[str] = field(default_factory=list)

    def at_least(self, what: str, ratio: float, must: float, aim: float | None = None) -> None:
        """More is better."""
        self._say(what, ratio, ratio >= must, f"must be at least {must:g}", aim is None or ratio >= aim, aim)

    def at_most(self, what: str, ratio: float, must: float, aim: float | None = None) -> None:
        """Less is better."""
        self._say(what, ratio, ratio <= must, f"must be at most {must:g}", aim is None or ratio <= aim, aim)

    def _say(self, what: str, ratio: float, reached: bool, must: str, aimed: bool, aim: float | None) -> None:  # noqa: PLR0913, PLR0917
        goal = "" if aim is None else f", aim {aim:g}{' reached' if aimed else ''}"
        print(f"  {'ok    ' if reached else 'MISSED'} {what}: {ratio:.3g} ({must}{goal})", flush=True)
        if not reached:
            self.missed.append(f"{what}: {ratio:.3g} ({must})")


def title(text: str) -> None:
    """The heading of one comparison."""
    print(f"\n{text}", flush=True)


def row(name: str, durability: str, *cells: str) -> None:
    """One line of a table: who, with which durability, and the figures."""
    print(f"  {name:<26} {durability:<44} " + "  ".join(f"{cell:>16}" for cell in cells), flush=True)


def middle(rounds: Sequence[Measured], figure: Callable[[Measured], float]) -> float:
    """The median of one figure over all rounds."""
    return median(map(figure, rounds))


def pace(measured: Measured) -> float:
    """How many in a second."""
    return measured.count / measured.seconds


def effort(measured: Measured) -> float:
    """CPU seconds for one."""
    return measured.cpu / measured.count
