"""What was read of pull requests before. Nothing is believed that the next reading does not confirm."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from amends.common.github.models import ReviewComment
from amends.common.identity import PullId

MOST_COMMENTS = 20_000


@dataclass(frozen=True)
class Kept:
    """Where the pages of its lists began, how many pages of comments there were, and the comments."""

    cursors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pages: int = 1
    bodies: Mapping[int, ReviewComment] = field(default_factory=dict)


class Memory:
    """The pull requests that were read last, as many as have room."""

    def __init__(self, most: int = MOST_COMMENTS) -> None:
        self._most = most
        self._kept: OrderedDict[PullId, Kept] = OrderedDict()
        self._size = 0

    def get(self, of: PullId) -> Kept:
        """What is remembered of it; nothing, when it was never read."""
        if of in self._kept:
            self._kept.move_to_end(of)
        return self._kept.get(of, Kept())

    def keep(self, of: PullId, kept: Kept) -> None:
        """Remember it instead of what was known before; what was not looked at for longest goes."""
        self.drop(of)
        self._kept[of] = kept
        self._size += _weight(kept)
        while self._size > self._most and len(self._kept) > 1:
            self._size -= _weight(self._kept.popitem(last=False)[1])

    def drop(self, of: PullId) -> None:
        """Begin anew with it."""
        if (old := self._kept.pop(of, None)) is not None:
            self._size -= _weight(old)


def _weight(kept: Kept) -> int:
    return 1 + len(kept.bodies)
