"""A log told in a few lines: facts go in, the real decider answers, and everything is chained as it would be stored."""

from __future__ import annotations

from datetime import timedelta

from amends.common.envelope import GENESIS, Event, Row, row_of
from amends.common.events import AnyFact, PolicyChanged, PolicyObserved, TimerFired
from amends.common.identity import INSTALLATION, policy_loop
from amends.common.loop import EPOCH, Loop, evolve
from amends.common.policy import Overrides, Policy
from amends.common.standing import Timer, policy_for, timers
from amends.evaluator.decider import alarm, decide
from tests.support.examples import NOON

SECOND = 1_000_000
START = (NOON - EPOCH) // timedelta(microseconds=1)


class Story:
    """A log of loops; each fact is followed by what is decided about it, a second after the one before."""

    def __init__(self, loop: str = "1-pr-7") -> None:
        self.name = loop
        self.time = START
        self.events: list[Event] = []
        self.rows: list[Row] = []
        self.loops: dict[str, Loop] = {}

    @property
    def loop(self) -> Loop:
        return self.loops.get(self.name, Loop(self.name))

    @property
    def policy(self) -> Policy:
        return self._policy(self.loop)

    @property
    def recent(self) -> list[Event]:
        return [event for event in self.events if event.loop == self.name]

    def says(self, *facts: AnyFact, service: str = "") -> Story:
        """These are reported, one after the other."""
        for fact in facts:
            self.time += SECOND
            self._record(self._of(fact), fact, service or fact.by[0])
        return self

    def allows(self, **values: object) -> Story:
        """The installation's policy is changed."""
        number = sum(event.type == "policy.changed" for event in self.events)
        return self.says(PolicyChanged(request=f"panel-{number + 1}", values=Overrides.model_validate(values)))

    def waits(self, name: str) -> Story:
        """The loop's timer of this name comes due and fires."""
        timer = self.timer(name)
        self.time = max(self.time, timer.due)
        return self.says(TimerFired(name=timer.name, generation=timer.generation))

    def timer(self, name: str) -> Timer:
        return next(timer for timer in timers(self.loop, self.policy) if timer.name.startswith(name))

    def _of(self, fact: AnyFact) -> str:
        if isinstance(fact, PolicyObserved):
            return policy_loop(self.name)
        return INSTALLATION if isinstance(fact, PolicyChanged) else self.name

    def _policy(self, loop: Loop) -> Policy:
        repository = policy_loop(loop.id)
        return policy_for(
            loop, self.loops.get(INSTALLATION, Loop(INSTALLATION)), self.loops.get(repository, Loop(repository))
        )

    def _record(self, name: str, fact: AnyFact, source: str) -> None:
        self._append(name, fact, source, None)
        cause = self.events[-1].pos
        while decisions := decide(self.loops[name], self._policy(self.loops[name])):
            assert len(self.events) < cause + 16
            for decision in decisions:
                self._append(name, decision, "evaluator", cause)
        raised = alarm(self.loops[name], self._policy(self.loops[name]))
        if raised and name != INSTALLATION:
            self._append(INSTALLATION, raised, "evaluator", cause)

    def _append(self, name: str, fact: AnyFact, source: str, cause: int | None) -> None:
        before = self.loops.get(name, Loop(name))
        numbered = before.slots.get(fact.slot) if fact.slot else None
        key = f"{fact.key}/{numbered.n + 1 if numbered else 1}" if fact.slot else fact.key
        event = Event(
            pos=len(self.events) + 1, loop=name, version=before.version + 1, key=key, time=self.time, source=source,
            actor="", cause=cause, policy=self._policy(before).versions if cause else "", fact=fact,
        )  # fmt: skip
        self.events.append(event)
        self.rows.append(row_of(event, self.rows[-1].hash if self.rows else GENESIS))
        self.loops[name] = evolve(before, event)
