"""Which checks have failed. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from amends.comment_fetcher.shapes import CheckSeen
from amends.common.github.sightings import FAILED


def failing(checks: Sequence[CheckSeen]) -> list[CheckSeen]:
    """Those that have failed, by the latest run of each name."""
    latest: dict[str, CheckSeen] = {}
    for check in sorted(checks, key=_dated):
        if check.called and check.ended:
            latest[check.called] = check
    return [check for check in latest.values() if check.ended.lower() in FAILED]


def _dated(check: CheckSeen) -> float:
    at = check.completed_at or check.created_at
    return at.timestamp() if at else 0.0
