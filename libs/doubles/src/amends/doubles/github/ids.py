"""Numbers and node ids. Each kind has its own range, as on GitHub; comments and reviews no longer fit 32 bits."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections import Counter

_FIRST = {
    "user": 5_000_000,
    "app": 900_000,
    "installation": 60_000_000,
    "team": 8_000_000,
    "repository": 700_000_000,
    "issue": 2_600_000_000,
    "pull": 2_300_000_000,
    "review": 2_500_000_000,
    "comment": 2_200_000_000,
    "thread": 1_300_000_000,
    "issue_comment": 2_400_000_000,
    "label": 6_000_000_000,
    "status": 30_000_000_000,
    "check_run": 40_000_000_000,
    "check_suite": 35_000_000_000,
    "hook": 500_000_000,
    "delivery": 180_000_000_000,
    "reaction": 250_000_000,
    "milestone": 10_000_000,
}
_PREFIX = {
    "user": "U_kgDO",
    "bot": "BOT_kgDO",
    "organization": "O_kgDO",
    "app": "A_kwHO",
    "installation": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u",
    "team": "T_kwDO",
    "repository": "R_kgDO",
    "issue": "I_kwDO",
    "pull": "PR_kwDO",
    "review": "PRR_kwDO",
    "comment": "PRRC_kwDO",
    "thread": "PRRT_kwDO",
    "issue_comment": "IC_kwDO",
    "label": "LA_kwDO",
    "status": "SC_kwDO",
    "check_run": "CR_kwDO",
    "check_suite": "CS_kwDO",
    "reaction": "REA_lADO",
    "ref": "REF_kwDO",
    "commit": "C_kwDO",
    "request": "RRR_kwDO",
}


class Ids:
    """Counts within each kind, so that two runs of the same story have the same numbers."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def take(self, kind: str) -> int:
        self._taken[kind] += 1
        return _FIRST[kind] + self._taken[kind] * 7  # GitHub's ids ascend, and are no sequence


def node_id(kind: str, number: int | str) -> str:
    """The global id of something; opaque, as GitHub's are."""
    raw = number.to_bytes(6, "big") if isinstance(number, int) else number.encode()
    return _PREFIX[kind] + urlsafe_b64encode(raw).decode().rstrip("=")
