"""What a loop is, folded from its facts: `evolve` says what each fact means and never what to do about it.

    watching -> settling -> collecting -> fixing -> pushing -> awaiting_review -> done
                    ^            `-> watching   `-> awaiting_review   |
                    `---------------- needs_human <-------------------'      paused, done: from anywhere

Stored are the phases that decisions bring about (resting, collecting, fixing, pushing, stopped). Watching, settling,
awaiting_review and needs_human are how a resting loop looks under a policy: `standing.status` says which it is.

`evolve` is total and silent: it takes every fact ever written, in any order, raises nothing and knows no policy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, assert_never

from amends.common.envelope import Event
from amends.common.events import (
    AccessChanged,
    AnyFact,
    Author,
    AuthorChecked,
    Change,
    ChecksCounted,
    ChecksFinished,
    ChecksRequested,
    Closed,
    Collected,
    CommandAccepted,
    CommandGiven,
    CommandName,
    CommandRefused,
    CommentAdded,
    CommentDeleted,
    CommentEdited,
    CommentsFailed,
    CommentsFetched,
    CycleFinished,
    DeliveryParked,
    Escalated,
    Fact,
    Failure,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixRequested,
    FixStarted,
    ItemKind,
    Judgement,
    LoopFinished,
    LoopOpened,
    LoopPaused,
    LoopResumed,
    LoopStuck,
    Notified,
    NotifyFailed,
    NotifyStarted,
    Past,
    PolicyChanged,
    PolicyObserved,
    PrClosed,
    PrObserved,
    PushRefused,
    PushRequested,
    ResolveFinished,
    ResolveRequested,
    ReviewApproved,
    ReviewCommented,
    ReviewDismissed,
    ReviewRejected,
    ReviewRequested,
    Scope,
    ThreadResolved,
    ThreadUnresolved,
    TimerFired,
    Usage,
    Verdict,
    seen_as,
)
from amends.common.frozen import changed, frozen, replace
from amends.common.identity import LoopKind, kind_of, policy_loop
from amends.common.policy import Overrides, Policy, Severity

Key = TypeVar("Key")
Value = TypeVar("Value")
AfterPush = TypeVar("AfterPush", ResolveRequested, ChecksRequested)

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
HOUR = 3_600_000_000
DAY = 24 * HOUR
EMPTY_BODY = "0" * 16
NUMBER = re.compile("[0-9]{1,19}")
TRUSTED = frozenset({"admin", "maintain", "write"})


class Phase(StrEnum):
    """Whose turn it is: nobody's, a worker's, or a human's."""

    RESTING = "resting"
    COLLECTING = "collecting"
    FIXING = "fixing"
    PUSHING = "pushing"
    STOPPED = "stopped"


class Mark(NamedTuple):
    """Where and when in the log something was said."""

    pos: int = 0
    version: int = 0
    time: int = 0


NOWHERE = Mark()


@frozen
class Slot:
    """The latest value of a snapshot: how many there were, which it is, and the forge's own date of it."""

    n: int
    pos: int
    value: str
    updated: int | None


@frozen
class Review:
    """A review; `permission` is None until its author was checked."""

    author: Author
    verb: str = ""
    head: str = ""
    dismissed: bool = False
    permission: str | None = None
    overdue: str = ""
    mark: Mark = NOWHERE


@frozen
class Hint:
    """News of a comment, not its text; no body means that it was deleted."""

    author: Author
    body: str
    updated: int
    mark: Mark


@frozen
class Item:
    """One piece of feedback: the version that was collected last, the news since, and the verdict of each version.

    `hints` arrived since collecting began, `asked` before; both make the item newer than `version`; `voices` are all
    who were heard in it. `named` says that a command asked for it, `waived` that a human put it aside, `absent` that
    the forge does not show it any more. What is said after it was `resolved` (by the forge's clock: `closed_at`) opens
    it again: `reopened` is the version that holds those words. `echo` is when we resolved it ourselves, as the forge
    told us back. `question` is what a human was asked about it at `asked_at`, a version of the loop; one answer settles
    what is `beside` it, too.
    """

    kind: ItemKind
    author: Author | None = None
    review: int | None = None
    version: str = ""
    hints: dict[str, Hint] = field(default_factory=dict)
    asked: dict[str, Hint] = field(default_factory=dict)
    voices: tuple[str, ...] = ()
    verdicts: dict[str, Judgement] = field(default_factory=dict)
    resolved: bool = False
    closed_at: int = 0
    reopened: str = ""
    echo: int = 0
    absent: bool = False
    named: bool = False
    waived: bool = False
    ours: bool = False
    fixed: int = 0
    first_cycle: int = 0
    questioned: str = ""
    question: str = ""
    asked_at: int = 0
    beside: tuple[str, ...] = ()
    severity: Severity | None = None
    path: str = ""
    line: int | None = None
    text: str = ""
    mark: Mark = NOWHERE


@frozen
class Command:
    """A command that was not accepted or refused yet; `overdue` when nobody looked up its author in time."""

    name: CommandName
    author: Author
    text: str
    permission: str | None
    mark: Mark
    overdue: str = ""


@frozen
class Failed:
    """Why the running attempt ended, and when it may begin again."""

    reason: Failure
    mark: Mark
    retry_after: int = 0
    retry: bool = False
    detail: str = ""
    patch: str | None = None


@frozen
class Claim:
    """Who works on the attempt: the slot that holds it, and the process it runs in."""

    holder: str
    run: str
    mark: Mark


@frozen
class Prepared:
    """The fix that came out of an attempt."""

    base: str
    changes: tuple[Change, ...]
    verdicts: tuple[Verdict, ...]
    mark: Mark
    credits: tuple[Author, ...] = ()


@frozen
class Push:
    """A push that was asked for."""

    again: int
    mark: Mark
    overdue: bool = False


@frozen
class Cycle:
    """The running cycle. `tries` are its attempts that failed by their own fault, `outage` since when others fail.

    What is `closed` had its verdict when it was asked for: nobody reads it again, whatever is said about it meanwhile.
    """

    rules: Policy
    scope: Scope
    head: str
    rejecting: tuple[str, ...]
    requested: Mark
    closed: tuple[Closed, ...] = ()
    fetched: Mark | None = None
    claim: Claim | None = None
    prepared: Prepared | None = None
    push: Push | None = None
    pushes: int = 0
    pushed: str = ""
    pushed_items: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    failed: Failed | None = None
    tries: int = 0
    outage: int = 0
    outages: int = 0


Asking: TypeAlias = (
    CycleFinished | ResolveRequested | ChecksRequested | ReviewRequested | Escalated | LoopPaused | LoopFinished
)


@frozen
class Ask:
    """Something a service was asked and has not answered, beside the work on a fix."""

    fact: Asking
    mark: Mark
    overdue: bool = False


@frozen
class Watch:
    """A commit of ours, for which checks have to begin within so many seconds; `over` when these have passed."""

    n: int
    sha: str
    seconds: int
    mark: Mark
    over: bool = False


@frozen
class Spent:
    """What a claim reserves while it is live, and what it spent afterwards, in millionths of a dollar."""

    holder: str
    run: str
    day: int
    live: bool
    usd_micro: int


@frozen
class Loop:
    """One change on its way to being accepted (or, for two kinds, where settings live).

    `turn` is the version of the last fact that was reported: what follows it was decided on it. `vain` counts the
    cycles in a row that found a door closed, since a human or the forge last opened it.
    """

    id: str
    version: int = 0
    turn: int = 0
    pos: int = 0
    time: int = 0
    opened: bool = False
    ref: str = ""
    pull: PrObserved | None = None
    closed: str = ""
    slots: dict[str, Slot] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    items: dict[str, Item] = field(default_factory=dict)
    permissions: dict[str, str] = field(default_factory=dict)
    strangers: tuple[int, ...] = ()
    seen: tuple[str, ...] = ()
    commands: dict[str, Command] = field(default_factory=dict)
    checked_early: dict[str, str] = field(default_factory=dict)
    paused: str = ""
    phase: Phase = Phase.RESTING
    n: int = 0
    k: int = 0
    used: int = 0
    granted: int = 0
    vain: int = 0
    cycle: Cycle | None = None
    workspace: str = ""
    ask: str = ""
    ending: Literal["", "skip", "accepted", "ready", "stopped"] = ""
    hold: str = ""
    barred: int = 0
    settled: str = ""
    woken: Mark = NOWHERE
    ended: int = 0
    pushed: str = ""
    wrote: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    watch: Watch | None = None
    unstarted: tuple[str, ...] = ()
    awaiting: bool = False
    human: str = ""
    conflicts: tuple[str, ...] = ()
    finished: str = ""
    finished_at: int = 0
    finishes: int = 0
    spent: Usage = Usage()
    claims: dict[str, Spent] = field(default_factory=dict)
    history: tuple[Past, ...] = ()
    asks: dict[int, Ask] = field(default_factory=dict)
    told: tuple[int, ...] = ()
    parked: dict[str, str] = field(default_factory=dict)
    rules: Overrides = Overrides()
    rules_for: dict[str, Overrides] = field(default_factory=dict)
    rules_error: str = ""
    fixing_off: str = ""
    fixing_on: int = 0

    @cached_property
    def kind(self) -> LoopKind:
        """Whether it follows a change or holds settings."""
        return kind_of(self.id)

    @cached_property
    def settings(self) -> str:
        """The loop that holds the policy of its repository."""
        return policy_loop(self.id)


def evolve(loop: Loop, event: Event) -> Loop:
    """The loop after one more event: a copy, which is this event's own until it is done, and frozen from then on."""
    return told(replace(loop), event.fact, Mark(event.pos, event.version, event.time))


def told(own: Loop, fact: AnyFact, mark: Mark) -> Loop:
    """The caller's own loop, changed in place into the one after this fact, which stands there in the log."""
    kind, state = type(fact), own.__dict__  # itself, for this is done once an event: `changed` takes twice as long
    state["pos"], state["version"], state["time"] = mark
    if kind.by:
        state["turn"] = mark.version
    if kind in SNAPSHOTS:
        own = _numbered(own, fact, mark)
    own = MEANING[kind](own, fact, mark)
    return changed(own, parked=_still_parked(own)) if own.parked else own


# --- the pull request and what is said about it --------------------------------------------------------------------


def snapshot_value(fact: Fact) -> str:
    """What a snapshot says, without when: two equal values are the same snapshot."""
    said = fact.__pydantic_serializer__.to_json(fact, exclude=_UNSAID)
    return sha256(type(fact).__name__.encode() + said).hexdigest()[:32]


_UNSAID = {"type", "updated_at"}


def snapshot_updated(fact: Fact) -> int | None:
    """The forge's own date of a snapshot, if it gives one."""
    updated: datetime | None = getattr(fact, "updated_at", None)
    return None if updated is None else micros(updated)


def _numbered(loop: Loop, fact: Fact, mark: Mark) -> Loop:
    name = fact.slot
    before = loop.slots.get(name)
    slot = Slot((before.n if before else 0) + 1, mark.pos, snapshot_value(fact), snapshot_updated(fact))
    return changed(loop, slots={**loop.slots, name: slot})


def _seen(loop: Loop, fact: PrObserved | PrClosed | AccessChanged, mark: Mark) -> Loop:
    if isinstance(fact, PrClosed):
        return changed(loop, closed="merged" if fact.merged else "closed", hold="")
    if isinstance(fact, AccessChanged):
        return _barred(loop, fact, mark)
    barred = loop.barred if loop.barred and loop.barred >= micros(fact.updated_at) else 0
    if loop.closed:
        return changed(loop, pull=fact, closed="", finished="", hold="", barred=barred, woken=mark)
    same = loop.pull is not None and loop.pull.head == fact.head
    return changed(loop, pull=fact, hold="", barred=barred, unstarted=loop.unstarted if same else ())


def _opened(loop: Loop, fact: LoopOpened, _mark: Mark) -> Loop:
    return changed(loop, opened=True, ref=fact.ref)


def _barred(loop: Loop, fact: AccessChanged, mark: Mark) -> Loop:
    """Access is lost until it is granted, or the pull request is seen in a state of a later date."""
    if fact.access == "granted":
        return changed(loop, hold="", barred=0, vain=0)
    since = snapshot_updated(fact) or mark.time
    seen = loop.pull is not None and micros(loop.pull.updated_at) > since
    return loop if seen else changed(loop, barred=since)


_VERBS = {ReviewRejected: "rejected", ReviewApproved: "approved", ReviewCommented: "commented"}


def _reviewed(
    loop: Loop, fact: ReviewRejected | ReviewApproved | ReviewCommented | ReviewDismissed, mark: Mark
) -> Loop:
    known = loop.reviews.get(fact.review) or Review(fact.author)
    if isinstance(fact, ReviewDismissed):
        return changed(loop, reviews={**loop.reviews, fact.review: replace(known, dismissed=True)})
    review = replace(known, author=fact.author, verb=_VERBS[type(fact)], head=fact.head, mark=mark)
    loop = changed(loop, reviews={**loop.reviews, fact.review: review})
    if fact.body or isinstance(fact, ReviewRejected):  # only a rejection says something without words
        place = Place(f"review/{fact.review}", "review", fact.node, root=True)
        loop = _hinted(loop, place, Hint(fact.author, fact.body or EMPTY_BODY, micros(fact.submitted_at), mark))
    if isinstance(fact, ReviewRejected):
        for number, finding in enumerate(fact.findings, 1):
            item = _spoken("finding", fact.author, finding.text, mark)
            item = replace(item, review=fact.review, severity=finding.severity, path=finding.path, line=finding.line)
            loop = _with_item(loop, f"finding/{fact.review}/{number}", item)
    return loop


class Place(NamedTuple):
    """Where something is said: the item, the comment's node in it, and whether that is the item's first."""

    id: str
    kind: ItemKind
    node: str
    root: bool


def _commented(loop: Loop, fact: CommentAdded | CommentEdited, mark: Mark) -> Loop:
    place = Place(f"{fact.kind}/{fact.root}", fact.kind, fact.node, fact.comment == fact.root)
    return _hinted(loop, place, Hint(fact.author, fact.body, micros(fact.updated_at), mark))


def _hinted(loop: Loop, place: Place, hint: Hint) -> Loop:
    node, author = place.node, hint.author
    if author.kind in {"self", "ghost"} or (loop.seen and seen_as(node, hint.body) in loop.seen):
        return loop
    item = loop.items.get(place.id) or _unknown(place.kind, hint.mark)
    known = [one for one in (item.hints.get(node), item.asked.get(node)) if one]
    # Deleted before it was heard of: that somebody spoke is true all the same.
    gone = bool(known) and any(not one.body for one in known)
    if known and not gone and not all(newer(hint, one) for one in known):
        return loop
    stranger = is_stranger(loop, author)  # who opens nothing again
    account = author.account
    item = replace(
        item, author=author if place.root else item.author, hints=item.hints if gone else {**item.hints, node: hint},
        voices=item.voices if account in item.voices else (*item.voices, account),
        waived=item.waived and stranger, absent=item.absent and (stranger or (gone and place.kind == "comment")),
    )  # fmt: skip
    return _with_item(loop, place.id, item)


def is_stranger(loop: Loop, author: Author) -> bool:
    """Whether a collection has found that this account's word does not count."""
    return author.kind != "token" and author.id in loop.strangers


def _unknown(kind: ItemKind, mark: Mark) -> Item:
    """An item of which nothing is known yet; a copy, because making one from its defaults takes five times as long."""
    return replace(_BLANK, kind=kind, mark=mark)


_BLANK = Item("thread")


def newer(hint: Hint, known: Hint | None) -> bool:
    """Whether it says something later than what is known; a deletion is for ever, a tie falls the same way always."""
    if known is None:
        return True
    return bool(known.body) and (not hint.body or (hint.updated, hint.body) > (known.updated, known.body))


def _deleted(loop: Loop, fact: CommentDeleted, mark: Mark) -> Loop:
    id_ = f"{fact.kind}/{fact.root}"
    item = loop.items.get(id_) or _unknown(fact.kind, mark)
    gone = Hint(Author(id=0, kind="ghost"), "", 0, mark)
    hints = {**item.hints, fact.node: gone}
    return _with_item(loop, id_, replace(item, hints=hints, absent=item.absent or fact.kind == "comment"))


def _resolved(loop: Loop, fact: ThreadResolved | ThreadUnresolved, mark: Mark) -> Loop:
    id_ = f"thread/{fact.root}"
    item = loop.items.get(id_) or _unknown("thread", mark)
    if isinstance(fact, ThreadUnresolved):
        return _with_item(loop, id_, replace(item, resolved=False, closed_at=0, echo=0, mark=mark))
    asked = (ask.fact for ask in loop.asks.values())
    ours = any(isinstance(one, ResolveRequested) and id_ in {verdict.item for verdict in one.verdicts} for one in asked)
    updated = snapshot_updated(fact)
    # Later than what was told back of ours: somebody opened it again meanwhile, which we have not heard, and closed it.
    theirs = updated is not None and item.resolved and 0 < item.echo < updated
    if not theirs and (ours or (item.resolved and item.closed_at == OURS)):
        return _with_item(loop, id_, _closed(item, OURS, updated or 0))
    return _with_item(loop, id_, _closed(item, mark.time if updated is None else updated))


# When a thread was resolved that we resolved: unlike a person's last word before he resolves it himself, nothing that
# was said there before we did, and that we had not heard, is settled by it.
OURS = 0


def _closed(item: Item, at: int, echo: int = 0) -> Item:
    return replace(item, resolved=True, reopened="", closed_at=at, echo=echo)


def _checked(loop: Loop, fact: ChecksFinished, mark: Mark) -> Loop:
    if fact.conclusion == "none_started":
        ours = loop.pull is not None and fact.head == loop.pull.head and not loop.closed
        return changed(loop, unstarted=(*loop.unstarted, fact.name)) if ours else loop
    if fact.required is None:
        return loop
    id_ = f"check/{fact.name}"
    item = loop.items.get(id_)
    if fact.required and fact.conclusion == "failure" and not fact.fails_on_base:
        hint = Hint(Author(id=0, login=fact.name, kind="token"), fact.head, snapshot_updated(fact) or mark.time, mark)
        item = item or replace(_unknown("check", mark), author=hint.author)
        hints = {**item.hints, fact.head: hint}
        return _with_item(loop, id_, replace(item, resolved=False, absent=False, waived=False, hints=hints))
    if item is None:
        return loop
    hints, asked = _without(item.hints, fact.head), _without(item.asked, fact.head)
    if not (hints or asked or item.version):  # nobody has seen it fail: as if it never had
        return changed(loop, items=_without(loop.items, id_))
    resolved = item.resolved or (not hints and item.version in {"", fact.head})
    return _with_item(loop, id_, replace(item, hints=hints, asked=asked, resolved=resolved))


def _author(loop: Loop, fact: AuthorChecked, mark: Mark) -> Loop:
    loop = changed(loop, permissions={**loop.permissions, fact.author.account: fact.permission})
    if fact.permission in TRUSTED and fact.author.id in loop.strangers:
        loop = changed(loop, strangers=tuple(id_ for id_ in loop.strangers if id_ != fact.author.id))
    kind, _, rest = fact.of.partition("/")
    if kind == "review" and rest.split("/")[0].isdigit():
        number = int(rest.split("/")[0])
        review = loop.reviews.get(number) or Review(fact.author)
        review = replace(review, permission=fact.permission, mark=mark)
        return changed(loop, reviews={**loop.reviews, number: review})
    if command := loop.commands.get(fact.of):
        checked = replace(command, permission=fact.permission)
        return changed(loop, commands=_kept(loop, {**loop.commands, fact.of: checked}))
    if kind == "command":
        return changed(loop, checked_early={**_newest(loop.checked_early), fact.of: fact.permission})
    return loop


# --- commands ------------------------------------------------------------------------------------------------------


def _commanded(loop: Loop, fact: CommandGiven, mark: Mark) -> Loop:
    command = Command(fact.name, fact.author, fact.text, loop.checked_early.get(fact.key), mark)
    waiting = _kept(loop, {**loop.commands, fact.key: command})
    return changed(loop, commands=waiting, checked_early=_without(loop.checked_early, fact.key))


def _kept(loop: Loop, waiting: dict[str, Command]) -> dict[str, Command]:
    """What waits for a resume, which may not set off more than can be decided at once.

    Those whom nobody has looked up are counted apart, so that they cannot crowd out the others.
    """
    if not loop.paused:
        return waiting
    believed = {key: one for key, one in waiting.items() if one.author.kind == "token" or one.permission in TRUSTED}
    unknown = {key: one for key, one in waiting.items() if key not in believed and one.permission is None}
    kept = _newest(believed, 6) | _newest(unknown, 100)
    return {key: one for key, one in waiting.items() if key in kept}


def _newest(entries: dict[str, Value], most: int = 5) -> dict[str, Value]:
    return dict(list(entries.items())[-most:])


def _accepted(loop: Loop, fact: CommandAccepted, mark: Mark) -> Loop:
    command = loop.commands.get(fact.of)
    loop = changed(loop, commands=_without(loop.commands, fact.of))
    match fact.name:
        case "fix":
            return changed(_released(loop, mark), ask=fact.of)
        case "retry":
            return _retried(loop, mark)
        case "reset":  # a new beginning of everything that is counted against it
            return changed(_retried(loop, mark), used=0, granted=0, spent=Usage())
        case "refine":
            return _refined(loop, fact.of, command, mark)
        case "skip" | "accept" | "ready" | "stop":
            return _ending(loop, fact.name, mark)
        case "resume":
            return changed(loop, commands=_without_pauses(loop.commands, command.mark if command else mark))
        case "pause" | "explain" | "help":
            return loop
        case _:
            assert_never(fact.name)


def _refused(loop: Loop, fact: CommandRefused, _mark: Mark) -> Loop:
    return changed(loop, commands=_without(loop.commands, fact.of))


def _paused(loop: Loop, fact: LoopPaused, mark: Mark) -> Loop:
    return _asking(loop if fact.again else changed(loop, paused=fact.of), fact, mark)


def _resumed(loop: Loop, _fact: LoopResumed, mark: Mark) -> Loop:
    return changed(loop, paused="", woken=mark, fixing_off="", fixing_on=mark.pos)


def _ending(loop: Loop, name: Literal["skip", "accept", "ready", "stop"], mark: Mark) -> Loop:
    match name:
        case "skip":
            return changed(_waived(loop), ending="skip" if loop.cycle else "", woken=mark)
        case "accept":
            return changed(_waived(loop), ending="accepted")
        case "ready":
            return changed(loop, ending="ready")
        case "stop":
            return changed(loop, ending="stopped")


def _without_pauses(waiting: dict[str, Command], resumed: Mark) -> dict[str, Command]:
    """A resume takes back every pause that was said before it."""
    return {key: one for key, one in waiting.items() if one.name != "pause" or one.mark.pos > resumed.pos}


def _refined(loop: Loop, key: str, command: Command | None, mark: Mark) -> Loop:
    loop = _retried(loop, mark) if needs_human(loop) else _released(loop, mark)
    item = _spoken("command", command.author, command.text, mark) if command else _spoken("command", None, "", mark)
    return _with_item(loop, key, replace(item, named=True))


def needs_human(loop: Loop) -> bool:
    """Whether it waits for a human's word: it was stopped, or a question is open."""
    return loop.phase is Phase.STOPPED or any(is_question(loop, item) for item in loop.items.values())


def is_question(loop: Loop, item: Item) -> bool:
    """Whether the version that was collected last waits for a human's answer."""
    asks = item.verdicts.get(item.version) is Judgement.NEEDS_HUMAN
    return asks and not (item.resolved or item.absent or item.waived or is_past(loop, item))


def is_past(loop: Loop, item: Item) -> bool:
    """Whether it is a check of a commit that is not the head: its version means nothing for another."""
    return item.kind == "check" and loop.pull is not None and item.version != loop.pull.head


def _released(loop: Loop, mark: Mark) -> Loop:
    phase = Phase.RESTING if loop.phase is Phase.STOPPED else loop.phase
    return changed(loop, phase=phase, human="", finished="", hold="", barred=0, vain=0, woken=mark)


def _retried(loop: Loop, mark: Mark) -> Loop:
    items = {id_: _opened_again(item) for id_, item in loop.items.items()}
    return changed(_released(loop, mark), items=items, granted=loop.granted + 1, wrote={})


def _opened_again(item: Item) -> Item:
    """What was left to a human is work again, and what kept coming back or undid itself is forgiven."""
    left = item.verdicts.get(item.version) in {Judgement.NEEDS_HUMAN, Judgement.DEFERRED}
    verdicts = _without(item.verdicts, item.version) if left else item.verdicts
    return replace(item, verdicts=verdicts, named=item.named or left, waived=False, fixed=0)


def _waived(loop: Loop) -> Loop:
    items = {id_: _put_aside(item) if is_open(item) else item for id_, item in loop.items.items()}
    return changed(loop, items=items, ask="")


def _put_aside(item: Item) -> Item:
    undecided = bool(item.version) and item.verdicts.get(item.version) in UNDECIDED
    verdicts = {**item.verdicts, item.version: Judgement.DEFERRED} if undecided else item.verdicts
    return replace(item, verdicts=verdicts, waived=True, named=False, question="", beside=())


UNJUDGED = frozenset({None, Judgement.SUPERSEDED})
UNDECIDED = UNJUDGED | {Judgement.NEEDS_HUMAN}


def is_open(item: Item) -> bool:
    """Whether some version of it still waits for a verdict, or for a human's answer."""
    if item.absent or item.waived:
        return False
    if any(hint.body for hint in (*item.hints.values(), *item.asked.values())):
        return True
    return bool(item.version) and not item.resolved and item.verdicts.get(item.version) in UNDECIDED


def _spoken(kind: ItemKind, author: Author | None, text: str, mark: Mark) -> Item:
    author = author or Author(id=0, kind="token")
    hint = Hint(author, digest(text), mark.time, mark)
    return Item(kind, author=author, text=text, hints={"text": hint}, mark=mark)


# --- cycles --------------------------------------------------------------------------------------------------------


def _requested(loop: Loop, fact: FixRequested, mark: Mark) -> Loop:
    carried = {text.item for text in fact.texts}  # a text of our own that found no room stays news
    items = {
        id_: replace(item, asked={**item.asked, **item.hints}, hints={})
        if item.hints and (not item.text or id_ in carried)
        else item
        for id_, item in loop.items.items()
    }
    cycle = Cycle(fact.rules, fact.scope, fact.head, fact.rejecting, mark, fact.closed)
    if loop.cycle and fact.k > 1:
        old = loop.cycle
        cycle = replace(cycle, tries=old.tries + (old.failed is None), outage=old.outage, outages=old.outages)
    return changed(
        loop, phase=Phase.COLLECTING, n=fact.n, k=fact.k, cycle=cycle, items=items, ask="", finished="", human=""
    )  # fmt: skip


def _worked(
    loop: Loop,
    fact: CommentsFetched | CommentsFailed | FixStarted | FixPrepared | FixFailed | PushRequested,
    mark: Mark,
) -> Loop:
    cycle = loop.cycle
    if cycle is None or (fact.n, fact.k) != (loop.n, loop.k):
        return loop
    match fact:
        case CommentsFetched():
            loop = _collected(loop, fact, mark)
            cycle = replace(cycle, fetched=mark, head=fact.head, conflicts=fact.conflicts)
            told = loop.conflicts if fact.conflicts else ()
            return changed(loop, phase=Phase.FIXING, cycle=cycle, conflicts=told)
        case CommentsFailed():
            return changed(loop, cycle=_failing(cycle, Failed(fact.reason, mark, fact.retry_after)))
        case FixStarted():
            claim = Claim(fact.holder, fact.run, mark)
            loop = _reserved(loop, fact, mark, cycle.rules)
            return changed(loop, cycle=replace(cycle, claim=claim), workspace=fact.workspace or loop.workspace)
        case FixPrepared():
            prepared = Prepared(fact.base, fact.changes, fact.verdicts, mark, fact.credits)
            cycle = replace(cycle, prepared=prepared, claim=None, outage=0, outages=0)
            return changed(_settled(loop, fact.usage), cycle=cycle)
        case FixFailed():
            failed = Failed(fact.reason, mark, fact.retry_after, detail=fact.detail[:MOST_DETAIL])
            cycle = replace(_failing(cycle, failed), claim=None)
            return changed(_settled(loop, fact.usage), cycle=cycle)
        case PushRequested():
            cycle = replace(cycle, push=Push(fact.again, mark), pushes=cycle.pushes + 1, failed=None)
            return changed(loop, phase=Phase.PUSHING, cycle=cycle)
        case _:
            assert_never(fact)


def _reserved(loop: Loop, fact: FixStarted, mark: Mark, rules: Policy) -> Loop:
    reserved = round(rules.budget.run_usd * 1_000_000)
    claim = Spent(fact.holder, fact.run, mark.time // DAY, live=True, usd_micro=reserved)
    recent = dict(list(loop.claims.items())[-4:])
    return changed(loop, claims={**recent, f"{fact.n}/{fact.k}": claim})


def _settled(loop: Loop, usage: Usage | None) -> Loop:
    """The running claim is over; what nobody accounted for stays as it was reserved."""
    step = f"{loop.n}/{loop.k}"
    claim = loop.claims.get(step)
    if claim is None or not claim.live:
        return loop
    spent = claim.usd_micro if usage is None else usage.usd_micro
    total = added(loop.spent, usage or Usage(usd_micro=spent))
    return changed(loop, claims={**loop.claims, step: replace(claim, live=False, usd_micro=spent)}, spent=total)


# Failures of the world around us: they wait their turn again and are not held against the cycle.
OUTAGES = frozenset({Failure.MODEL_OVERLOADED, Failure.GITHUB_UNAVAILABLE, Failure.GITHUB_INCOMPLETE})
# Failures of the model's account: nobody can fix anything until a human has seen to it.
MODEL_OFF = frozenset({Failure.MODEL_AUTH, Failure.MODEL_SPEND, Failure.MODEL_UNKNOWN})
# Failures that begin again at once, a few times.
RESTARTS = frozenset(
    {Failure.MOVED, Failure.WORKSPACE_LOST, Failure.CRASHED, Failure.SUPERSEDED, Failure.STALLED}
)  # fmt: skip


def _failing(cycle: Cycle, failed: Failed) -> Cycle:
    tries = cycle.tries + (failed.reason in RESTARTS)
    if failed.reason in OUTAGES:
        cycle = replace(cycle, outage=cycle.outage or failed.mark.time, outages=cycle.outages + 1)
    return replace(cycle, failed=failed, tries=tries)


def _collected(loop: Loop, fact: CommentsFetched, mark: Mark) -> Loop:
    seen = frozenset(fact.seen)
    found = {collected.id: collected for collected in fact.items}
    closed = {(one.item, one.version) for one in loop.cycle.closed} if loop.cycle else set()
    items = {}
    for id_ in {**loop.items, **found}:
        known, now = loop.items.get(id_), found.get(id_)
        item = known or _unknown(now.kind if now else "comment", mark)
        hints = item.hints
        if hints:
            hints = {node: hint for node, hint in hints.items() if _unseen(item, node, hint, fact.head, seen)}
        if now is None:
            # What needs no verdict is not told where there is no room, and a text of our own only while it waits.
            kept = (id_, item.version) in closed and bool(item.text or fact.left_out.overflow)
            items[id_] = replace(item, hints=hints, asked={}, absent=not (hints or kept))
        else:
            items[id_] = _indexed(loop, item, now, hints)
    strangers = {*loop.strangers, *fact.strangers}
    if strangers:
        strangers -= {collected.author.id for collected in fact.items}
    return changed(loop, items=items, seen=fact.seen, strangers=tuple(sorted(strangers)))


def _unseen(item: Item, node: str, hint: Hint, head: str, seen: frozenset[str]) -> bool:
    """Whether the hint is news even after a collection at `head` that has seen these texts."""
    if item.kind == "check":
        return hint.body != head
    return bool(hint.body) and seen_as(node, hint.body) not in seen


def _indexed(loop: Loop, item: Item, now: Collected, hints: dict[str, Hint]) -> Item:
    """The item as it was just collected. Who said `fix` asked for all that is open now, until it has its verdict."""
    version, verdicts, reopened = now.version, item.verdicts, item.reopened
    if item.waived and verdicts.get(version) in UNDECIDED:
        verdicts = {**verdicts, version: Judgement.DEFERRED}
    if item.resolved and version != item.version:
        said = (*item.asked.values(), *item.hints.values())
        if any(hint.updated > item.closed_at for hint in said):
            reopened = version  # words that count, said after somebody had resolved it
    resolved = now.resolved and version != reopened
    everything = loop.cycle is not None and loop.cycle.scope == "all"
    return replace(
        item, kind=now.kind, author=now.author, review=now.review, version=version, verdicts=verdicts,
        hints=hints, asked=_BLANK.asked, absent=False, resolved=resolved, reopened=reopened, ours=now.ours,
        path=now.path, line=now.line, severity=now.severity or item.severity,
        first_cycle=item.first_cycle if item.version or item.verdicts else loop.n,
        named=item.named or (everything and not resolved and verdicts.get(version) in UNJUDGED),
    )  # fmt: skip


def _published(loop: Loop, fact: FixPushed | PushRefused, mark: Mark) -> Loop:
    cycle = loop.cycle
    if cycle is None or fact.n != loop.n:
        return loop
    if isinstance(fact, FixPushed):
        if loop.pull and cycle.prepared and loop.pull.head == cycle.prepared.base:
            loop = changed(loop, pull=loop.pull.model_copy(update={"head": fact.sha}))  # GitHub will tell it later
        landed = replace(cycle, pushed=fact.sha, pushed_items=fact.items, lines=fact.wrote, failed=None)
        return changed(loop, cycle=landed)
    if fact.k != loop.k:
        return loop
    failed = Failed(fact.reason, mark, detail=fact.detail[:MOST_DETAIL], patch=fact.patch)
    return changed(loop, cycle=_failing(replace(cycle, push=None), failed))


def _cycled(loop: Loop, fact: CycleFinished, mark: Mark) -> Loop:
    return _asking(loop if fact.again else _judged_all(loop, fact, mark), fact, mark)


def _judged_all(loop: Loop, fact: CycleFinished, mark: Mark) -> Loop:
    loop = _settled(loop, None)
    items = dict(loop.items)
    for verdict in fact.verdicts:
        if item := items.get(verdict.item):
            items[verdict.item] = _judged(item, verdict, mark)
    prepared = loop.cycle.prepared if loop.cycle else None
    wrote = {change.path: (change.before, change.blob) for change in prepared.changes} if prepared else {}
    pushed = fact.outcome == "pushed"
    lines = loop.cycle.lines if loop.cycle else ()
    watch = Watch(fact.n, fact.sha, fact.ci_seconds, mark) if fact.ci_seconds else loop.watch
    return changed(
        loop, phase=Phase.RESTING, cycle=None, items=items, used=loop.used + fact.used, ended=mark.version,
        history=remembered(loop, fact), woken=mark, pushed=fact.sha if pushed else loop.pushed,
        wrote=wrote if pushed else loop.wrote, lines=lines if pushed else loop.lines,
        awaiting=loop.awaiting or fact.outcome in {"pushed", "answered"}, watch=watch,
        vain=loop.vain + 1 if fact.outcome == "cancelled" and fact.reason in SHUT else 0,
        hold=fact.reason if _unseen_since(loop, fact) else loop.hold,
        ending="" if loop.ending == "skip" else loop.ending,
    )  # fmt: skip


def remembered(loop: Loop, finished: CycleFinished) -> tuple[Past, ...]:
    """The loop's history with this cycle as its last line."""
    judged = [verdict.judgement for verdict in finished.verdicts]
    past = Past(
        n=finished.n, outcome=finished.outcome, reason=finished.reason, sha=finished.sha,
        verdicts=tuple((judgement, judged.count(judgement)) for judgement in _JUDGEMENTS if judgement in judged),
    )  # fmt: skip
    return (*loop.history, past)[-50:]


_JUDGEMENTS = tuple(Judgement)  # walking the enumeration itself takes three times as long


def _unseen_since(loop: Loop, finished: CycleFinished) -> bool:
    """Whether a worker met an obstacle that shows in nothing else, and the pull request was not seen since."""
    failed = loop.cycle.failed if loop.cycle else None
    if failed is None or failed.reason != finished.reason or failed.reason not in HOLDS:
        return False
    return all(slot.pos < failed.mark.pos for name, slot in loop.slots.items() if name in {"pr", "access"})


# Why nothing can start until the pull request is seen in another state.
HOLDS = frozenset({Failure.DRAFT, Failure.FORK, Failure.BRANCH_GONE, Failure.ACCESS_LOST, Failure.CLOSED})
# Of these, what its state does not show: it is seen again after each word of ours, and then as if nothing were wrong.
SHUT = frozenset({Failure.BRANCH_GONE, Failure.ACCESS_LOST})


def _judged(item: Item, verdict: Verdict, mark: Mark) -> Item:
    judgement, severity = verdict.judgement, verdict.severity or item.severity
    verdicts = {**item.verdicts, verdict.version: judgement}
    match judgement:
        case Judgement.NEEDS_HUMAN:
            return replace(
                item, verdicts=verdicts, severity=severity, named=False, question=verdict.reason[:LONGEST_QUESTION],
                asked_at=mark.version, beside=verdict.beside, questioned="",
            )  # fmt: skip
        case Judgement.SUPERSEDED:
            return replace(item, verdicts=verdicts, severity=severity)
        case _:
            fixed = item.fixed + (judgement is Judgement.FIXED)
            return replace(
                item, verdicts=verdicts, severity=severity, named=False, fixed=fixed, question="", beside=()
            )  # fmt: skip


LONGEST_QUESTION = 4_000


# --- settings ------------------------------------------------------------------------------------------------------


def _ruled(loop: Loop, fact: PolicyChanged, _mark: Mark) -> Loop:
    if not fact.repository:
        return changed(loop, rules=fact.over(loop.rules))
    name = fact.repository.lower()
    own = fact.over(loop.rules_for.get(name, Overrides()))
    return changed(loop, rules_for={**loop.rules_for, name: own})


def _read(loop: Loop, fact: PolicyObserved, _mark: Mark) -> Loop:
    if fact.error or fact.values is None:
        return changed(loop, rules_error=f"line {fact.line or '?'}: {fact.error}")
    return changed(loop, rules=fact.values, rules_error="")


def _still_parked(loop: Loop) -> dict[str, str]:
    """What a service gave up on, until it is answered, asked again or shown to a human instead."""
    owed = {str(pos) for pos in _owed(loop)}
    return dict([one for one in loop.parked.items() if one[0].partition("/")[0] in owed][-MOST_PARKED:])


def _owed(loop: Loop) -> Iterator[int]:
    """Where something was said that somebody has to answer or look into."""
    yield from loop.asks
    everybody: list[Review | Command] = [*loop.reviews.values(), *loop.commands.values()]
    for said in everybody:
        if said.permission is None and not said.overdue:
            yield said.mark.pos
    cycle = loop.cycle
    if cycle and cycle.push and not cycle.pushed:
        yield cycle.push.mark.pos
    elif cycle and not (cycle.failed or cycle.prepared):
        yield (cycle.fetched or cycle.requested).pos


MOST_PARKED = 50
MOST_DETAIL = 2_000


# --- asking people, and time ---------------------------------------------------------------------------------------


def _asking(loop: Loop, fact: Asking, mark: Mark) -> Loop:
    if isinstance(fact, CycleFinished) and fact.outcome == "nothing_to_do":
        return loop  # nobody is told
    asks = {pos: ask for pos, ask in loop.asks.items() if not _again(ask.fact, fact)}
    return changed(loop, asks={**asks, mark.pos: Ask(fact, mark)})


def _again(known: Asking, fact: Asking) -> bool:
    """Whether both ask the same, one of them perhaps once more."""
    return type(known) is type(fact) and _first_key(known) == _first_key(fact)


def _first_key(fact: Asking) -> str:
    return fact.model_copy(update={"again": 0}).key if fact.again else fact.key


def _begun(loop: Loop, _fact: NotifyStarted, _mark: Mark) -> Loop:
    return loop


def _told(loop: Loop, fact: Notified | NotifyFailed, mark: Mark) -> Loop:
    hour_ago = mark.time - HOUR
    recent = [time for time in loop.told if time > hour_ago]
    ask = loop.asks.get(fact.of)
    answered = fact.last and ask is not None and ask.fact.service == "notifier"
    return changed(loop, told=(*recent, mark.time), asks=_without(loop.asks, fact.of) if answered else loop.asks)


def _looked_after(loop: Loop, fact: ResolveFinished, _mark: Mark) -> Loop:
    """Only what was asked for can be resolved by it."""
    asked, asks = _answered(loop, ResolveRequested, fact.n)
    if not fact.roots:
        return changed(loop, asks=asks)
    named = {verdict.item for request in asked for verdict in request.verdicts}
    items = dict(loop.items)
    for id_ in named.intersection(f"thread/{root}" for root in fact.roots):
        if (item := items.get(id_)) and not item.resolved:
            items[id_] = _closed(item, OURS)
    return changed(loop, asks=asks, items=items)


def _answered(loop: Loop, kind: type[AfterPush], n: int) -> tuple[list[AfterPush], dict[int, Ask]]:
    """What was asked like this about cycle n, however often, and what is still asked without it."""
    asked = {pos: ask.fact for pos, ask in loop.asks.items() if isinstance(ask.fact, kind) and ask.fact.n == n}
    return list(asked.values()), {pos: ask for pos, ask in loop.asks.items() if pos not in asked}


def _looking(loop: Loop, fact: ChecksRequested, mark: Mark) -> Loop:
    return _asking(loop if fact.again else changed(loop, watch=None), fact, mark)


def _counted(loop: Loop, fact: ChecksCounted, _mark: Mark) -> Loop:
    asked, asks = _answered(loop, ChecksRequested, fact.n)
    head = loop.pull.head if loop.pull and not loop.closed else None
    missing = fact.missing if any(request.sha == head for request in asked) else ()
    return changed(loop, asks=asks, unstarted=missing or loop.unstarted)


def _finished(loop: Loop, fact: LoopFinished, mark: Mark) -> Loop:
    if not fact.again:
        stopped = loop.finished == "stopped" or loop.ending == "stopped"  # and so it is when it is reopened
        loop = changed(
            loop, finished=fact.outcome, finished_at=mark.version, finishes=fact.times, ask="", human="",
            ending="stopped" if stopped and loop.closed else "", phase=Phase.RESTING,
        )  # fmt: skip
    return _asking(loop, fact, mark)


def _escalated(loop: Loop, fact: Escalated, mark: Mark) -> Loop:
    subject, _, rest = fact.of.partition("/")
    if subject == "ask":  # the notifier is the one who does not answer: nobody to ask again
        return changed(loop, asks=_without(loop.asks, number(rest)))
    if fact.again:
        return _asking(loop, fact, mark)
    if subject in {"review", "command", "ci"}:
        return _asking(_told_of_late(loop, subject), fact, mark)
    if loop.kind == "installation":
        return _asking(changed(loop, fixing_off=fact.reason), fact, mark)
    if fact.reason == "question":
        asked = {id_: replace(item, questioned=item.version) for id_, item in loop.items.items() if id_ in fact.items}
        loop = changed(loop, items={**loop.items, **asked})
    if fact.reason == "conflict" and loop.cycle:
        loop = changed(loop, conflicts=loop.cycle.conflicts)
    loop = changed(loop, human=fact.reason)
    if fact.stops:
        loop = changed(loop, phase=Phase.STOPPED, ask="", finished="")
    return _asking(loop, fact, mark)


def _told_of_late(loop: Loop, subject: str) -> Loop:
    """A human knows of the checks that did not begin, or of everybody who should have been looked up by now."""
    if subject == "ci":
        return changed(loop, unstarted=())
    reviews = {id_: replace(one, overdue="told") if one.overdue else one for id_, one in loop.reviews.items()}
    commands = {key: replace(one, overdue="told") if one.overdue else one for key, one in loop.commands.items()}
    return changed(loop, reviews=reviews, commands=commands)


def _fired(loop: Loop, fact: TimerFired, mark: Mark) -> Loop:
    name, _, rest = fact.name.partition("/")
    if name == "settle":
        return changed(loop, settled=f"{fact.name}/{fact.generation}")
    id_ = number(rest)
    if name == "tell" and (ask := loop.asks.get(id_)) and ask.mark.version == fact.generation:
        return changed(loop, asks={**loop.asks, id_: replace(ask, overdue=True)})
    if name == "ci" and (watch := loop.watch) and watch.mark.version == fact.generation:
        return changed(loop, watch=replace(watch, over=True))
    if name == "author" and (review := loop.reviews.get(id_)) and review.mark.version == fact.generation:
        late = "late" if review.permission is None else ""
        return changed(loop, reviews={**loop.reviews, id_: replace(review, overdue=late)})
    if name == "author" and (command := loop.commands.get(rest)) and command.mark.version == fact.generation:
        late = "late" if command.permission is None else ""
        return changed(loop, commands={**loop.commands, rest: replace(command, overdue=late)})
    return _expired(loop, fact, mark) if rest == f"{loop.n}/{loop.k}" else loop


def _parked(loop: Loop, fact: DeliveryParked, _mark: Mark) -> Loop:
    return changed(loop, parked={**loop.parked, f"{fact.of}/{fact.service}": fact.error})


def _stuck(loop: Loop, _fact: LoopStuck, _mark: Mark) -> Loop:
    return loop


def _expired(loop: Loop, fact: TimerFired, mark: Mark) -> Loop:
    """A wait of the running attempt is over."""
    name, cycle = fact.name.partition("/")[0], loop.cycle
    if cycle is None:
        return loop
    failed, claim, push = cycle.failed, cycle.claim, cycle.push
    if name == "retry" and failed and failed.mark.version == fact.generation:
        return changed(loop, cycle=replace(cycle, failed=replace(failed, retry=True)))
    if name == "push" and push and push.mark.version == fact.generation:
        return changed(loop, cycle=replace(cycle, push=replace(push, overdue=True)))
    if failed or cycle.prepared:
        return loop
    if name == "claim" and claim and claim.mark.version == fact.generation:
        loop = _settled(loop, None)
        return changed(loop, cycle=_failing(replace(cycle, claim=None), Failed(Failure.CRASHED, mark)))
    waiting = cycle.fetched or cycle.requested
    if name in {"collect", "start"} and claim is None and waiting.version == fact.generation:
        return changed(loop, cycle=_failing(cycle, Failed(Failure.STALLED, mark)))
    return loop


# --- small parts ---------------------------------------------------------------------------------------------------


def digest(text: str) -> str:
    """A short hash of a text."""
    return sha256(text.encode()).hexdigest()[:32]


def number(text: str) -> int:
    """The number that a name ends in; -1, which nothing has, when it ends in something else."""
    return int(text) if NUMBER.fullmatch(text) else -1


def micros(when: datetime) -> int:
    """A date in the log's microseconds."""
    return (when - EPOCH) // MICROSECOND


def added(one: Usage, other: Usage) -> Usage:
    """Two costs together."""
    return Usage(
        turns=one.turns + other.turns,
        tokens=one.tokens + other.tokens,
        usd_micro=one.usd_micro + other.usd_micro,
        seconds=one.seconds + other.seconds,
    )


def _with_item(loop: Loop, id_: str, item: Item) -> Loop:
    return changed(loop, items={**loop.items, id_: item})


def _without(entries: dict[Key, Value], key: Key) -> dict[Key, Value]:
    left = entries.copy()
    left.pop(key, None)
    return left


# What each fact does to the loop that is its own.
MEANING: dict[type[Fact], Callable[[Loop, Any, Mark], Loop]] = {
    PrObserved: _seen,
    PrClosed: _seen,
    AccessChanged: _seen,
    ReviewRejected: _reviewed,
    ReviewApproved: _reviewed,
    ReviewCommented: _reviewed,
    ReviewDismissed: _reviewed,
    AuthorChecked: _author,
    CommentAdded: _commented,
    CommentEdited: _commented,
    CommentDeleted: _deleted,
    ThreadResolved: _resolved,
    ThreadUnresolved: _resolved,
    ChecksFinished: _checked,
    CommandGiven: _commanded,
    CommandAccepted: _accepted,
    CommandRefused: _refused,
    PolicyChanged: _ruled,
    PolicyObserved: _read,
    LoopOpened: _opened,
    FixRequested: _requested,
    CommentsFetched: _worked,
    CommentsFailed: _worked,
    FixStarted: _worked,
    FixPrepared: _worked,
    FixFailed: _worked,
    PushRequested: _worked,
    FixPushed: _published,
    PushRefused: _published,
    CycleFinished: _cycled,
    ResolveRequested: _asking,
    ResolveFinished: _looked_after,
    ChecksRequested: _looking,
    ChecksCounted: _counted,
    ReviewRequested: _asking,
    Escalated: _escalated,
    NotifyStarted: _begun,
    Notified: _told,
    NotifyFailed: _told,
    DeliveryParked: _parked,
    TimerFired: _fired,
    LoopPaused: _paused,
    LoopResumed: _resumed,
    LoopFinished: _finished,
    LoopStuck: _stuck,
}

# Facts that are values of a slot.
SNAPSHOTS = frozenset(kind for kind in MEANING if kind.slot is not Fact.slot)
