"""What follows from where a loop stands: the only place that decides.

`decide` sees the loop and the policy, never the message that just came, so a redelivered or doubled message cannot
start anything twice. It is asked again until it has nothing more to say; every answer changes the loop, so that it
ends. The order of the rules is the order of precedence: pause beats everything; what is on the branch comes before what
anybody wants; then the human, then the world.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, chain
from typing import Literal

from pydantic import BaseModel

from amends.common.events import (
    ChecksRequested,
    Closed,
    CommandAccepted,
    CommandName,
    CommandRefused,
    CycleFinished,
    Decided,
    Escalated,
    Failure,
    FixRequested,
    Judgement,
    LoopFinished,
    LoopOpened,
    LoopPaused,
    LoopResumed,
    PushRequested,
    Question,
    ResolveRequested,
    ReviewRequested,
    Scope,
    Text,
    Verdict,
)
from amends.common.loop import (
    MODEL_OFF,
    OUTAGES,
    RESTARTS,
    UNJUDGED,
    Ask,
    Command,
    Cycle,
    Failed,
    Item,
    Loop,
    Phase,
    needs_human,
    remembered,
)
from amends.common.policy import Policy, size, tightest
from amends.common.standing import (
    MAX_AGAIN,
    SECOND,
    answers,
    approvals,
    counting,
    heard,
    news,
    obstacles,
    postponed,
    questions,
    rejections,
    trusted,
    unwanted,
    waits,
    wavers,
    window,
    work,
)

Decisions = list[Decided]

DROPPED = frozenset({Failure.CLOSED, Failure.DRAFT, Failure.FORK, Failure.BRANCH_GONE, Failure.ACCESS_LOST})
FREE = frozenset({Failure.SANDBOX_UNAVAILABLE})  # ends the cycle, but it was not the cycle's own work
GAVE_UP = {
    Failure.MOVED: "head_moving",
    Failure.SUPERSEDED: "head_moving",
    Failure.WORKSPACE_LOST: "fixer_crashing",
    Failure.CRASHED: "fixer_crashing",
    Failure.STALLED: "stalled",
}
MAX_REQUEST = 240 * 1024  # what a request for a cycle may take, of the quarter of a megabyte that an event may
MAX_TEXTS = 128 * 1024
MAX_NAMES = 32 * 1024
LONGEST_WORD = 100  # of what somebody took for a command
FEW = 3  # findings on lines of the loop's own, below which nothing can be said about chasing them
MOST_ANSWERS = 20
MOST_VAIN = 3  # cycles in a row that may find the same door closed, although the pull request looks well
MOST_AT_ONCE = 8  # decisions of one turn after which no further command is looked at


def decide(loop: Loop, policy: Policy) -> Decisions:
    """What follows now; nothing when the loop is at rest or waits for somebody."""
    if not loop.opened:
        return [LoopOpened(kind=loop.kind)]
    if loop.kind != "change":
        return _settings(loop) or _again(loop, policy)
    if loop.pull is None or policy.killed:
        return []
    if loop.paused:
        return _resumed(loop, policy)
    for rule in RULES:
        if decisions := rule(loop, policy):
            return decisions
    return []


def alarm(loop: Loop, policy: Policy) -> Escalated | None:
    """What the whole installation has to know of this loop's failure: fixing is off until a human turns it on."""
    failed = loop.cycle.failed if loop.cycle else None
    if failed is None or failed.reason not in MODEL_OFF or policy.fixing_off or failed.mark.pos < policy.fixing_on_pos:
        return None
    return Escalated(of=f"fixing/{failed.mark.pos}", reason=failed.reason, detail=f"first seen in {loop.id}")


# --- settings and commands -----------------------------------------------------------------------------------------


def _settings(loop: Loop) -> Decisions:
    off = bool(loop.paused or loop.fixing_off)
    for key, command in loop.commands.items():
        if command.author.kind != "token":  # may write to one repository, which is not the installation
            return [CommandRefused(of=key, name=command.name, reason="untrusted")]
        match command.name:
            case "pause" if loop.kind == "installation" and not loop.paused:
                return [CommandAccepted(of=key, name="pause"), LoopPaused(of=key)]
            case "resume" | "retry" if off:
                return [CommandAccepted(of=key, name=command.name), LoopResumed(of=key)]
            case "resume" if loop.kind == "installation":
                return [CommandRefused(of=key, name="resume", reason="not_paused")]
            case name:
                return [CommandRefused(of=key, name=name, reason="paused" if loop.paused else "not_here")]
    return []


def _resumed(loop: Loop, policy: Policy) -> Decisions:
    """Of a paused loop: who asks why nothing happens is answered, and all else waits for the resume."""
    key, command = _first(loop, policy, "resume")
    if command is None:
        return []
    accepted = _accepted(key, command)
    return [accepted, LoopResumed(of=key)] if command.name == "resume" else [accepted]


def _first(loop: Loop, policy: Policy, name: CommandName) -> tuple[str, Command | None]:
    """The command whose turn it is, one of this name before all others.

    Of a crowd that waited, for a resume or for the pull request, the rest has its turn right after.
    """
    if not loop.commands or loop.version - loop.turn >= MOST_AT_ONCE:
        return "", None
    return min(heard(loop, policy).items(), key=lambda one: one[1].name != name, default=("", None))


def _accepted(key: str, command: Command) -> CommandAccepted:
    unknown = command.text[:LONGEST_WORD] if command.name == "help" else ""
    return CommandAccepted(of=key, name=command.name, text=unknown)


def _believed(policy: Policy, command: Command) -> bool | None:
    return trusted(policy, command.author, command.permission)


def _commands(loop: Loop, policy: Policy) -> Decisions:
    key, command = _first(loop, policy, "pause")
    if command is None:
        return []
    if _believed(policy, command):
        return _obeyed(loop, policy, key, command)
    return [CommandRefused(of=key, name=command.name, reason="untrusted")]


def _obeyed(loop: Loop, policy: Policy, key: str, command: Command) -> Decisions:
    accepted = _accepted(key, command)
    over = loop.closed or loop.finished in {"stopped", "continued_in"}
    match command.name:
        case "pause":
            return [accepted, LoopPaused(of=key)]
        case "resume":
            return [CommandRefused(of=key, name="resume", reason="not_paused")]
        case "retry" if not needs_human(loop):
            return [CommandRefused(of=key, name="retry", reason="nothing_to_retry")]
        case "explain" | "help":
            return [accepted]
        case name if not policy.enabled:
            return [CommandRefused(of=key, name=name, reason="not_here")]
        case "fix" | "reset" if not loop.closed:
            return [accepted]
        case name if over:
            return [CommandRefused(of=key, name=name, reason="finished")]
        case _:
            return [accepted]


# --- endings -------------------------------------------------------------------------------------------------------


def _ended(loop: Loop, _policy: Policy) -> Decisions:
    if loop.closed:
        outcome: Literal["merged", "closed"] = "merged" if loop.closed == "merged" else "closed"
        if loop.cycle:
            return [_cancelled(loop, Failure.CLOSED)]
        return [] if loop.finished == outcome else [LoopFinished(outcome=outcome, times=loop.finishes + 1)]
    if not loop.ending:
        return []
    if loop.cycle:
        return [_cancelled(loop, loop.ending)]
    match loop.ending:
        case "accepted" | "ready" | "stopped":
            return [LoopFinished(outcome=loop.ending, times=loop.finishes + 1)]
        case _:
            return []


def _cancelled(loop: Loop, reason: str) -> CycleFinished:
    return CycleFinished(n=loop.n, outcome="cancelled", used=False, reason=reason)


def _approved(loop: Loop, policy: Policy) -> Decisions:
    if loop.finished or loop.cycle or loop.ask or unwanted(loop, policy):
        return []
    approving = approvals(loop, policy)
    if not approving or rejections(loop, policy) or rejections(loop, policy, believed=None):
        return []
    if counting(loop, policy) or questions(loop, policy):
        return []
    only_bots = all(review.author.kind == "bot" for review in approving)
    return [LoopFinished(outcome="ready" if only_bots else "approved", times=loop.finishes + 1)]


# --- the running cycle ---------------------------------------------------------------------------------------------


def _failed(loop: Loop, policy: Policy) -> Decisions:
    cycle = loop.cycle
    if cycle is None or cycle.failed is None or cycle.pushed:
        return []
    reason, rules = cycle.failed.reason, tightest(cycle.rules, policy)
    if reason in OUTAGES | MODEL_OFF:
        return _waited_out(loop, policy, cycle, cycle.failed)
    if reason is Failure.WORKSPACE_LOST and rules.worktree_missing == "fail":
        return _given_up(loop, policy, reason, used=False)  # the next attempt would not find it either
    if reason in RESTARTS and cycle.tries >= rules.max_attempts:
        return _given_up(loop, policy, GAVE_UP[reason], used=False)
    if reason in RESTARTS:
        return _next_attempt(loop, policy)
    if reason is Failure.CANCELLED:
        ready = cycle.prepared and not _moved(loop, cycle) and not obstacles(loop, policy)
        return [_push(loop, cycle, policy)] if ready else _next_attempt(loop, policy)
    if reason in DROPPED and not cycle.failed.patch:
        return [_cancelled(loop, reason)]
    return _given_up(loop, policy, reason, used=reason not in FREE | DROPPED)


def _waited_out(loop: Loop, policy: Policy, cycle: Cycle, failed: Failed) -> Decisions:
    """After a failure that was not the cycle's: its wait, or the installation, says when to begin again."""
    if failed.reason in MODEL_OFF:
        return _next_attempt(loop, policy) if failed.mark.pos < policy.fixing_on_pos else []
    if not failed.retry:
        return []
    if loop.time - cycle.outage >= policy.waits.outage_seconds * SECOND:
        return _given_up(loop, policy, failed.reason, used=False)
    return _next_attempt(loop, policy)


def _next_attempt(loop: Loop, policy: Policy) -> Decisions:
    """Begin again, unless something has come to hinder it: then the cycle ends here, without being held against it.

    What its attempts have cost is: however innocently each of them failed, together they stay within the budget.
    """
    if policy.fixing_off:
        return []
    if hindering := obstacles(loop, policy):
        return [_cancelled(loop, hindering[0].name)]
    if loop.cycle and (spent := _overspent(loop, tightest(loop.cycle.rules, policy))):
        return _given_up(loop, policy, Failure.LIMITS, used=True, detail=spent)
    return [_requested(loop, policy, loop.k + 1)]


def _given_up(loop: Loop, policy: Policy, reason: str, *, used: bool, detail: str = "") -> Decisions:
    cycle = loop.cycle
    collected = work(loop, tightest(cycle.rules, policy), cycle.scope) if cycle and cycle.fetched else {}
    put_aside = tuple(
        Verdict(item=id_, version=item.version, judgement=Judgement.DEFERRED, reason=f"failed: {reason}")
        for id_, item in collected.items()
    )
    verdicts = _final(loop, policy, put_aside)
    finished = CycleFinished(n=loop.n, outcome="failed", used=used, reason=reason, verdicts=verdicts)
    failed = cycle.failed if cycle else None
    said = failed if failed and failed.reason == reason else None
    escalated = _escalation(loop, policy, f"cycle/{loop.n}", reason, said.detail if said else detail)
    update = {"history": remembered(loop, finished), "patch": said.patch if said else None}
    return [finished, escalated.model_copy(update=update)]


def _conflicting(loop: Loop, policy: Policy) -> Decisions:
    """A merge conflict is shown to a human, once; the work on the branch goes on beside it."""
    cycle = loop.cycle
    if cycle is None or not cycle.conflicts or cycle.conflicts == loop.conflicts:
        return []
    detail = f"conflicts with the base branch in {', '.join(cycle.conflicts)}"[:4_000]
    escalated = _escalation(loop, policy, f"cycle/{loop.n}/{loop.k}", "conflict", detail)
    return [escalated.model_copy(update={"stops": False})]


def _unstarted(loop: Loop, policy: Policy) -> Decisions:
    """A commit that no check looks at is shown to a human; nothing waits for it."""
    if loop.watch and loop.watch.over:
        return [ChecksRequested(n=loop.watch.n, sha=loop.watch.sha)]
    if not loop.unstarted or loop.pull is None:
        return []
    detail = f"{', '.join(loop.unstarted)} did not begin for {loop.pull.head}"[:4_000]
    escalated = _escalation(loop, policy, f"ci/{loop.pull.head}", "ci_not_started", detail)
    return [escalated.model_copy(update={"stops": False})]


def _collected(loop: Loop, policy: Policy) -> Decisions:
    cycle = loop.cycle
    if cycle is None or loop.phase is not Phase.FIXING or cycle.claim or cycle.prepared or cycle.failed:
        return []
    collected = work(loop, tightest(cycle.rules, policy), cycle.scope)
    if not collected:
        return [CycleFinished(n=loop.n, outcome="nothing_to_do", used=False)]
    fresh = [item for item in collected.values() if item.first_cycle == loop.n]
    ours = [item for item in fresh if item.ours]
    if loop.n > 1 and len(ours) >= FEW and 2 * len(ours) > len(fresh):
        return _given_up(loop, policy, "chasing_itself", used=False)
    return []


def _prepared(loop: Loop, policy: Policy) -> Decisions:
    cycle = loop.cycle
    if cycle is None or cycle.prepared is None or cycle.failed or cycle.push or cycle.pushed:
        return []
    if not cycle.prepared.changes:
        verdicts = _final(loop, policy, cycle.prepared.verdicts)
        judged = {verdict.item for verdict in verdicts}
        if not judged.issuperset(work(loop, tightest(cycle.rules, policy), cycle.scope)):
            return _given_up(loop, policy, Failure.NO_CHANGE, used=True)
        return [CycleFinished(n=loop.n, outcome="answered", used=True, verdicts=verdicts)]
    if undone(loop, cycle):
        return _given_up(loop, policy, "undoes_itself", used=True)
    if hindering := obstacles(loop, policy.model_copy(update={"fixing_off": ""})):  # a push needs no model
        return [_cancelled(loop, hindering[0].name)]
    if _moved(loop, cycle):
        if cycle.tries + 1 >= tightest(cycle.rules, policy).max_attempts:
            return _given_up(loop, policy, GAVE_UP[Failure.MOVED], used=False)
        return _next_attempt(loop, policy)
    return [_push(loop, cycle, policy)]


def _moved(loop: Loop, cycle: Cycle) -> bool:
    """Whether the pull request was seen at another head after the collection that the fix is based on."""
    seen = loop.slots.get("pr")
    later = seen is not None and cycle.fetched is not None and seen.pos > cycle.fetched.pos
    return later and loop.pull is not None and cycle.prepared is not None and loop.pull.head != cycle.prepared.base


def undone(loop: Loop, cycle: Cycle) -> bool:
    """Whether the prepared fix puts a file back to what it was before the loop's last fix."""
    changes = cycle.prepared.changes if cycle.prepared else ()
    return any(
        change.path in loop.wrote and (change.before, change.blob) == loop.wrote[change.path][::-1]
        for change in changes
    )


def _pushed(loop: Loop, policy: Policy) -> Decisions:
    cycle = loop.cycle
    if cycle is None or not cycle.pushed:
        return []
    given = cycle.prepared.verdicts if cycle.prepared else ()
    kept = tuple(
        verdict
        for verdict in given
        if verdict.judgement is not Judgement.FIXED or not cycle.pushed_items or verdict.item in cycle.pushed_items
    )
    verdicts = _final(loop, policy, kept)
    finished = CycleFinished(
        n=loop.n, outcome="pushed", used=True, sha=cycle.pushed, verdicts=verdicts, ci_seconds=policy.waits.ci_seconds
    )
    threads = tuple(
        verdict.model_copy(update={"reason": ""})
        for verdict in verdicts
        if verdict.judgement is Judgement.FIXED and verdict.item.startswith("thread/")
    )
    if not (threads and policy.resolve_threads):
        return [finished]
    return [ResolveRequested(n=loop.n, sha=cycle.pushed, verdicts=threads), finished]


def _final(loop: Loop, policy: Policy, given: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The verdicts on versions that were collected; a version that is no longer the latest is superseded."""
    final, later = {}, postponed(loop, policy)
    for verdict in given:
        item = loop.items.get(verdict.item)
        if item is None or item.version != verdict.version or verdict.item in later:
            continue
        if item.verdicts.get(item.version) not in UNJUDGED and not answers(loop, policy, item):
            continue
        outdated = bool(news(loop, policy, item))
        final[verdict.item] = (
            verdict.model_copy(update={"judgement": Judgement.SUPERSEDED, "hunks": ()}) if outdated else verdict
        )
    return tuple(final.values())


# --- after a cycle, and asking again -------------------------------------------------------------------------------


def _again(loop: Loop, policy: Policy) -> Decisions:
    cycle = loop.cycle
    if cycle and cycle.push and cycle.push.overdue:
        if cycle.push.again < MAX_AGAIN:
            return [_push(loop, cycle, policy)]
        return _given_up(loop, policy, "stalled", used=False)
    for pos, ask in loop.asks.items():
        if ask.overdue:
            return [_asked_again(pos, ask)]
    return _unheard(loop)


def _unheard(loop: Loop) -> Decisions:
    for number, review in loop.reviews.items():
        if review.overdue == "late":
            detail = f"nobody looked up the author of review {number}"
            return [Escalated(of=f"review/{number}", reason="stalled", stops=False, detail=detail)]
    for key, command in loop.commands.items():
        if command.overdue == "late":
            detail = f"nobody looked up who said {command.name} ({command.author.login or command.author.account})"
            return [Escalated(of=key, reason="stalled", stops=False, detail=detail)]
    return []


def _asked_again(pos: int, ask: Ask) -> Decided:
    if ask.fact.again < MAX_AGAIN:
        return ask.fact.model_copy(update={"again": ask.fact.again + 1})
    detail = f"the {ask.fact.service} did not answer {ask.fact.type} at {pos}, asked {MAX_AGAIN} times again"
    return Escalated(of=f"ask/{pos}", reason="stalled", stops=False, detail=detail)


def _shown(loop: Loop, policy: Policy) -> Decisions:
    """Who rejected is asked for another look, right after the push that answers all he raised."""
    if loop.closed or loop.ended != loop.version or loop.history[-1].outcome != "pushed":
        return []
    satisfied = tuple(
        review.author
        for review in rejections(loop, policy)
        if not any(
            _raised_by(item, review.author.account) and waits(loop, policy, item) for item in loop.items.values()
        )
    )
    return [ReviewRequested(n=loop.n, sha=loop.pushed, reviewers=satisfied)] if satisfied else []


def _asked(loop: Loop, policy: Policy) -> Decisions:
    """What only a human can answer is put to him, once."""
    if loop.cycle or loop.phase is not Phase.RESTING:
        return []
    fresh = {id_: item for id_, item in questions(loop, policy).items() if item.questioned != item.version}
    if fresh and not loop.finished:
        later = f"/{loop.version}" if loop.version > loop.ended + 1 else ""  # whose thread was opened again meanwhile
        escalated = _escalation(loop, policy, f"cycle/{loop.n}{later}", "question")
        return [escalated.model_copy(update={"items": tuple(sorted(fresh, key=_place)), "stops": False})]
    return []


def _raised_by(item: Item, account: str) -> bool:
    return (item.author is not None and item.author.account == account) or account in item.voices


def _escalation(loop: Loop, policy: Policy, of: str, reason: str, detail: str = "") -> Escalated:
    found = sorted({**counting(loop, policy, "all"), **questions(loop, policy)}, key=_place)
    return Escalated(of=of, reason=reason, detail=detail, items=_fitting(found[:200], MAX_NAMES), history=loop.history)


def _of_item(entry: tuple[str, Item]) -> list[str]:
    return _place(entry[0])


def _place(id_: str) -> list[str]:
    """Where an item stands among others in what is decided: the order in which they arrived says nothing."""
    return [part.zfill(20) for part in id_.split("/")]


# --- starting ------------------------------------------------------------------------------------------------------


def _started(loop: Loop, policy: Policy) -> Decisions:
    if loop.phase is not Phase.RESTING or loop.cycle or obstacles(loop, policy):
        return []
    opening = window(loop, policy)
    if not loop.ask and (opening is None or not opening.over(loop.settled) or wavers(loop, policy)):
        return []
    of = f"cycle/{loop.n}/{opening.generation if opening else loop.woken.version}"
    if loop.used >= policy.max_cycles + loop.granted:
        return [
            _escalation(
                loop, policy, of, "max_cycles", f"{loop.used} cycles used of {policy.max_cycles + loop.granted}"
            )
        ]
    if spent := _overspent(loop, policy):
        return [_escalation(loop, policy, of, Failure.LIMITS, spent)]
    if loop.vain >= MOST_VAIN:
        return [_escalation(loop, policy, of, loop.history[-1].reason, f"{loop.vain} cycles in a row ended like this")]
    raised_again = [id_ for id_, item in counting(loop, policy).items() if item.fixed >= policy.max_reraises]
    if raised_again and not loop.ask:
        detail = f"raised again after {policy.max_reraises} fixes: {min(raised_again, key=_place)}"
        return [_escalation(loop, policy, of, "reraised", detail)]
    return [_requested(loop, policy, 1)]


def _overspent(loop: Loop, policy: Policy) -> str:
    spent, budget = loop.spent, policy.budget
    limits = (
        ("turns", spent.turns, budget.turns),
        ("tokens", spent.tokens, budget.tokens),
        ("dollars", spent.usd_micro / SECOND, budget.usd),
        ("seconds", spent.seconds, budget.wall_seconds),
    )
    over = [f"{used:g} of {limit:g} {name}" for name, used, limit in limits if used >= limit]
    return ", ".join(over)


def _requested(loop: Loop, policy: Policy, k: int) -> FixRequested:
    cycle = loop.cycle
    scope: Scope = "all" if loop.ask else cycle.scope if cycle else "triggers"
    nodes = [
        node
        for item in loop.items.values()
        if not item.text
        for node, hint in (item.asked | item.hints).items()
        if hint.body
    ]
    request = FixRequested(
        n=loop.n if k > 1 else loop.n + 1,
        k=k,
        head=loop.pull.head if loop.pull else "",
        scope=scope,
        rejecting=_fitting(sorted(review.author.account for review in rejections(loop, policy)), MAX_NAMES),
        expects=_fitting(sorted(nodes)[:500], MAX_NAMES),
        pushed=loop.pushed if loop.lines else "",
        wrote=_fitting(loop.lines, MAX_NAMES),
        rules=tightest(cycle.rules, policy) if cycle else policy,
    )
    room = MAX_REQUEST - weight(request)
    texts = _texts(loop, policy, min(room, MAX_TEXTS))
    asked = _questions(loop, policy, min(room - sum(map(weight, texts)), MAX_NAMES))
    closed = _closed(loop, policy, room - sum(map(weight, (*texts, *asked))))
    return request.model_copy(update={"texts": texts, "questions": asked, "closed": closed})


def weight(part: BaseModel) -> int:
    """How many bytes it takes in an event, with a comma."""
    return len(part.__pydantic_serializer__.to_json(part)) + 1


def _fitting(names: Iterable[str], room: int) -> tuple[str, ...]:
    """The first names, as many as there is room for."""
    found: list[str] = []
    for name in names:
        room -= size(name) + 1
        if room < 0:
            break
        found.append(name)
    return tuple(found)


def _texts(loop: Loop, policy: Policy, room: int) -> tuple[Text, ...]:
    """What finds no room comes with the next request; the first is cut, if it must be, so that there is an end."""
    found: list[Text] = []
    for id_, item in sorted(loop.items.items(), key=_of_item):
        if not item.text or item.author is None or not waits(loop, policy, item):
            continue
        text = Text(
            item=id_, author=item.author, text=item.text, severity=item.severity, path=item.path, line=item.line
        )
        while not found and weight(text) > room:
            text = text.model_copy(update={"text": text.text[: len(text.text) * 3 // 4]})
        room -= weight(text)
        if room < 0:
            break
        found.append(text)
    return tuple(found)


def _questions(loop: Loop, policy: Policy, room: int) -> tuple[Question, ...]:
    """What a human was asked and has answered since: without the question his `1` means nothing."""
    found: list[Question] = []
    for id_, item in sorted(loop.items.items(), key=_of_item):
        if item.question and waits(loop, policy, item):
            held = tuple(sorted(answers(loop, policy, item), key=_place)[:MOST_ANSWERS])
            found.append(Question(item=id_, text=item.question, answers=held))
    weights = accumulate(map(weight, found))
    return tuple(one for one, so_far in zip(found, weights, strict=True) if so_far <= room)


def _closed(loop: Loop, policy: Policy, room: int) -> tuple[Closed, ...]:
    """The versions that have their verdict, so that nobody reads them again; the latest first, if not all find room."""
    latest: list[Closed] = []
    older: list[Closed] = []  # these too: a reply that is deleted brings one back
    for id_, item in sorted(loop.items.items(), key=_of_item):
        answered = answers(loop, policy, item)
        for version, judgement in item.verdicts.items():
            if judgement not in UNJUDGED and not (answered and version == item.version):
                (latest if version == item.version else older).append(Closed(item=id_, version=version))
    weights = accumulate(weight(one) for one in chain(latest, older))
    return tuple(one for one, so_far in zip(chain(latest, older), weights, strict=True) if so_far <= room)


def _push(loop: Loop, cycle: Cycle, policy: Policy) -> PushRequested:
    prepared = cycle.prepared
    if prepared is None or loop.pull is None:
        raise AssertionError("a push needs a prepared fix")
    rules = tightest(cycle.rules, policy)
    fixed = (loop.items.get(one.item) for one in prepared.verdicts if one.judgement is Judgement.FIXED)
    return PushRequested(
        n=loop.n,
        k=loop.k,
        again=cycle.pushes,
        base=prepared.base,
        head_ref=loop.pull.head_ref,
        changes=prepared.changes,
        verdicts=prepared.verdicts,
        prepared=prepared.mark.pos,
        protected=rules.protected_paths,
        allowed=rules.allowed_paths,
        reviews=tuple(sorted({item.review for item in fixed if item and item.review})),
        credits=prepared.credits,
    )


RULES = (
    _pushed, _shown, _commands, _ended, _failed, _conflicting, _unstarted, _collected, _prepared, _asked, _again,
    _approved, _started,
)  # fmt: skip
