"""What the API does not show yet: replicas that are behind, for a counted number of reads."""

from __future__ import annotations

from collections import Counter


class Lag:
    """Each entry is used up by reading, never by time, so that a test needs no clock."""

    def __init__(self) -> None:
        self._hidden: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._stale: dict[str, tuple[str, int]] = {}
        self._unmerged: Counter[str] = Counter()
        # How many list reads something new stays invisible for.
        self.new = 0

    def hide(self, node: str, reads: int = 1) -> None:
        """Leave a review or a comment out of lists."""
        self._hidden[node] += reads

    def lose(self, node: str, reads: int = 1) -> None:
        """Answer 404 for a pull request that a webhook has already told of."""
        self._missing[node] += reads

    def stale_head(self, node: str, head: str, reads: int = 1) -> None:
        """Show an earlier head of a pull request."""
        self._stale[node] = (head, reads)

    def unknown_mergeable(self, node: str, reads: int = 1) -> None:
        """Show `mergeable` as not computed yet."""
        self._unmerged[node] += reads

    def created(self, node: str) -> None:
        if self.new:
            self.hide(node, self.new)

    def hidden(self, node: str) -> bool:
        return _used(self._hidden, node)

    def missing(self, node: str) -> bool:
        return _used(self._missing, node)

    def unmerged(self, node: str) -> bool:
        return _used(self._unmerged, node)

    def head(self, node: str, real: str) -> str:
        head, reads = self._stale.get(node, (real, 0))
        if reads <= 0:
            self._stale.pop(node, None)
            return real
        self._stale[node] = (head, reads - 1)
        return head


def _used(counter: Counter[str], node: str) -> bool:
    if counter[node] <= 0:
        counter.pop(node, None)
        return False
    counter[node] -= 1
    return True
