"""What tokens cost, in millionths of a dollar, because no answer says it: as of 2026-11-18."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from amends.fixer.dialogue import Tokens


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens: read and said; and what writing to the cache and reading from it costs of that.

    `kept` is written for an hour.
    """

    fresh: float
    said: float
    written: float = 1.25
    read: float = 0.05
    kept: float = 2.0

    def of(self, tokens: Tokens) -> int:
        """Millionths of a dollar."""
        heard = tokens.fresh + tokens.written * self.written + tokens.read * self.read + tokens.kept * self.kept
        return ceil(heard * self.fresh + tokens.said * self.said)


_PRICES = {
    "claude-opus-5-5": Price(4, 20),
    "claude-sonnet-5-5": Price(2, 10),
    "claude-haiku-5-5": Price(0.10, 0.50, read=0.10),
}
_DEAREST = max(_PRICES.values(), key=lambda price: price.said)
KNOWN = tuple(_PRICES)
OTHER = "other"


def known(model: str) -> str:
    """The name under which a model is in the table, which is the beginning of its own."""
    return next((name for name in KNOWN if model.startswith(name)), OTHER)


def price(model: str) -> Price:
    """The price of a model; one that is not known costs as much as the dearest."""
    return _PRICES.get(known(model), _DEAREST)
