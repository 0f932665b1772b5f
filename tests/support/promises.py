"""What must hold of any log, and of a world that has come to rest: each promise is a sentence that can be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from amends.common.envelope import GENESIS, Event, Row, event_of, rehashed
from amends.common.events import (
    CommandAccepted,
    CommandGiven,
    CommentsFetched,
    CycleFinished,
    FixRequested,
    FixStarted,
    Judgement,
    LoopOpened,
    LoopPaused,
    LoopResumed,
    LoopStuck,
    ReviewRequested,
)
from amends.common.explain import explain
from amends.common.identity import INSTALLATION, policy_loop
from amends.common.loop import DAY, Loop, Phase, evolve
from amends.common.policy import Policy
from amends.common.standing import counting, obstacles, policy_for, timers, waits
from amends.evaluator.code import CODE
from amends.evaluator.decider import decide
from tests.support.facts import PANEL
from tests.support.forge import Pull, Said, Talk
from tests.support.world import World, trusts

SECOND = 1_000_000
EVEN_THEN = LoopOpened | LoopStuck | CommandAccepted | LoopResumed


class Moment(NamedTuple):
    """An event, and its loop before and after it under the policy that was in force."""

    event: Event
    before: Loop
    after: Loop
    policy: Policy
    others: dict[str, Loop]


def moments(rows: Sequence[Row]) -> Iterator[Moment]:
    """A log, told again. `others` are all loops as they were before the event."""
    loops: dict[str, Loop] = {}
    for event in map(event_of, rows):
        before = loops.get(event.loop, Loop(event.loop))
        after = evolve(before, event)
        installation, repository = loops.get(INSTALLATION, Loop("")), loops.get(policy_loop(event.loop), Loop(""))
        yield Moment(event, before, after, policy_for(before, installation, repository), loops)
        loops[event.loop] = after


def check_chain(rows: Sequence[Row]) -> None:
    """Positions and versions have no gap, no key is doubled, every hash is on the one before, time never runs back."""
    assert [row.pos for row in rows] == list(range(1, len(rows) + 1))
    assert len({(row.loop, row.key) for row in rows}) == len(rows)
    versions: dict[str, int] = {}
    previous, time = GENESIS, 0
    for row in rows:
        assert row.version == versions.get(row.loop, 0) + 1
        assert row.hash == rehashed(row, previous)
        assert row.time >= time
        versions[row.loop], previous, time = row.version, row.hash, row.time


def check_limits(rows: Sequence[Row]) -> None:
    """Cycles, attempts, fixers and money stay within the policy; a pause holds; this program gets stuck nowhere."""
    for moment in moments(rows):
        fact, before, policy = moment.event.fact, moment.before, moment.policy
        assert not isinstance(fact, LoopStuck) or fact.code != CODE, fact
        paused = before.kind == "change" and (before.paused or policy.killed)
        assert not paused or moment.event.cause is None or isinstance(fact, EVEN_THEN), f"{fact} while paused"
        if isinstance(fact, FixRequested):
            _check_attempt(fact, before)
        if isinstance(fact, FixStarted):
            _check_claim(moment)
        if moment.after.cycle:
            assert moment.after.cycle.tries <= policy.max_attempts


def _check_attempt(fact: FixRequested, before: Loop) -> None:
    assert before.spent.turns < fact.rules.budget.turns
    assert before.spent.usd_micro < fact.rules.budget.usd * SECOND
    if fact.k > 1:
        assert (fact.n, fact.k) == (before.n, before.k + 1)
        assert before.cycle is not None
        return
    assert fact.n == before.n + 1
    assert before.cycle is None
    assert before.used < fact.rules.max_cycles + before.granted


def _check_claim(moment: Moment) -> None:
    taken = [claim for loop in moment.others.values() for claim in loop.claims.values()]
    assert sum(claim.live for claim in taken) < moment.policy.max_fixers
    today = sum(claim.usd_micro for claim in taken if claim.day == moment.event.time // DAY)
    budget = moment.policy.budget
    assert today + budget.run_usd * SECOND <= budget.day_usd * SECOND


def check_verdicts(rows: Sequence[Row]) -> None:
    """A version that was collected gets one verdict and no second, unless a human was asked or opened it again."""
    given: dict[tuple[str, str, str], Judgement] = {}
    collected: dict[str, set[tuple[str, str]]] = {}
    for moment in moments(rows):
        loop, fact = moment.event.loop, moment.event.fact
        match fact:
            case CommentsFetched():
                collected[loop] = {(item.id, item.version) for item in fact.items}
            case CommandAccepted(name="retry" | "refine" | "reset"):
                given = {
                    key: verdict
                    for key, verdict in given.items()
                    if key[0] != loop or verdict is not Judgement.DEFERRED
                }
            case CycleFinished(again=0):
                for verdict in fact.verdicts:
                    assert (verdict.item, verdict.version) in collected[loop]
                    assert (loop, verdict.item, verdict.version) not in given, verdict
                    if verdict.judgement not in {Judgement.SUPERSEDED, Judgement.NEEDS_HUMAN}:
                        given[loop, verdict.item, verdict.version] = verdict.judgement
            case _:
                pass


def check_requests(rows: Sequence[Row]) -> None:
    """Every cycle ends, and only once; a review is asked for after a push only, of those who have all their answers."""
    for moment in moments(rows):
        fact, before = moment.event.fact, moment.before
        if isinstance(fact, CycleFinished) and not fact.again:
            assert before.cycle is not None
            assert fact.n == before.n
            assert fact.outcome == "pushed" or not before.cycle.pushed
        if isinstance(fact, FixRequested) and before.ask:
            assert fact.scope == "all"
        if isinstance(fact, ReviewRequested) and not fact.again:
            assert before.history[-1].n == fact.n
            assert before.history[-1].outcome == "pushed"
            accounts = {reviewer.account for reviewer in fact.reviewers}
            for item in before.items.values():
                if item.author and item.author.account in accounts:
                    assert not waits(before, moment.policy, item)
        if isinstance(fact, LoopPaused) and not fact.again:
            assert not before.paused


def check_waits(rows: Sequence[Row]) -> None:
    """No wait is set that has been over before: its timer could never fire again."""
    fired = {(row.loop, row.key) for row in rows if row.type == "timer.fired"}
    seen: set[tuple[str, str]] = set()
    for moment in moments(rows):
        name = moment.event.loop
        seen |= {(name, moment.event.key)} & fired
        if moment.event.cause is None and moment.after.opened:
            keys = {(name, f"timer/{timer.name}/{timer.generation}") for timer in timers(moment.after, moment.policy)}
            assert not keys & seen


def check_log(rows: Sequence[Row]) -> None:
    """All that must hold of any log whatever happens."""
    check_chain(rows)
    check_limits(rows)
    check_verdicts(rows)
    check_requests(rows)
    check_waits(rows)


def check_rest(world: World) -> None:
    """At rest nobody waits for anybody, and of all that trusted people said and that counts, nothing has no verdict."""
    assert world.book.log.outstanding() == []
    assert world.book.log.timers() == []
    for name in world.pulls:
        check_alive(world.book.loop(name), world.book.policy(world.book.loop(name)))
    for name, pull in world.pulls.items():
        loop = world.book.loop(name)
        policy = world.book.policy(loop)
        if loop.phase is Phase.RESTING and not obstacles(loop, policy) and loop.finished in {"", "approved"}:
            assert loop.cycle is None
            assert unanswered(pull, loop, policy) == []


def check_alive(loop: Loop, policy: Policy) -> None:
    """A loop at rest has answered whoever commanded it, has nothing left to begin, and says truly what may be said."""
    free = loop.phase is Phase.RESTING and not obstacles(loop, policy) and not loop.finished
    assert not (free and counting(loop, policy))
    if loop.pull is None or loop.paused or policy.killed:
        return
    assert loop.commands == {}
    for order in explain(loop, policy, []).orders:
        name = order.comment.split()[1]
        fact = CommandGiven.model_validate({"id": "next", "name": name, "text": "more", "author": PANEL})
        said = Event(loop.pos + 1, loop.id, loop.version + 1, fact.key, loop.time, "cli", "", None, "", fact)
        [answer, *_] = decide(evolve(loop, said), policy)
        assert isinstance(answer, CommandAccepted), f"{name} is offered, and {answer}"


def unanswered(pull: Pull, loop: Loop, policy: Policy) -> list[tuple[str, Said]]:
    """What trusted people said, counts, and is part of no version that has a verdict."""
    rejecting = {
        account
        for account, review in pull.opinions().items()
        if review.verb == "rejected" and not review.dismissed and trusts(policy, review.author)
    }
    found = []
    for talk in pull.talks.values():
        comments = talk.trusted(lambda author: trusts(policy, author))
        asked = bool(rejecting & {comment.author.account for comment in comments}) or _triggered(pull, talk, policy)
        if asked and not talk.resolved and pull.says_something(talk):
            judged = _judged(pull, loop, talk.item)
            found += [(talk.item, comment.said) for comment in comments if comment.said not in judged]
    return found


def _triggered(pull: Pull, talk: Talk, policy: Policy) -> bool:
    if "comments" not in policy.triggers:
        return False
    return talk.kind == "thread" or (talk.kind == "review" and pull.reviews[talk.root].verb == "commented")


def _judged(pull: Pull, loop: Loop, id_: str) -> set[Said]:
    item = loop.items.get(id_)
    if item is None or item.waived:
        return set(pull.talks[id_].said) if item else set()
    versions = [version for version, verdict in item.verdicts.items() if verdict is not Judgement.SUPERSEDED]
    return {said for version in versions for said in pull.hashed.get(version, ())}
