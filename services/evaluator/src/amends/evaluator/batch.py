"""One batch of reports under the head's lock: each is looked up, folded, decided on and appended, all or nothing.

Nothing outside is changed before the transaction has committed: a batch works on its own copy of what it touches.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from amends.common.answers import Already, Answer, Recorded, Refused, Report, has_nul
from amends.common.crash import crash_point
from amends.common.envelope import MAX_ENVELOPE, VOCABULARY, Event, Row, encode, event_of, row_of
from amends.common.events import (
    CommentsFetched,
    Fact,
    FixFailed,
    FixPrepared,
    FixStarted,
    LoopStuck,
    PushRefused,
    ThreadUnresolved,
)
from amends.common.frozen import replace
from amends.common.identity import INSTALLATION, loop_name, policy_loop
from amends.common.loop import DAY, Loop, Spent, evolve, snapshot_updated, snapshot_value
from amends.common.policy import Policy
from amends.common.rows import Head, Stored
from amends.common.standing import policy_for
from amends.common.state import caught_up, load
from amends.evaluator.admission import Fleet, admitted, admitted_while_stuck, held_by_another
from amends.evaluator.code import CODE
from amends.evaluator.decider import Decisions, alarm, decide
from amends.evaluator.projections import Kept, Projection, project
from amends.evaluator.writer import Tx

log = logging.getLogger(__name__)
MAX_DECISIONS = 16
END_OF_TIME = 2**62
OPERATOR = ("evaluator", "operator")  # a human had a wait cut short
ENVELOPE_ROOM = 4_096  # what an envelope holds beside its data, at most
REPEATED = 96 * 1024  # what follows from a prepared fix says the same again, and which paths are protected


@dataclass(frozen=True)
class Held:
    """A loop at a version, and what was stored of it. While it is stuck its state is older than that."""

    loop: Loop
    version: int = 0
    stuck: str = ""
    kept: Kept | None = None


class InForce(NamedTuple):
    """A policy, and the loops that it was folded from."""

    installation: Loop
    repository: Loop
    policy: Policy


NOBODYS = Loop("")
NOTHING = Kept(0, "")
Policies = dict[tuple[str, str], InForce]


class RunawayError(Exception):
    """What was decided cannot be recorded: too much of it, or too large."""


@dataclass(frozen=True)
class Said:
    """A report on its way: who reports, and what."""

    service: str
    report: Report


def encoded(fact: Fact) -> bytes | Refused:
    """The fact as it will be stored, or why it cannot be."""
    try:
        data = encode(fact)
    except (ValueError, UnicodeError) as error:
        return Refused("hostile_text", f"it holds text that is no Unicode ({type(error).__name__}): normalise it")
    most = MAX_ENVELOPE - ENVELOPE_ROOM - (REPEATED if isinstance(fact, FixPrepared) else 0)
    if len(data) > most:
        return Refused("oversized", f"{len(data)} bytes, at most {most}: use a blob")
    if has_nul(data):
        return Refused("hostile_text", "it contains a NUL character, which no store keeps: remove it")
    return data


def blobs_of(fact: Fact) -> list[str]:
    """The blobs that a fact names, which must be there before it."""
    match fact:
        case CommentsFetched():
            named = [fact.texts]
        case FixPrepared():
            named = [fact.transcript, *(change.blob for change in fact.changes)]
        case FixFailed():
            named = [fact.transcript]
        case PushRefused():
            named = [fact.patch]
        case _:
            named = []
    return [sha for sha in named if sha]


def _on(day: int, claim: Spent | None) -> int:
    return claim.usd_micro if claim and claim.day == day else 0


@dataclass
class Batch:
    """What one transaction is about to do. `cache` is only read; `policies` are remembered for the next.

    Whatever is cached is compared with what is stored, but for the loops in `sure`, which nobody can have changed.
    `decider` and `code` are this program's own; a test may try another's.
    """

    tx: Tx
    cache: dict[str, Held]
    policies: Policies = field(default_factory=dict)
    sure: Collection[str] = ()
    deciding: bool = True
    decider: Callable[[Loop, Policy], Decisions] = decide
    code: str = CODE
    held: dict[str, Held] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    _known: dict[tuple[str, str], Event | Row] = field(default_factory=dict)
    _touched: dict[str, None] = field(default_factory=dict)
    _fleet_before: Fleet | None = None
    _claims_before: dict[str, dict[str, Spent]] = field(default_factory=dict)
    _projected: dict[str, Projection] = field(default_factory=dict)
    _kept: dict[str, Kept] = field(default_factory=dict)  # what is stored of the loops that are
    _unsure: set[str] = field(default_factory=set)  # of them, those whose stored waits and claims nobody knows

    def record(self, reports: list[Said]) -> list[Answer]:
        """The answer to each report, with everything appended and projected that follows from them."""
        named = [(said, loop_name(said.report.about) or "") for said in reports]
        names = {name for _, name in named}
        self._hold(names | {policy_loop(name) for name in names if name != INSTALLATION} | {INSTALLATION})
        keys = {(name, said.report.fact.key) for said, name in named if not said.report.fact.slot}
        self._known.update(self.tx.known(sorted(keys)))
        blobs = {sha for said in reports for sha in blobs_of(said.report.fact)}
        missing = blobs - self.tx.has_blobs(sorted(blobs)) if blobs else set()
        answers = [self._one(said, name, missing) for said, name in named]
        self._project()
        self._store()
        return answers

    def look(self, name: str) -> Held:
        """A loop as it is, for a question."""
        self._hold({name, INSTALLATION} | ({policy_loop(name)} if name != INSTALLATION else set()))
        return self.held[name]

    # --- reading ---------------------------------------------------------------------------------------------------

    def _hold(self, names: Iterable[str]) -> None:
        unsure = []
        for name in names:
            if name in self.sure:
                self._take(name, self.cache[name])
            else:
                unsure.append(name)
        if unsure:
            self._compare(unsure)
        for name in names:
            if self.held[name].stuck not in {"", self.code}:
                self.held[name] = self._unstuck(self.held[name])

    def _compare(self, names: list[str]) -> None:
        """Take those from the cache that are stored as we know them, and read the others."""
        cached = {name: self.cache[name] for name in names if name in self.cache}
        versions = self.tx.versions(list(cached)) if cached else {}
        fresh = {name for name, held in cached.items() if versions.get(name) == (held.version, held.stuck)}
        for name in fresh:
            self._take(name, cached[name])
            self._unsure.add(name)  # of the same version, but perhaps seen by another program
        unread = [name for name in names if name not in fresh]
        stored = self.tx.stored(unread) if unread else {}
        for name in unread:
            self.held[name] = self._read(stored[name], name) if name in stored else Held(Loop(name))

    def _take(self, name: str, cached: Held) -> None:
        self.held[name] = cached
        if cached.kept:
            self._kept[name] = cached.kept
        else:
            self._unsure.add(name)

    def _read(self, stored: Stored, name: str) -> Held:
        loop = load(stored.state)
        self._unsure.add(name)
        if stored.stuck:
            return Held(loop, stored.version, stored.stuck)
        self._kept[name] = Kept(stored.folded, loop.pull.full_name if loop.pull else "")
        if stored.folded >= stored.version:
            return Held(loop, stored.version)
        try:
            return Held(caught_up(loop, self.tx.history(name, stored.folded)), stored.version)
        except Exception:
            log.exception("a loop cannot be folded", extra={"loop": name})
            return Held(loop, stored.version, self.code)

    def _unstuck(self, held: Held) -> Held:
        """A loop that an older program could not fold, folded again from the beginning."""
        try:
            loop = caught_up(Loop(held.loop.id), self.tx.history(held.loop.id))
        except Exception:
            log.exception("a loop cannot be folded anew", extra={"loop": held.loop.id})
            return replace(held, stuck=self.code)
        return Held(loop, held.version)

    def policy(self, loop: Loop) -> Policy:
        """What is in force for the loop now. Folding it takes longer than deciding, and it hardly ever changes."""
        installation = self.held[INSTALLATION].loop
        if loop.kind != "change":
            return policy_for(loop, installation, NOBODYS)
        held = self.held.get(loop.settings)
        repository = held.loop if held and held.version else NOBODYS
        about = (repository.id, loop.pull.full_name if loop.pull else "")
        known = self.policies.get(about)
        if known is None or known.installation is not installation or known.repository is not repository:
            known = InForce(installation, repository, policy_for(loop, installation, repository))
            self.policies[about] = known
        return known.policy

    def _fleet(self) -> Fleet:
        """Who works and what the day has cost: as the log had it, and what this transaction has claimed since."""
        today = self.tx.now // DAY
        if self._fleet_before is None:
            self._fleet_before = Fleet(self.tx.claims_live(), self.tx.spent_on(today))
        live, usd_micro = self._fleet_before.live, self._fleet_before.usd_micro
        for name, before in self._claims_before.items():
            for step, claim in self.held[name].loop.claims.items():
                old = before.get(step)
                live += claim.live - (old.live if old else 0)
                usd_micro += _on(today, claim) - _on(today, old)
        return Fleet(live, usd_micro)

    # --- one report ------------------------------------------------------------------------------------------------

    def _one(self, said: Said, name: str, missing: set[str]) -> Answer:
        fact, held = said.report.fact, self.held[name]
        key, already = self._key(held, fact)
        if already:
            return already
        if known := self._known.get((name, key)):
            return self._again(held.loop, fact, known if isinstance(known, Event) else event_of(known))
        policy = self.policy(held.loop)
        data = encoded(fact)
        if isinstance(data, Refused):
            return data
        if has_nul(said.report.actor.encode(errors="replace")):
            return Refused("hostile_text", "actor: it contains a NUL character, which no store keeps: remove it")
        if absent := missing & set(blobs_of(fact)):
            return Refused("blob_missing", f"no blob {min(absent)}: put it first, then report again")
        if refusal := self._refusal(said, held, policy):
            return refusal
        event = Event(
            self._next(0), name, held.version + 1, key, self.tx.now, said.service, said.report.actor,
            said.report.cause, "", fact,
        )  # fmt: skip
        if held.loop.kind != "change":
            self._project()  # what others decided so far, they decided under the policy as it was
        self._follow(held, event, data)
        return Recorded(event.pos)

    def _refusal(self, said: Said, held: Held, policy: Policy) -> Refused | None:
        if (cause := said.report.cause or 0) >= self._next(0):
            return Refused("malformed", f"cause: the log has no position {cause} yet: name an event that is recorded")
        if held.stuck:
            return admitted_while_stuck(said.report.fact)
        now = END_OF_TIME if (said.service, said.report.actor) == OPERATOR else self.tx.now
        return admitted(held.loop, said.report.fact, policy, now, self._fleet)

    def _key(self, held: Held, fact: Fact) -> tuple[str, Already | None]:
        """The fact's key; a snapshot gets the next number, unless it says nothing new."""
        if not fact.slot:
            return fact.key, None
        if held.stuck:
            return self._free_key(held.loop.id, fact.key), None
        slot = held.loop.slots.get(fact.slot)
        if slot is None:
            return f"{fact.key}/1", _still_open(held.loop, fact)
        updated = snapshot_updated(fact)
        older = updated is not None and slot.updated is not None and updated < slot.updated
        dated_later = updated is not None and (slot.updated is None or updated > slot.updated)
        if older or (slot.value == snapshot_value(fact) and not dated_later):
            return "", Already(slot.pos)
        return f"{fact.key}/{slot.n + 1}", None

    def _free_key(self, name: str, key: str) -> str:
        """The next number by the log itself: the state of a stuck loop is too old to tell what is new."""
        for n in count(1):
            numbered = (name, f"{key}/{n}")
            if numbered not in self._known and not self.tx.known([numbered]):
                break
        return f"{key}/{n}"

    def _again(self, loop: Loop, fact: Fact, recorded: Event) -> Answer:
        known = recorded.fact
        if isinstance(fact, FixStarted) and isinstance(known, FixStarted) and fact.holder != known.holder:
            return held_by_another(loop, fact, self.tx.now)
        return Already(recorded.pos, known)

    def _follow(self, held: Held, event: Event, data: bytes) -> None:
        """Append the fact and all that follows from it, in its own loop and in the installation's."""
        if held.stuck:
            self._append(event, data)
            self._put(replace(held, version=event.version, kept=None))
            return
        try:
            loop, decided = self._decided(evolve(held.loop, event), event)
        except Exception as error:  # our own code failed: the fact is kept, the loop is shown as stuck
            log.exception("a loop is stuck", extra={"loop": event.loop, "pos": event.pos})
            self._append(event, data)
            self._stick(held, event, error)
            return
        self._append(event, data)
        for decision, bytes_ in decided:
            self._append(decision, bytes_)
        self._put(Held(loop, loop.version))
        self._alarm(loop, event)

    def _decided(self, loop: Loop, cause: Event) -> tuple[Loop, list[tuple[Event, bytes]]]:
        decided: list[tuple[Event, bytes]] = []
        policy = self._policy_after(loop)
        while self.deciding and (facts := self.decider(loop, policy)):
            for fact in facts:
                if len(decided) == MAX_DECISIONS:
                    raise RunawayError(f"more than {MAX_DECISIONS} decisions for one fact")
                decision = Event(
                    self._next(1 + len(decided)), loop.id, loop.version + 1, fact.key, self.tx.now, "evaluator", "",
                    cause.pos, policy.versions, fact,
                )  # fmt: skip
                bytes_ = encoded(fact)
                if isinstance(bytes_, Refused):
                    raise RunawayError(f"{decision.type}: {bytes_.detail}")
                decided.append((decision, bytes_))
                loop = evolve(loop, decision)
            policy = self._policy_after(loop)
        if not self.deciding:
            raise RunawayError("a decision of this fact cannot be stored")
        return loop, decided

    def _policy_after(self, loop: Loop) -> Policy:
        return self.policy(loop) if loop.kind == "change" else policy_for(loop, loop, NOBODYS)

    def _alarm(self, loop: Loop, cause: Event) -> None:
        if loop.kind != "change" or not (raised := alarm(loop, self.policy(loop))):
            return
        held = self.held[INSTALLATION]
        if held.stuck or (INSTALLATION, raised.key) in self.tx.known([(INSTALLATION, raised.key)]):
            return
        event = Event(
            self._next(0), INSTALLATION, held.version + 1, raised.key, self.tx.now, "evaluator", "", cause.pos,
            self.policy(loop).versions, raised,
        )  # fmt: skip
        self._project()
        self._follow(held, event, encode(raised))

    def _stick(self, held: Held, event: Event, error: Exception) -> None:
        stuck = LoopStuck(error=type(error).__name__, code=self.code, at=event.pos)
        row = Event(
            self._next(0), held.loop.id, event.version + 1, stuck.key, self.tx.now, "evaluator", "", event.pos, "",
            stuck,
        )  # fmt: skip
        self._append(row, encode(stuck))
        self._put(Held(held.loop, row.version, self.code))

    # --- writing ---------------------------------------------------------------------------------------------------

    def _next(self, behind: int) -> int:
        return (self.rows[-1].pos if self.rows else self.tx.head.pos) + 1 + behind

    def _append(self, event: Event, data: bytes) -> None:
        previous = self.rows[-1].hash if self.rows else self.tx.head.hash
        self.rows.append(row_of(event, previous, data))
        self.events.append(event)
        self._known[event.loop, event.key] = event

    def _put(self, held: Held) -> None:
        name = held.loop.id
        claims = self.held[name].loop.claims
        if held.loop.claims is not claims:
            self._claims_before.setdefault(name, claims)
        self.held[name] = held
        self._touched[name] = None

    def _project(self) -> None:
        for name in self._touched:
            held = self.held[name]
            policy = self._policy_after(held.loop)
            projection = project(held.loop, policy, held.version, held.stuck, self._kept.get(name))
            self._projected[name] = projection
            self.held[name] = replace(held, kept=projection.kept)
        self._touched.clear()

    def _store(self) -> None:
        """Write what was appended and projected since the last time."""
        written = self.tx.head.pos
        fresh = [row for row in self.rows if row.pos > written]
        if not fresh:
            return
        crash_point("recorder.decided")
        self.tx.append(fresh)
        crash_point("recorder.appended")
        before = {name: self._kept.get(name, NOTHING) for name in self._projected if name not in self._unsure}
        changed = [(name, new, before.get(name)) for name, new in self._projected.items()]
        self.tx.save(
            [new.row for _, new, _ in changed],
            {name: new.timers for name, new, old in changed if old is None or new.timers != old.timers},
            {name: new.outstanding for name, new, old in changed if old is None or new.outstanding != old.outstanding},
            [claim for _, new, old in changed for claim in new.claims if old is None or claim not in old.claims],
            before,
        )
        self._kept.update((name, new.kept) for name, new in self._projected.items())
        self._unsure.difference_update(self._projected)
        last = fresh[-1]
        head = self.tx.head
        self.tx.advance(Head(last.pos, last.hash, last.time, head.epoch, max(head.vocabulary, VOCABULARY), self.code))
        self._projected.clear()


def _still_open(loop: Loop, fact: Fact) -> Already | None:
    """A thread is open until somebody resolves it: that one whose date nobody knows still is, is no news."""
    if not isinstance(fact, ThreadUnresolved) or fact.updated_at is not None:
        return None
    item = loop.items.get(f"thread/{fact.root}")
    return Already(item.mark.pos) if item and not item.resolved else None
