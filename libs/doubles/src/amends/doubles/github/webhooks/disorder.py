"""How deliveries go astray: lost, copied, late. GitHub promises neither order nor arrival, and redelivers nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass
class Mishap:
    """What happens to the next deliveries of an event; `event` may be a pattern, `pull_request_review*`."""

    event: str = "*"
    action: str = "*"
    times: int = 1
    lose: bool = False
    copies: int = 0
    new_ids: bool = False
    seconds: float = 0.0

    def meets(self, event: str, action: str) -> bool:
        return self.times > 0 and fnmatchcase(event, self.event) and fnmatchcase(action, self.action)


class Disorder:
    """Mishaps in the order they were asked for; each is used up."""

    def __init__(self) -> None:
        self._mishaps: list[Mishap] = []

    def add(self, mishap: Mishap) -> None:
        self._mishaps.append(mishap)

    def clear(self) -> None:
        self._mishaps.clear()

    def take(self, event: str, action: str) -> Mishap | None:
        for one in self._mishaps:
            if one.meets(event, action):
                one.times -= 1
                return one
        return None
