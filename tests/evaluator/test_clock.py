"""What the clock does about a timer that is not taken."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace

import pytest

from amends.common.answers import Answer, Recorded, Refused, Report, Unavailable
from amends.common.identity import About
from amends.common.rows import LoopRow, TimerRow
from amends.common.standing import SECOND
from amends.evaluator import clock
from amends.evaluator.clock import LONGEST_PAUSE, Clock
from tests.support.asynchronous import asynchronous
from tests.support.facts import FULL_NAME, TOM, approved, believed, observed, policy_changed, rejected
from tests.support.scribe import Scribe, scribe


class Tomorrow:
    """A log, read a day later: everything is due."""

    def __init__(self, one: Scribe) -> None:
        self._log = one.log

    def now(self) -> int:
        return self._log.now() + 86_400 * SECOND

    def timers(self, due_before: int | None = None, limit: int = 500) -> list[TimerRow]:
        return self._log.timers(due_before, limit)

    def loop(self, name: str) -> LoopRow | None:
        return self._log.loop(name)

    def blocked(self) -> Sequence[str]:
        return self._log.blocked()

    def stuck(self, other_than: str) -> Sequence[str]:
        return self._log.stuck(other_than)


class Asked:
    """Reports through the scribe's recorder, and remembers when which answer came; or there is no recorder."""

    def __init__(self, one: Scribe) -> None:
        self._one = one
        self.away = False
        self.answers: list[Answer] = []

    async def report(self, service: str, report: Report) -> Answer:
        answer: Answer = Unavailable("away")
        if not self.away:
            answer = self._one.submit(service, report)
        self.answers.append(answer)
        return answer


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock's own time, which stands still until it is changed."""
    now = [1_000.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def settling(one: Scribe) -> None:
    """Somebody asked for changes."""
    one.tell(policy_changed("first", repositories=[FULL_NAME]), observed(), *believed(rejected()))
    assert [timer.name for timer in one.log.timers()] == ["settle/1"]


async def looks(over: Clock, seconds: list[float], asked: Asked, for_: float) -> list[float]:
    """The seconds after which it asked, while it looked every half second."""
    began, found = seconds[0], []
    while seconds[0] < began + for_:
        before = len(asked.answers)
        await over.once()
        found += [seconds[0] - began] * (len(asked.answers) - before)
        seconds[0] += 0.5
    return found


def refusals(asked: Asked) -> set[str]:
    return {answer.reason for answer in asked.answers if isinstance(answer, Refused)}


@asynchronous
async def test_a_timer_that_a_change_of_policy_took_away_is_tried_ever_more_rarely(
    sqlite_url: str, seconds: list[float]
) -> None:
    with scribe(sqlite_url) as one:
        settling(one)
        one.tell(policy_changed("second", repositories=[]))
        asked = Asked(one)
        tried = await looks(Clock(Tomorrow(one), asked, "1.0"), seconds, asked, 300)
    assert refusals(asked) == {"superseded"}
    assert len(asked.answers) == len(tried)
    pauses = [later - sooner for sooner, later in pairwise(tried)]
    assert pauses == [1, 2, 4, 8, 16, 32, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]


@asynchronous
async def test_what_cannot_be_fired_keeps_nothing_behind_it_from_being_fired(
    sqlite_url: str, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "AT_ONCE", 1)
    with scribe(sqlite_url) as one:
        settling(one)
        one.tell(policy_changed("second", repositories=["octo/till"]))
        one.tell(observed(full_name="octo/till", head_repo=2), *believed(rejected()), about=About(repo=2, number=1))
        asked = Asked(one)
        await looks(Clock(Tomorrow(one), asked, "1.0"), seconds, asked, 2)
    assert refusals(asked) == {"superseded", "busy"}  # the second is too early, by the recorder's own clock


@asynchronous
async def test_a_deadline_that_waits_for_the_grace_keeps_nothing_behind_it_from_being_fired(
    sqlite_url: str, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "AT_ONCE", 1)
    with scribe(sqlite_url) as one:
        one.tell(policy_changed("first", repositories=[FULL_NAME], waits={"author_seconds": 1}))
        one.tell(observed(), *believed(rejected()), approved(9, TOM))
        assert [timer.deadline for timer in one.log.timers()] == [True, False]
        asked = Asked(one)
        await looks(Clock(Tomorrow(one), asked, "1.0"), seconds, asked, 2)
    assert refusals(asked) == {"busy"}


@asynchronous
async def test_a_log_that_is_away_is_tried_every_second(sqlite_url: str, seconds: list[float]) -> None:
    with scribe(sqlite_url) as one:
        settling(one)
        asked = Asked(one)
        over = Clock(Tomorrow(one), asked, "1.0")
        asked.away = True
        assert await looks(over, seconds, asked, 5) == [0, 1, 2, 3, 4]
        asked.away = False
        assert await looks(over, seconds, asked, 1) == [0]
    assert isinstance(asked.answers[-1], Refused | Recorded)
