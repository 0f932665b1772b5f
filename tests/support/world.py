"""A world to walk through at random: people on a forge, webhooks that come late, twice or never, workers that crash.

A walk is a list of steps, each a deed and a number that says to whom or what it is done, so that a walk can be told
again and made shorter. What it leaves is a list of reports, as they arrived, and their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from amends.common.answers import Already, Answer, Go, Recorded, Refused, Report
from amends.common.envelope import event_of
from amends.common.events import (
    AnyFact,
    Author,
    AuthorChecked,
    Change,
    ChecksCounted,
    ChecksRequested,
    Collected,
    CommandGiven,
    CommandName,
    CommentsFailed,
    CommentsFetched,
    Failure,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixRequested,
    FixStarted,
    Judgement,
    Notified,
    NotifyFailed,
    PolicyChanged,
    PushRefused,
    PushRequested,
    Reporter,
    ResolveFinished,
    ResolveRequested,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
    TimerFired,
    Usage,
    Verdict,
)
from amends.common.identity import INSTALLATION, About
from amends.common.log import OutstandingRow
from amends.common.loop import TRUSTED
from amends.common.policy import Overrides, Policy
from amends.evaluator.batch import Said
from amends.evaluator.code import CODE
from tests.support.acts import ACTS, PERMISSIONS, Choice
from tests.support.book import Book, broken, fired
from tests.support.facts import ANNA, EVE, MARIA, PANEL, ROBOT
from tests.support.forge import CHECKS, Pull

REPO = 7
HOLDERS = ("fixer/0", "fixer/1", "fixer/2")
RULES = Overrides(repositories=("octo/shop",), settle_seconds=0, bots=(ROBOT.id,))
FETCHING = (Failure.GITHUB_UNAVAILABLE, Failure.GITHUB_INCOMPLETE, Failure.CLOSED, Failure.ACCESS_LOST)
PUSHING = (Failure.MOVED, Failure.FORK, Failure.BRANCH_GONE, Failure.POLICY, Failure.GITHUB_UNAVAILABLE)
COMMANDS: tuple[CommandName, ...] = (
    *("fix", "retry", "refine", "reset", "resume", "fix", "retry", "refine", "reset", "resume"),
    *("skip", "accept", "ready", "stop", "pause", "explain", "help"),
)


class Step(NamedTuple):
    """A deed, and a number from which it takes whatever it has to choose."""

    deed: str
    number: int


@dataclass(frozen=True)
class Job:
    """What a fixer works on, in which life of its process."""

    loop: str
    fetched: CommentsFetched
    run: str


@dataclass
class World:
    """Pull requests of one repository and everybody who works on them. `bag` holds what is under way."""

    book: Book
    rules: Overrides = RULES
    pulls: dict[str, Pull] = field(default_factory=dict)
    bag: list[Said] = field(default_factory=list)
    sent: list[tuple[Said, Answer]] = field(default_factory=list)
    jobs: dict[str, Job] = field(default_factory=dict)
    lives: dict[str, int] = field(default_factory=dict)
    calm: bool = False

    def __post_init__(self) -> None:
        ids, self._serial = count(1_000), count(1)
        self.pulls = {f"{REPO}-pr-{number}": Pull(number, ANNA, ids) for number in (1, 2)}
        self.send(self._report("cli", PolicyChanged(request="start", values=RULES), About()))
        if self.rules is not RULES:
            self.send(self._report("cli", PolicyChanged(request="rules", values=self.rules), About()))
        for pull in self.pulls.values():
            self.tell(pull, "gateway", *pull.shown())

    def walk(self, steps: Sequence[Step]) -> World:
        for step in steps:
            DEEDS[step.deed](self, Choice(step.number))
        return self

    # --- reports ---------------------------------------------------------------------------------------------------

    def send(self, said: Said) -> Answer:
        [answer] = self.book.record(said)
        self.sent.append((said, answer))
        return answer

    def tell(self, pull: Pull, service: Reporter, *facts: AnyFact) -> None:
        """Put reports into the bag, where they wait for the wire."""
        self.bag += [self._report(service, fact, About(repo=REPO, number=pull.number)) for fact in facts]

    def deliver(self, choice: Choice) -> None:
        """Some of what is under way arrives: mostly the oldest; now and then it will come again."""
        for _ in range(choice.of((2, 1, 6))):
            if self.bag:
                index = choice.of((0, 0, choice.of(range(len(self.bag)))))
                self.send(self.bag[index] if choice.rarely(8) else self.bag.pop(index))

    def falter(self, _choice: Choice) -> None:
        """The next report finds a program of an older version, which cannot decide about it."""
        if self.bag:
            said = self.bag.pop(0)
            [answer] = self.book.record(said, decider=broken, code="0.0.1")
            self.sent.append((said, answer))

    def resend(self, choice: Choice) -> None:
        self.send(choice.of(self.sent)[0])

    def lose(self, choice: Choice) -> None:
        """A webhook that never arrives; whoever looks at everything finds out."""
        lost = [said for said in self.bag if said.service == "gateway"]
        if lost:
            self.bag.remove(choice.of(lost))

    def reconcile(self, choice: Choice) -> None:
        pull = choice.of(list(self.pulls.values()))
        self.tell(pull, "comment-fetcher", *pull.shown())

    def sleep(self, choice: Choice) -> None:
        self.book.now += choice.of((60, 3_600, 86_400)) * 1_000_000

    def restart(self, _choice: Choice) -> None:
        self.book.forget()

    # --- people ----------------------------------------------------------------------------------------------------

    def act(self, choice: Choice) -> None:
        """Somebody does something on the forge."""
        pull = choice.of(list(self.pulls.values()))
        if facts := choice.of(ACTS)(pull, choice):
            self.tell(pull, "gateway", *facts)

    def command(self, choice: Choice) -> None:
        pull = choice.of(list(self.pulls.values()))
        self.tell(pull, "gateway", *pull.command(choice.of((PANEL, MARIA, EVE)), choice.of(COMMANDS)))

    def manage(self, choice: Choice) -> None:
        """The installation is paused, resumed, or has fewer fixers."""
        request = f"panel-{next(self._serial)}"
        facts: tuple[AnyFact, ...] = (
            CommandGiven(id=request, name="resume", author=PANEL),
            CommandGiven(id=request, name="pause", author=PANEL),
            PolicyChanged(request=request, values=Overrides(max_fixers=1)),
        )
        self.send(self._report("cli", choice.of(facts), About()))

    def allow(self, choice: Choice) -> None:
        """What starts a cycle is changed, which by itself wakes no loop."""
        values = Overrides(triggers=choice.of(((), ("comments",), ("comments", "checks"))))
        self.send(self._report("cli", PolicyChanged(request=f"panel-{next(self._serial)}", values=values), About()))

    def force(self, choice: Choice) -> None:
        """Somebody pushes by force what the branch was before."""
        pull = choice.of(list(self.pulls.values()))
        self.tell(pull, "gateway", *pull.force_back())

    def label(self, choice: Choice) -> None:
        """Somebody wants a pull request left alone, or does not any more."""
        pull = choice.of(list(self.pulls.values()))
        self.tell(pull, "gateway", *pull.label(*([] if pull.labels else ["amends: off"])))

    # --- time ------------------------------------------------------------------------------------------------------

    def fire(self, choice: Choice) -> None:
        """A timer fires: an operator may cut any wait short."""
        timers = self.book.log.timers()
        windows = [timer for timer in timers if not timer.deadline]
        if some := timers if choice.rarely(6) else windows:
            self.send(fired(choice.of(some), "operator"))

    def wake(self, _choice: Choice) -> None:
        """What the clock does: loops that waited for the installation go on, and newer code tries stuck ones again."""
        installation = self.book.log.loop(INSTALLATION)
        version = installation.version if installation else 0
        blocked = [] if installation and installation.blocked else self.book.log.blocked()
        for why, names in (("wake", blocked), ("unstick", self.book.log.stuck(CODE))):
            for name in names:
                fact = TimerFired(name=why, generation=version)
                self.send(Said("evaluator", Report(fact=fact, about=About(loop=name))))

    # --- workers ---------------------------------------------------------------------------------------------------

    def work(self, choice: Choice) -> None:
        """Some service answers some request that is open, well or badly."""
        if owed := self.book.log.outstanding():
            self._answer(choice.of(owed), choice)

    def proceed(self, choice: Choice) -> None:
        """A while in which most goes as it should."""
        for _ in range(choice.of((2, 4, 8))):
            self.deliver(Choice(2))
            self.work(choice)
            self.finish(choice)
            self.fire(Choice(0))

    def _answer(self, owed: OutstandingRow, choice: Choice) -> None:
        pull, fact = self.pulls.get(owed.loop), self.book.event(owed.pos).fact
        if pull is None:
            self.send(self._report("notifier", Notified(of=owed.pos, channel="slack"), About(loop=owed.loop)))
            return
        match fact:
            case ReviewRejected() | ReviewApproved() | ReviewCommented() | CommandGiven():
                self._look_up(pull, fact.key, fact.author)
            case FixRequested():
                self._fetch(pull, fact, choice)
            case CommentsFetched():
                self._claim(owed, fact, choice)
            case PushRequested():
                self._publish(owed, fact, choice)
            case ResolveRequested():
                self._resolve(pull, fact)
            case ChecksRequested():
                missing = () if choice.rarely() else CHECKS[:1]
                self.tell(pull, "publisher", ChecksCounted(n=fact.n, missing=missing))
            case _:
                channel = choice.of(("github", "slack"))
                told = NotifyFailed if choice.rarely() and not self.calm else Notified
                self.tell(pull, "notifier", told(of=owed.pos, channel=channel))

    def _look_up(self, pull: Pull, key: str, author: Author) -> None:
        permission = PERMISSIONS.get(author.id, "none")
        self.tell(pull, "comment-fetcher", AuthorChecked(of=key, author=author, permission=permission))

    def _fetch(self, pull: Pull, request: FixRequested, choice: Choice) -> None:
        if choice.rarely(6) and not self.calm:
            failed = CommentsFailed(n=request.n, k=request.k, reason=choice.of(FETCHING))
            self.tell(pull, "comment-fetcher", failed)
        else:
            fetched = pull.fetched(request, lambda author: trusts(request.rules, author))
            self.tell(pull, "comment-fetcher", fetched)

    def _claim(self, owed: OutstandingRow, fetched: CommentsFetched, choice: Choice) -> None:
        """A fixer claims an attempt, or finds that it began with it in an earlier life."""
        holder = choice.of([holder for holder in HOLDERS if holder not in self.jobs] or HOLDERS)
        run = f"{holder}/{self.lives.setdefault(holder, 1)}"
        pull = self.pulls[owed.loop]
        started = FixStarted(n=fetched.n, k=fetched.k, holder=holder, run=run)
        answer = self.send(self._report("fixer", started, About(repo=REPO, number=pull.number)))
        claimed = answer.fact if isinstance(answer, Already) else started
        if isinstance(answer, Refused) or not isinstance(claimed, FixStarted):
            return
        if claimed.run == run:
            self.jobs[holder] = Job(owed.loop, fetched, run)
        else:
            crashed = FixFailed(n=fetched.n, k=fetched.k, run=claimed.run, reason=Failure.CRASHED)
            self.tell(pull, "fixer", crashed)

    def crash(self, choice: Choice) -> None:
        """A fixer dies and comes back as another process."""
        holder = choice.of(HOLDERS)
        self.lives[holder] = self.lives.get(holder, 1) + 1
        self.jobs.pop(holder, None)

    def finish(self, choice: Choice) -> None:
        """A fixer is done with what it works on."""
        if self.jobs:
            job = self.jobs.pop(choice.of(sorted(self.jobs)))
            failed = choice.rarely(5) and not self.calm
            self.tell(self.pulls[job.loop], "fixer", self._failed(job, choice) if failed else self._fix(job, choice))

    def doubt(self, choice: Choice) -> None:
        """A fixer has a question about all that he works on."""
        if self.jobs:
            job = self.jobs.pop(choice.of(sorted(self.jobs)))
            asks = tuple(
                Verdict(item=item.id, version=item.version, judgement=Judgement.NEEDS_HUMAN, reason="this or that?")
                for item in self._work(job, wide=False)
            )
            fetched = job.fetched
            fix = FixPrepared(n=fetched.n, k=fetched.k, run=job.run, base=fetched.head, verdicts=asks)
            self.tell(self.pulls[job.loop], "fixer", fix)

    def intrude(self, choice: Choice) -> None:
        """Somebody claims what another works on, and tells of an attempt that is nobody's: nothing comes of it."""
        name = choice.of(list(self.pulls))
        row, loop = self.book.log.loop(name), self.book.loop(name)
        if row is None or row.stuck:
            return  # nobody can tell what a stuck loop waits for, so its facts are kept
        claim = FixStarted(n=max(loop.n, 1), k=max(loop.k, 1), holder="stranger/0", run="stranger")
        held = loop.cycle is not None and loop.cycle.claim is not None
        failed = FixFailed(n=claim.n, k=claim.k, run="stranger", reason=choice.of(list(Failure)))
        for fact in (claim, failed) if held else (failed,):
            said = self._report("fixer", fact, About(repo=REPO, number=self.pulls[name].number))
            assert not isinstance(self.send(said), Recorded), fact

    def _failed(self, job: Job, choice: Choice) -> FixFailed:
        usage = Usage(turns=choice.of((1, 90)), usd_micro=choice.of((0, 100_000, 3_000_000)))
        return FixFailed(n=job.fetched.n, k=job.fetched.k, run=job.run, reason=choice.of(list(Failure)), usage=usage)

    def _fix(self, job: Job, choice: Choice) -> FixPrepared:
        fetched = job.fetched
        verdicts = [
            Verdict(item=item.id, version=item.version, judgement=choice.of(JUDGEMENTS[: 2 if self.calm else None]))
            for item in self._work(job, wide=choice.rarely())
        ]
        if choice.rarely(6) and not self.calm:
            del verdicts[-1:]
        changes: tuple[Change, ...] = ()
        if any(verdict.judgement is Judgement.FIXED for verdict in verdicts):
            path = f"new/{fetched.n}" if self.calm else choice.of(("shop.py", "test.py", f"new/{fetched.n}"))
            before, blob = choice.of(self.book.blobs), choice.of(self.book.blobs)
            changes = (Change(path=path, before=before, blob=blob),)
        return FixPrepared(
            n=fetched.n, k=fetched.k, run=job.run, base=fetched.head, changes=changes, verdicts=tuple(verdicts),
            usage=Usage(turns=choice.of((1, 90)), usd_micro=choice.of((0, 100_000, 3_000_000))),
        )  # fmt: skip

    def _work(self, job: Job, *, wide: bool) -> list[Collected]:
        """What a fixer takes for its work: what was asked for, or (`wide`) all that is open."""
        row = self.book.log.find(job.loop, f"cycle/{job.fetched.n}/{job.fetched.k}/requested")
        request = event_of(row).fact if row else None
        assert isinstance(request, FixRequested)
        closed = {(done.item, done.version) for done in request.closed}
        found = [item for item in job.fetched.items if not item.resolved and (item.id, item.version) not in closed]
        wide = wide or request.scope == "all" or "comments" in request.rules.triggers
        asked = {"command", "finding", "check"}
        return [item for item in found if wide or item.kind in asked or item.author.account in request.rejecting]

    def _publish(self, owed: OutstandingRow, request: PushRequested, choice: Choice) -> None:
        """Look, ask, and only then act; sometimes die before anybody is told."""
        pull = self.pulls[owed.loop]
        if not isinstance(self.book.may(owed.pos), Go):
            return
        fixed = tuple(verdict.item for verdict in request.verdicts if verdict.judgement is Judgement.FIXED)
        if done := pull.commits.get(request.n):
            self.tell(pull, "publisher", FixPushed(n=request.n, sha=done, items=fixed, adopted=True))
        elif reason := self._hindrance(pull, request, choice):
            self.tell(pull, "publisher", PushRefused(n=request.n, k=request.k, reason=reason))
        else:
            self.tell(pull, "gateway", *pull.push())
            pull.commits[request.n] = pull.head
            if self.calm or not choice.rarely():
                self.tell(pull, "publisher", FixPushed(n=request.n, sha=pull.head, items=fixed))

    def _resolve(self, pull: Pull, request: ResolveRequested) -> None:
        """Those that are still there; the webhooks of it come, too."""
        talks = [pull.talks[one.item] for one in request.verdicts if one.item in pull.talks]
        still_open = [talk for talk in talks if talk.kind == "thread" and not talk.resolved]
        for talk in still_open:
            self.tell(pull, "gateway", *pull.resolve(talk))
        self.tell(pull, "publisher", ResolveFinished(n=request.n, roots=tuple(talk.root for talk in still_open)))

    def _hindrance(self, pull: Pull, request: PushRequested, choice: Choice) -> Failure | None:
        if pull.closed:
            return Failure.CLOSED
        if pull.head != request.base:
            return Failure.MOVED
        return choice.of(PUSHING) if choice.rarely(6) and not self.calm else None

    # --- rest ------------------------------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        """From now on everything works: what is lost is found, what is open is answered, and nobody says anything."""
        self.calm = True
        self.bag.append(self._report("cli", CommandGiven(id="calm", name="resume", author=PANEL), About()))
        for pull in self.pulls.values():
            self.tell(pull, "gateway", *(pull.toggle_draft() if pull.draft else []), *pull.label())
            self.tell(pull, "gateway", *([] if pull.access else pull.change_access()))
            self.tell(pull, "comment-fetcher", *pull.touch(), *pull.shown())
        for _ in range(200):
            if not self._settle():
                return
        raise AssertionError("it does not come to rest")

    def _settle(self) -> bool:
        """One round of everybody doing what there is to do; whether there was anything."""
        for name, pull in self.pulls.items():
            if self.book.loop(name).paused:
                self.tell(pull, "gateway", *pull.command(PANEL, "resume"))
        busy = bool(self.bag)
        while self.bag:
            self.send(self.bag.pop(0))
        self.wake(Choice(0))
        for owed in self.book.log.outstanding():
            busy = True
            self._answer(owed, Choice(next(self._serial)))
            while self.jobs:
                self.finish(Choice(next(self._serial)))
        if not busy:
            for timer in self.book.log.timers():
                busy = True
                self.send(fired(timer, "operator"))
        return busy

    def _report(self, service: Reporter, fact: AnyFact, about: About) -> Said:
        return Said(service, Report(fact=fact, about=about))


JUDGEMENTS = tuple(judgement for judgement in Judgement if judgement is not Judgement.SUPERSEDED)


def trusts(rules: Policy, author: Author) -> bool:
    """Whose words the comment-fetcher collects."""
    if author.kind == "bot":
        return author.id in rules.bots
    return author.kind == "user" and PERMISSIONS.get(author.id) in TRUSTED


DEEDS: dict[str, Callable[[World, Choice], None]] = {
    "act": World.act,
    "deliver": World.deliver,
    "work": World.work,
    "finish": World.finish,
    "proceed": World.proceed,
    "fire": World.fire,
    "command": World.command,
    "crash": World.crash,
    "resend": World.resend,
    "lose": World.lose,
    "force": World.force,
    "label": World.label,
    "doubt": World.doubt,
    "intrude": World.intrude,
    "reconcile": World.reconcile,
    "restart": World.restart,
    "falter": World.falter,
    "manage": World.manage,
    "allow": World.allow,
    "wake": World.wake,
    "sleep": World.sleep,
    "nothing": lambda _world, _choice: None,
}
