"""Rate limits: points per hour, and the secondary ones that bind writers first."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import Literal

from amends.doubles.github.clock import Clock
from amends.doubles.github.refusal import Json, Refused

_HOUR, _MINUTE = 3_600, 60
SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. If you reach out to "
    "GitHub Support for help, please include the request ID."
)
Resource = Literal["core", "graphql"]


@dataclass
class Bucket:
    """One caller's points for one resource in the current hour."""

    reset: float
    used: int = 0


@dataclass
class Limits:
    """`per_hour` always counts. What is None is not enforced: most stories are about something else."""

    clock: Clock
    per_hour: int = 5_000
    anonymous_per_hour: int = 60
    content_per_minute: int | None = None
    content_per_hour: int | None = None
    points_per_minute: int | None = None
    concurrent: int | None = None
    retry_after: int | None = 60
    status: int = 403
    _empty_until: float = 0.0
    _buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict)
    _under_way: Counter[str] = field(default_factory=Counter)
    _written: dict[str, deque[float]] = field(default_factory=lambda: defaultdict(deque))
    _points: dict[str, deque[tuple[float, int]]] = field(default_factory=lambda: defaultdict(deque))

    def exhaust(self, who: str | None = None) -> None:
        """Use up everybody's points, or one caller's, until the hour is over."""
        for (name, _), bucket in self._buckets.items():
            if who in {None, name}:
                bucket.used = 10**9
        if who is None:
            self._empty_until = self.clock.now().timestamp() + _HOUR

    def take(self, who: str, resource: Resource, points: int = 1) -> None:
        bucket = self._bucket(who, resource)
        limit = self._limit(who)
        exhausted = self.clock.now().timestamp() < self._empty_until
        if exhausted or bucket.used + points > limit:
            bucket.used = max(bucket.used, limit)
            raise Refused(self.status, f"API rate limit exceeded for {who}.", headers=self.headers(who, resource))
        bucket.used += points

    def give_back(self, who: str, resource: Resource) -> None:
        """A 304 is free."""
        self._bucket(who, resource).used -= 1

    def take_burst(self, who: str, points: int, *, writes: bool) -> None:
        """The secondary limits, within the last minute and hour."""
        now = self.clock.now().timestamp()
        if writes:
            written = self._written[who]
            while written and written[0] <= now - _HOUR:
                written.popleft()
            minute = sum(at > now - _MINUTE for at in written)
            self._check(minute, self.content_per_minute)
            self._check(len(written), self.content_per_hour)
            written.append(now)
        spent = self._points[who]
        while spent and spent[0][0] <= now - _MINUTE:
            spent.popleft()
        self._check(sum(each for _, each in spent) + points - 1, self.points_per_minute)
        spent.append((now, points))

    def _check(self, so_far: int, limit: int | None) -> None:
        if limit is not None and so_far >= limit:
            raise self.secondary()

    def enter(self, who: str) -> bool:
        """One more request under way; whether that is too many at once."""
        self._under_way[who] += 1
        return self.concurrent is not None and self._under_way[who] > self.concurrent

    def leave(self, who: str) -> None:
        self._under_way[who] -= 1

    def secondary(self) -> Refused:
        headers = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        return Refused(self.status, SECONDARY, headers=headers)

    def headers(self, who: str, resource: Resource) -> dict[str, str]:
        shown = self.shown(who, resource)
        return {f"x-ratelimit-{name}": str(shown[name]) for name in ("limit", "remaining", "reset", "used", "resource")}

    def shown(self, who: str, resource: Resource) -> Json:
        bucket, limit = self._bucket(who, resource), self._limit(who)
        used = min(bucket.used, limit)
        return {
            "limit": limit,
            "used": used,
            "remaining": limit - used,
            "reset": int(bucket.reset),
            "resource": resource,
        }

    def _limit(self, who: str) -> int:
        return self.per_hour if " ID " in who else self.anonymous_per_hour

    def _bucket(self, who: str, resource: str) -> Bucket:
        now = self.clock.now().timestamp()
        bucket = self._buckets.get((who, resource))
        if bucket is None or bucket.reset <= now:
            bucket = self._buckets[who, resource] = Bucket(now + _HOUR)
        return bucket
