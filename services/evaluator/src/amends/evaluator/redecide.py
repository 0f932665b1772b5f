"""What another policy would have decided on the same facts: the log is folded again, and at every fact both are asked.

The other policy is the recorded one with a change of the installation's layer on top, in force from the beginning. Of
each loop only the first decision that differs is told: what would have happened after it is not in the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from amends.common.envelope import Event, Row, event_of
from amends.common.events import AnyFact, Decided, FixRequested, LoopStuck, TimerFired
from amends.common.frozen import replace
from amends.common.identity import INSTALLATION, kind_of, policy_loop
from amends.common.loop import Loop, evolve
from amends.common.policy import Overrides, Policy, merged
from amends.common.standing import Timer, policy_for, timers
from amends.evaluator.decider import decide
from amends.evaluator.divergence import Divergence, essence, told

MOST = 16  # decisions for one fact
UNTIMED = frozenset({"wake", "unstick"})  # no policy says when these are due


@dataclass
class Redecided:
    """How much was looked at, and where the two policies part, in the order of the log."""

    events: int = 0
    decisions: int = 0
    loops: int = 0
    divergences: list[Divergence] = field(default_factory=list)


def redecide(rows: Iterable[Row], overrides: Overrides) -> Redecided:
    """Every loop's first decision that would have been another one."""
    result, both, end = Redecided(), _Both(overrides), 0
    for event, decisions in _turns(rows):
        result.events += 1 + len(decisions)
        result.decisions += len(decisions)
        result.divergences += both.follow(event, decisions)
        end = event.time
    result.divergences += both.over_by(end)
    result.divergences.sort(key=lambda divergence: (divergence.time, divergence.pos))
    result.loops = len(both.pairs)
    return result


def _turns(rows: Iterable[Row]) -> Iterator[tuple[Event, list[Event]]]:
    """Each fact with the decisions that were recorded with it."""
    fact: Event | None = None
    decisions: list[Event] = []
    for event in map(event_of, rows):
        if fact and not event.fact.by and (event.loop, event.cause) == (fact.loop, fact.pos):
            decisions.append(event)
            continue
        if fact:
            yield fact, decisions
        fact, decisions = event, []
    if fact:
        yield fact, decisions


@dataclass(frozen=True)
class _Pair:
    """A loop as it was and as it would have been, and the waits that only the other policy has; or they have parted."""

    real: Loop
    other: Loop
    waits: tuple[Timer, ...] = ()
    parted: bool = False


class _Both:
    """All loops under both policies, for as long as they go the same way."""

    def __init__(self, overrides: Overrides) -> None:
        self.pairs: dict[str, _Pair] = {}
        self._overrides = overrides
        self._settings: dict[str, Loop] = {}
        self._policies: dict[tuple[str, str], tuple[Policy, Policy]] = {}

    def follow(self, event: Event, decisions: Sequence[Event]) -> list[Divergence]:
        """Fold one fact and what was decided on it; where that differs, answer how."""
        name = event.loop
        if kind_of(name) != "change":
            self._settle(name, (event, *decisions))
            return []
        pair = self.pairs.get(name) or _Pair(Loop(name), Loop(name))
        if pair.parted:
            return []
        found: list[Divergence] = []
        if not any(isinstance(decision.fact, LoopStuck) for decision in decisions):
            self.pairs[name], found = self._compared(pair, event, decisions)
            if not found:
                return []
        self.pairs[name] = _Pair(Loop(name), Loop(name), parted=True)
        return found

    def over_by(self, end: int) -> Iterator[Divergence]:
        """What the other policy alone would have done before the end of the log, in loops where nothing came after."""
        for pair in self.pairs.values():
            yield from self._sooner(pair, end)

    def _compared(self, pair: _Pair, event: Event, decisions: Sequence[Event]) -> tuple[_Pair, list[Divergence]]:
        try:
            found = self._sooner(pair, event.time) or self._later(pair, event, decisions)
            return (pair, found) if found else self._together(pair, event, decisions)
        except Exception as error:  # noqa: BLE001 - our own code fails here, which is an answer too
            recorded = told([decision.fact for decision in decisions], ())
            failed = (f"fails with {type(error).__name__}",)
            return pair, [Divergence(event.loop, event.pos, event.time, event.type, recorded, failed)]

    def _settle(self, name: str, events: Iterable[Event]) -> None:
        loop = self._settings.get(name) or Loop(name)
        for event in events:
            loop = evolve(loop, event)
        self._settings[name] = loop
        self._policies.clear()

    # --- waits -----------------------------------------------------------------------------------------------------

    def _sooner(self, pair: _Pair, now: int) -> list[Divergence]:
        """What the other policy decides because a wait of its own is over before anything else came."""
        for timer in pair.waits:
            if timer.due >= now:
                break
            fired = TimerFired(name=timer.name, generation=timer.generation)
            if said := self._said(evolve(pair.other, _imagined(pair.other, fired, timer.due))):
                over = f"{timer.name} is over"
                return [Divergence(pair.real.id, pair.real.pos, timer.due, over, (), told(said, ()))]
        return []

    def _later(self, pair: _Pair, event: Event, decisions: Sequence[Event]) -> list[Divergence]:
        """What was decided because a wait was over that the other policy does not have, or not yet."""
        if not decisions or self._expects(pair.other, event):
            return []
        recorded = told([decision.fact for decision in decisions], ())
        return [Divergence(event.loop, event.pos, event.time, event.type, recorded, ())]

    def _expects(self, loop: Loop, event: Event) -> bool:
        fact = event.fact
        if not isinstance(fact, TimerFired) or event.actor or fact.name in UNTIMED:
            return True
        return any(
            (timer.name, timer.generation) == (fact.name, fact.generation) and timer.due <= event.time
            for timer in timers(loop, self._policy(loop)[1])
        )

    # --- decisions -------------------------------------------------------------------------------------------------

    def _together(self, pair: _Pair, event: Event, decisions: Sequence[Event]) -> tuple[_Pair, list[Divergence]]:
        other = evolve(pair.other, event) if self._expects(pair.other, event) else pair.other
        real = evolve(pair.real, event)
        left = list(decisions)
        while said := decide(other, self._policy(other)[1]):
            recorded = left[: len(said)]
            if list(map(essence, said)) != [essence(each.fact) for each in recorded]:
                break
            for each in recorded:
                real, other = evolve(real, each), evolve(other, _under(each, self._policy(other)[1]))
            left = left[len(said) :]
        if said or left:
            mine, theirs = [each.fact for each in left], self._said(other)
            words = told(mine, theirs), told(theirs, mine)
            return pair, [Divergence(event.loop, event.pos, event.time, event.type, *words)]
        waits = set(timers(other, self._policy(other)[1])) - set(timers(real, self._policy(real)[0]))
        return _Pair(real, other, tuple(sorted(waits, key=lambda timer: timer.due))), []

    def _said(self, loop: Loop) -> list[Decided]:
        """All that the other policy decides here, one after the other."""
        found: list[Decided] = []
        while len(found) < MOST and (said := decide(loop, self._policy(loop)[1])):
            for fact in said:
                loop = evolve(loop, _imagined(loop, fact, loop.time))
            found += said
        return found

    def _policy(self, loop: Loop) -> tuple[Policy, Policy]:
        """The recorded policy and the other one, as of now."""
        repository = self._settings.get(policy_loop(loop.id)) or Loop("")
        about = (repository.id, loop.pull.full_name if loop.pull else "")
        if about not in self._policies:
            then = self._settings.get(INSTALLATION) or Loop(INSTALLATION)
            now = replace(then, rules=merged(then.rules, self._overrides))
            self._policies[about] = policy_for(loop, then, repository), policy_for(loop, now, repository)
        return self._policies[about]


def _imagined(loop: Loop, fact: AnyFact, time: int) -> Event:
    return Event(loop.pos, loop.id, loop.version + 1, fact.key, time, "evaluator", "", None, "", fact)


def _under(event: Event, rules: Policy) -> Event:
    """A request as it would have been made under the other policy: its rules hold for the whole cycle."""
    if not isinstance(event.fact, FixRequested):
        return event
    return event._replace(fact=event.fact.model_copy(update={"rules": rules}))
