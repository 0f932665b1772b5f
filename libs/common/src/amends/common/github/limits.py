"""GitHub's rate limits: what an answer says of them, and a gate that turns callers away and never sleeps."""

from __future__ import annotations

import time
from asyncio import Semaphore
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from amends.common.github.errors import Limited

SHORTEST, LONGEST = 60.0, 3_600.0  # seconds to stay away when GitHub does not say how long
_AGAIN = 1.0  # GitHub's clock has whole seconds
_LIMITING = {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}
_WORDS = ("rate limit", "abuse detection")
Headers = Mapping[str, str]


@dataclass(frozen=True)
class Left:
    """How many requests of the hour are left, of how many."""

    remaining: int
    limit: int

    @property
    def share(self) -> float:
        """From 1 (all) to 0 (none)."""
        return self.remaining / self.limit if self.limit > 0 else 1.0


def is_limit(status: int, headers: Headers, body: bytes) -> bool:
    """Whether a refusal is a limit: both kinds come as 403 or 429, with and without headers that say so."""
    if status not in _LIMITING:
        return False
    if (
        status == HTTPStatus.TOO_MANY_REQUESTS
        or "retry-after" in headers
        or headers.get("x-ratelimit-remaining") == "0"
    ):
        return True
    said = body[:4_096].decode("utf-8", "replace").lower()
    return any(word in said for word in _WORDS)


def wait_said(headers: Headers) -> float | None:
    """For how many seconds GitHub wants to be left alone, by its own clock; None when it does not say."""
    if (said := headers.get("retry-after")) is not None:
        return _retry_after(said, headers)
    if headers.get("x-ratelimit-remaining") == "0" and (reset := headers.get("x-ratelimit-reset", "")).isdigit():
        return _bounded(int(reset) - github_time(headers) + _AGAIN)
    return None


def _retry_after(said: str, headers: Headers) -> float | None:
    if said.isdigit():
        return _bounded(float(said))
    when = _date(said)
    return None if when is None else _bounded(when - github_time(headers) + _AGAIN)


def _bounded(seconds: float) -> float:
    return min(max(seconds, _AGAIN), LONGEST)


def github_time(headers: Headers) -> float:
    """When GitHub answered by its own clock, or ours where it does not say."""
    said = _date(headers.get("date", ""))
    return time.time() if said is None else said


def _date(said: str) -> float | None:
    try:
        when = parsedate_to_datetime(said)
    except (ValueError, TypeError):
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def left(headers: Headers) -> Left | None:
    """What the answer says is left of the hour."""
    remaining, limit = headers.get("x-ratelimit-remaining", ""), headers.get("x-ratelimit-limit", "")
    return Left(int(remaining), int(limit)) if remaining.isdigit() and limit.isdigit() else None


class Gate:
    """For all requests under one account's limits: so many at once, and none while GitHub wants to be left alone."""

    def __init__(self, at_once: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._slots = Semaphore(at_once)
        self._clock = clock
        self._closed_until = 0.0
        self._in_a_row = 0
        self._left: dict[str, Left] = {}

    @asynccontextmanager
    async def passing(self) -> AsyncIterator[None]:
        """For the length of one request."""
        async with self._slots:
            self.check()
            yield

    def check(self) -> None:
        """Turn the caller away while it is closed."""
        wait = self._closed_until - self._clock()
        if wait > 0:
            raise Limited(wait, f"GitHub wants to be left alone for {wait:.0f} s more")

    def answered(self, headers: Headers) -> None:
        """Note what a good answer says is left."""
        self._in_a_row = 0
        if found := left(headers):
            self._left[headers.get("x-ratelimit-resource", "core")] = found

    def refused(self, headers: Headers) -> Limited:
        """Close after a limit; without a word from GitHub for a minute, then for longer and longer."""
        said = wait_said(headers)
        wait = min(SHORTEST * 2**self._in_a_row, LONGEST) if said is None else said
        if self._clock() >= self._closed_until:  # of several that were under way only the first lets it grow
            self._in_a_row += 1
        self._closed_until = max(self._closed_until, self._clock() + wait)
        return Limited(self._closed_until - self._clock(), f"GitHub limits us: again in {wait:.0f} s")

    @property
    def share(self) -> float:
        """How much of the hour's requests is left, of the scarcer kind."""
        return min((one.share for one in self._left.values()), default=1.0)
