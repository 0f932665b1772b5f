"""A loop told as the recorder would tell it, without I/O: given facts, when facts or time, then decisions.

    settling().after(30).then("fix.requested 1/1")

What was decided reads as one line each (`told`); that loops are opened goes without saying. Every step asserts what
no telling may break: no key is decided twice, no fact causes more than sixteen decisions, no timer is set again under
a generation that has fired.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from amends.common.envelope import Event
from amends.common.events import (
    AnyFact,
    Author,
    Change,
    CommandAccepted,
    CommandGiven,
    CommandRefused,
    CycleFinished,
    Escalated,
    Fact,
    FixRequested,
    Judgement,
    LoopFinished,
    LoopOpened,
    PolicyChanged,
    PolicyObserved,
    PrObserved,
    PushRequested,
    Request,
    ReviewRequested,
    TimerFired,
)
from amends.common.identity import INSTALLATION
from amends.common.loop import Loop, evolve, micros, snapshot_updated, snapshot_value
from amends.common.policy import Overrides, Policy, WaitsOverrides
from amends.common.standing import SECOND, blocked, policy_for, status, timers
from amends.evaluator.decider import alarm, decide
from tests.support.facts import (
    FULL_NAME,
    MARIA,
    NEXT,
    NOON,
    believed,
    fetched,
    item,
    observed,
    prepared,
    pushed,
    rejected,
    started,
    verdict,
)

CHANGE_LOOP, POLICY_LOOP = "1-pr-7", "1-policy"
MOST = 16
FactT = TypeVar("FactT", bound=Fact)


def told(fact: AnyFact) -> str:
    """A decision in one line."""
    match fact:
        case FixRequested() | PushRequested():
            return f"{fact.type} {fact.n}/{fact.k}" + _again(fact.again)
        case CycleFinished():
            parts = [fact.type, str(fact.n), fact.outcome, fact.reason, "used" * fact.used]
            return " ".join(filter(None, parts)) + _again(fact.again)
        case ReviewRequested():
            return f"{fact.type} of {', '.join(reviewer.login for reviewer in fact.reviewers)}" + _again(fact.again)
        case Escalated():
            return f"{fact.type} {fact.reason}" + _again(fact.again)
        case LoopFinished():
            return f"{fact.type} {fact.outcome}" + _again(fact.again)
        case CommandAccepted():
            return f"{fact.type} {fact.name}"
        case CommandRefused():
            return f"{fact.type} {fact.name} {fact.reason}"
        case _:
            return fact.type + (_again(fact.again) if isinstance(fact, Request) else "")


def _again(times: int) -> str:
    return f" again {times}" if times else ""


@dataclass
class Telling:
    """Three loops and their log: the change, its repository's policy, the installation."""

    loops: dict[str, Loop] = field(
        default_factory=lambda: {name: Loop(name) for name in (CHANGE_LOOP, POLICY_LOOP, INSTALLATION)}
    )
    events: list[Event] = field(default_factory=list)
    time: int = micros(NOON)
    keys: set[str] = field(default_factory=set)
    decided: list[str] = field(default_factory=list)
    already: int = 0
    waits: bool = False  # for the installation, as the projection last said

    # --- telling ---------------------------------------------------------------------------------------------------

    def when(self, *facts: AnyFact) -> Telling:
        """These facts are reported, one after the other, at this moment."""
        for fact in facts:
            self._report(fact)
        return self

    def installation(self, *facts: CommandGiven | PolicyChanged) -> Telling:
        """The same, about the whole installation."""
        for fact in facts:
            self._record(INSTALLATION, fact)
        return self

    def repository(self, *facts: CommandGiven | PolicyObserved) -> Telling:
        """The same, about the repository's policy."""
        for fact in facts:
            self._record(POLICY_LOOP, fact)
        return self

    def after(self, seconds: float) -> Telling:
        """Time goes by, and every timer that falls due in it fires."""
        until = self.time + round(seconds * SECOND)
        while due := self._next_due(until):
            self.time, name, fact = due
            key = f"{name}/{fact.key}"
            assert key not in self.keys, f"{key} has fired and is set again: it can never fire"
            self._record(name, fact)
        self.time = until
        return self

    def then(self, *expected: str) -> Telling:
        """Exactly this was decided since the last `then`."""
        assert self.decided == list(expected), f"decided: {self.decided}"
        self.decided.clear()
        return self

    def so_far(self) -> Telling:
        """What was decided so far is not of interest."""
        self.decided.clear()
        return self

    # --- looking ---------------------------------------------------------------------------------------------------

    @property
    def loop(self) -> Loop:
        return self.loops[CHANGE_LOOP]

    @property
    def policy(self) -> Policy:
        return self._policy(self.loop)

    @property
    def status(self) -> str:
        return status(self.loop, self.policy)

    def judgement(self, id_: str) -> Judgement | None:
        """The verdict on the version of the item that was collected last."""
        found = self.loop.items[id_]
        return found.verdicts.get(found.version)

    def last(self, cls: type[FactT]) -> FactT:
        """The newest fact of a kind, in any loop."""
        return next(event.fact for event in reversed(self.events) if isinstance(event.fact, cls))

    def folded(self, name: str = CHANGE_LOOP) -> Loop:
        """The loop, folded again from its log."""
        loop = Loop(name)
        for event in self.events:
            loop = evolve(loop, event) if event.loop == name else loop
        return loop

    # --- what the recorder does ------------------------------------------------------------------------------------

    def _policy(self, loop: Loop) -> Policy:
        repository = self.loops[POLICY_LOOP] if loop.kind == "change" else Loop("")
        return policy_for(loop, self.loops[INSTALLATION], repository)

    def _next_due(self, until: int) -> tuple[int, str, TimerFired] | None:
        due = [
            (max(timer.due, self.time), name, TimerFired(name=timer.name, generation=timer.generation))
            for name, loop in self.loops.items()
            for timer in timers(loop, self._policy(loop))
            if timer.due <= until
        ]
        return min(due, key=lambda one: one[0], default=None)

    def _report(self, fact: AnyFact) -> None:
        match fact:
            case PolicyChanged():
                self._record(INSTALLATION, fact)
            case PolicyObserved():
                self._record(POLICY_LOOP, fact)
            case _:
                self._record(CHANGE_LOOP, fact)

    def _record(self, name: str, fact: AnyFact) -> None:
        key = self._key(self.loops[name], fact)
        if key is None or f"{name}/{key}" in self.keys:
            self.already += 1
            return
        self._append(name, key, fact, cause=None)
        self._decide(name, cause=self.events[-1].pos)
        if name == CHANGE_LOOP:
            self.waits = blocked(self.loop, self.policy)
            if raised := alarm(self.loop, self.policy):
                self._append(INSTALLATION, raised.key, raised, cause=self.events[-1].pos)
                self._decide(INSTALLATION, cause=self.events[-1].pos)
        self._wake()

    def _wake(self) -> None:
        installation = self.loops[INSTALLATION]
        if self.waits and not (installation.paused or installation.fixing_off):
            self._record(CHANGE_LOOP, TimerFired(name="wake", generation=installation.version))

    def _key(self, loop: Loop, fact: AnyFact) -> str | None:
        """The fact's key; a snapshot gets the next number, and none when it says nothing new."""
        if not fact.slot:
            return fact.key
        slot = loop.slots.get(fact.slot)
        if slot is None:
            return f"{fact.key}/1"
        updated = snapshot_updated(fact)
        older = updated is not None and slot.updated is not None and updated < slot.updated
        dated_later = updated is not None and (slot.updated is None or updated > slot.updated)
        if older or (slot.value == snapshot_value(fact) and not dated_later):
            return None
        return f"{fact.key}/{slot.n + 1}"

    def _decide(self, name: str, cause: int) -> None:
        most = len(self.events) + MOST
        while facts := decide(self.loops[name], self._policy(self.loops[name])):
            for fact in facts:
                assert f"{name}/{fact.key}" not in self.keys, f"{fact.key} is decided twice"
                self._append(name, fact.key, fact, cause)
            assert len(self.events) <= most, f"more than {MOST} decisions: {self.decided[-MOST:]}"

    def _append(self, name: str, key: str, fact: AnyFact, cause: int | None) -> None:
        loop = self.loops[name]
        event = Event(
            pos=len(self.events) + 1, loop=name, version=loop.version + 1, key=key, time=self.time,
            source="test", actor="", cause=cause, policy="", fact=fact,
        )  # fmt: skip
        self.events.append(event)
        self.keys.add(f"{name}/{key}")
        self.loops[name] = evolve(loop, event)
        if not fact.by and not isinstance(fact, LoopOpened):
            self.decided.append(told(fact))


# --- beginnings ----------------------------------------------------------------------------------------------------


def given(*facts: AnyFact, pull: PrObserved | None = None, policy: Overrides | None = None) -> Telling:
    """The repository is listed, its pull request was seen, and these facts are recorded."""
    listed = Overrides(repositories=(FULL_NAME,), waits=WaitsOverrides(ci_seconds=0))
    telling = Telling().when(PolicyChanged(request="listed", values=listed))
    if policy:
        telling.when(PolicyChanged(request="given", values=policy))
    return telling.when(pull or observed(), *facts).so_far()


def settling(policy: Overrides | None = None) -> Telling:
    """Maria, who may write, has asked for changes."""
    return given(*believed(rejected()), policy=policy)


def collecting(policy: Overrides | None = None) -> Telling:
    """Her review was quiet for the settle window."""
    return settling(policy).after(30).so_far()


def fixing(policy: Overrides | None = None) -> Telling:
    """Her review was collected, and a fixer has claimed it."""
    return collecting(policy).when(fetched(item()), started()).so_far()


def pushing(policy: Overrides | None = None) -> Telling:
    """The fix is prepared."""
    return fixing(policy).when(prepared()).so_far()


def awaiting_review(policy: Overrides | None = None) -> Telling:
    """The fix is pushed, and GitHub shows it."""
    return pushing(policy).when(pushed(), observed(40, head=NEXT)).so_far()


def again(telling: Telling, review: int, by: Author = MARIA) -> Telling:
    """A reviewer rejects once more what was pushed, and as long as there are cycles left, that is fixed and pushed."""
    n = telling.loop.n + 1
    telling.when(*believed(rejected(review, by, head=NEXT))).after(30)
    if telling.loop.n == n:
        telling.when(fetched(item(f"review/{review}", by=by), n=n, head=NEXT), started(n=n))
        changes = (Change(path="shop.py", before=f"{n}" * 40, blob=f"{n + 1}" * 40),)
        telling.when(prepared(verdict(f"review/{review}"), n=n, base=NEXT, changes=changes), pushed(n))
    return telling
