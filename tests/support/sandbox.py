"""A sandbox for tests, with bounds that are reached soon."""

from __future__ import annotations

from amends.fixer.bubblewrap import Bubblewrap, found
from amends.fixer.sandbox import MIB, Bounds

BOUNDS = Bounds(seconds=20, memory=512 * MIB, processes=60, file=32 * MIB, disk=48 * MIB, inodes=5_000, scratch=8 * MIB)


def sandbox(bounds: Bounds = BOUNDS) -> Bubblewrap:
    """Real walls."""
    return Bubblewrap(found(), bounds)
