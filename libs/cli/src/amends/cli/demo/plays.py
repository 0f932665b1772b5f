"""What people do in the demo, and what they wait for in between: two plays, told by what the log says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from amends.cli.demo.scene import DISCOUNTS, RECEIPTS
from amends.common.events import Notified

if TYPE_CHECKING:
    from amends.cli.demo.scene import Scene
    from amends.common.envelope import Event


ASKED = "review.requested, and told"  # the reviewer knows of it


class Until(NamedTuple):
    """As many facts of a type as have to be there; or the loop waits for a human, which ends the play."""

    type: str
    times: int = 1


Play = Iterator[Until]


def satisfied(scene: Scene) -> Play:
    """#1: rejected twice, then approved."""
    scene.discounts()
    scene.bob_asks_for_changes()
    yield Until(ASKED, 1)
    scene.bob_is_not_satisfied_yet()
    yield Until(ASKED, 2)
    scene.bob_approves()
    yield Until("loop.finished")


def never_satisfied(scene: Scene) -> Play:
    """#2: rejected more often than the policy has cycles."""
    scene.receipts()
    scene.dora_finds_the_first()
    yield Until(ASKED, 1)
    scene.dora_finds_the_second()
    yield Until(ASKED, 2)
    scene.dora_finds_a_third()
    yield Until("escalated")


PLAYS: dict[int, Callable[[Scene], Play]] = {DISCOUNTS: satisfied, RECEIPTS: never_satisfied}


class Performance:
    """A play as far as it has come."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._awaited: Until | None = None
        self._seen: Counter[str] = Counter()
        self._types: dict[int, str] = {}
        self.over = False

    def begin(self) -> None:
        """The first scene."""
        self._awaited = next(self._play)

    def see(self, event: Event) -> None:
        """Note what happened; what people wait for lets them go on."""
        self._types[event.pos] = event.type
        told = isinstance(event.fact, Notified) and self._types.get(event.fact.of) == "review.requested"
        self._seen[ASKED if told else event.type] += 1
        if self.over or self._awaited is None:
            return
        if self._seen[self._awaited.type] >= self._awaited.times:
            self._awaited = next(self._play, None)
            self.over = self._awaited is None
        elif event.type == "escalated":
            self.over = True
