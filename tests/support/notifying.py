"""The notifier between the double of GitHub and a real log: facts are told, and what it owes is worked off."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from amends.common.answers import Go, Report, Stop, Unavailable
from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import (
    AnyFact,
    Author,
    AuthorChecked,
    Change,
    Collected,
    CommandGiven,
    CommandName,
    CommentAdded,
    CommentsFetched,
    Failure,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixStarted,
    Judgement,
    Notified,
    NotifyFailed,
    PolicyChanged,
    PolicyObserved,
    PrClosed,
    PrObserved,
    ReviewApproved,
    ReviewRejected,
    Usage,
    Verdict,
    seen_as,
)
from amends.common.github.auth import TELLING
from amends.common.github.client import Client
from amends.common.github.commands import order_in
from amends.common.github.pacing import Rate
from amends.common.identity import About
from amends.common.loop import Loop, digest
from amends.common.policy import Overrides
from amends.common.redaction import Redactor
from amends.common.sections import GitHub
from amends.common.situation import Asked
from amends.doubles.github.control.talk import CommentHandle, ReviewHandle, ThreadHandle
from amends.evaluator.batch import Said
from amends.evaluator.situations import asked
from amends.notifier.tell import Channel, Teller
from amends.notifier.words import Words
from tests.support.book import Book
from tests.support.fetching import BookRecorder
from tests.support.github import LINES, Scene

RULES = Overrides(repositories=("acme/widget",), settle_seconds=1, max_cycles=2)
SECRET = "canary-of-a-secret"
Speech = CommentHandle | ReviewHandle | ThreadHandle
FAST = Rate(apart=0.0, per_minute=10_000, per_hour=10_000)
BETWEEN = "\n\n----\n\n"
ANSWER = "It is a `list` now."


class Killed(BaseException):
    """The process ends here."""


@dataclass
class Notifying(BookRecorder):
    """The recorder as the notifier sees it. `port` is called before and after every call."""

    port: Callable[[str], None] = lambda _: None
    stops: list[str] = field(default_factory=list)
    unheard: list[str] = field(default_factory=list)  # facts that are recorded, and nobody hears it

    async def report(self, report: Report):  # type: ignore[no-untyped-def]  # noqa: ANN201 - as the book's
        self.port("report")
        answer = await super().report(report)
        if report.fact.type in self.unheard:
            self.unheard.remove(report.fact.type)
            return Unavailable("the evaluator died before it answered")
        self.port("reported")
        return answer

    async def may(self, pos: int, run: str = "") -> Go | Stop:
        self.port("may")
        return Stop(self.stops.pop(0)) if self.stops else await super().may(pos, run)

    async def asked(self, pos: int) -> Asked | None:
        self.port("asked")
        return asked(self.book.log, pos)


@dataclass
class Desk:
    """The notifier at work on one pull request."""

    book: Book
    scene: Scene
    client: Client
    recorder: Notifying
    teller: Teller
    rejections: list[ReviewHandle] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.scene.repo.id}-pr-{self.scene.pull.number}"

    @property
    def loop(self) -> Loop:
        return self.book.loop(self.name)

    # --- telling the log ---------------------------------------------------------------------------------------------

    def says(self, *facts: AnyFact) -> None:
        about = About(repo=self.scene.repo.id, number=self.scene.pull.number)
        for fact in facts:
            where = About() if isinstance(fact, PolicyChanged) else about
            self.book.record(Said(fact.by[0], Report(fact=fact, about=where)))

    def who(self, login: str) -> Author:
        account = self.scene.double.user(login)
        return Author(id=account.id, login=login, kind="bot" if account.kind == "Bot" else "user")

    def observe(self) -> None:
        pull = self.scene.pull
        self.says(
            PrObserved(
                full_name="acme/widget", title=pull.of.issue.title, author=self.who("alice"), head=pull.head,
                url=f"{self.scene.double.url}/acme/widget/pull/{pull.number}", head_ref="feature",
                head_repo=home.id if (home := pull.of.head_repo) else 0, base_ref="main", updated_at=datetime.now(UTC),
                draft=pull.of.draft, labels=tuple(pull.labels),
            )
        )  # fmt: skip

    def rejects(self, by: str = "bob", lines: Sequence[int] = (10,), body: str = "No.") -> ReviewHandle:
        """A review with a thread at each of these lines; it is settled, and a cycle asked for."""
        inline = [{"path": "app.py", "line": line, "body": f"Why {line}?"} for line in lines]
        review = self.scene.pull.review(by, "changes_requested", body, inline)  # type: ignore[arg-type]
        self.rejections.append(review)
        author, now = self.who(by), datetime.now(UTC)
        self.observe()
        for thread in review.threads:
            self.says(
                CommentAdded(
                    kind="thread", root=thread.root.id, comment=thread.root.id, node=thread.root.node_id, author=author,
                    body=digest(thread.root.body), review=review.id, updated_at=now,
                )
            )  # fmt: skip
        fact = ReviewRejected(
            review=review.id, node=review.node_id, author=author, head=review.commit, body=digest(body),
            submitted_at=now,
        )  # fmt: skip
        self.says(fact)
        if author.kind == "user":
            self.says(AuthorChecked(of=fact.key, author=author, permission="write"))
        self.book.waits(60)
        return review

    def items(self) -> tuple[Collected, ...]:
        """All threads and bodies of the reviews so far."""
        found = []
        for review in self.rejections:
            author = self.who(review.author)
            here = {f"thread/{one.root.id}": one.root for one in review.threads}
            self.seen += [seen_as(one.node_id, digest(one.body)) for one in here.values()]
            self.seen.append(seen_as(review.node_id, digest(review.body)))
            found += [
                Collected(id=id_, kind="thread", version=digest(id_), author=author, review=review.id, path="app.py",
                          line=10)
                for id_ in here
            ]  # fmt: skip
            id_ = f"review/{review.id}"
            found.append(Collected(id=id_, kind="review", version=digest(id_), author=author, review=review.id))
        return tuple(found)

    def fixes(self, *judgements: Judgement, reason: str = ANSWER) -> None:
        """A cycle: the items are judged in turn, and the fix is pushed if there is one."""
        n, items = self.loop.n, self.items()
        open_ = [one for one in items if self.loop.items[one.id].verdicts.get(one.version) is None]
        kinds = [judgements[number % len(judgements)] for number in range(len(open_))]
        verdicts = tuple(
            Verdict(item=one.id, version=one.version, judgement=kind, reason=reason, hunks=("app.py:10",))
            for one, kind in zip(open_, kinds, strict=True)
        )
        pushes = Judgement.FIXED in kinds
        change = Change(path="app.py", blob=self.book.blobs[n % 3], before=str(n) * 64)
        self.says(
            CommentsFetched(n=n, k=1, head=self.scene.pull.head, items=items, seen=tuple(self.seen)),
            FixStarted(n=n, k=1, holder="fixer/0", run="run-1"),
            FixPrepared(
                n=n, k=1, run="run-1", base=self.scene.pull.head, changes=(change,) if pushes else (),
                verdicts=verdicts, usage=Usage(turns=3, tokens=4_000, usd_micro=120_000),
            ),
        )  # fmt: skip
        if pushes:
            sha = self.scene.pull.push({"app.py": LINES.replace("line 10\n", f"fixed {n}\n")}, by="amends[bot]")
            self.says(FixPushed(n=n, sha=sha))

    def fails(self, reason: Failure) -> None:
        """A cycle that ends without a fix."""
        n = self.loop.n
        self.says(
            CommentsFetched(n=n, k=1, head=self.scene.pull.head, items=self.items(), seen=tuple(self.seen)),
            FixStarted(n=n, k=1, holder="fixer/0", run="run-1"),
            FixFailed(n=n, k=1, run="run-1", reason=reason),
        )

    def approves(self, by: str = "bob") -> None:
        review = self.scene.pull.review(by, "approved")
        author = self.who(by)
        fact = ReviewApproved(
            review=review.id, node=review.node_id, author=author, head=review.commit, submitted_at=datetime.now(UTC)
        )
        self.observe()
        self.says(fact)
        if author.kind == "user":
            self.says(AuthorChecked(of=fact.key, author=author, permission="write"))

    def commands(self, name: CommandName) -> None:
        self.says(
            CommandGiven(id=f"req-{len(self.book.rows())}", name=name, author=Author(id=0, login="p", kind="token"))
        )

    def orders(self, said: Speech, permission: str = "write") -> None:
        """Somebody gave a command on GitHub, and was looked up."""
        kind = {ReviewHandle: "review", ThreadHandle: "thread"}.get(type(said), "comment")
        comment = said.comments[-1] if isinstance(said, ThreadHandle) else said
        order, author = order_in(comment.body), self.who(comment.author)
        assert order is not None
        fact = CommandGiven(id=f"{kind}-{comment.id}", name=order.name, text=order.text, author=author)
        self.says(fact)
        self.says(AuthorChecked.model_validate({"of": fact.key, "author": author, "permission": permission}))

    def writes_policy(self, error: str, line: int, blob: str = "a" * 40) -> None:
        """The repository's policy file was read, and is no good."""
        fact = PolicyObserved(blob=blob, error=error, line=line)
        self.book.record(Said("comment-fetcher", Report(fact=fact, about=About(repo=self.scene.repo.id))))

    def closes(self) -> None:
        self.scene.pull.close("alice")
        self.says(PrClosed(merged=False, updated_at=datetime.now(UTC)))

    # --- the notifier's turn -----------------------------------------------------------------------------------------

    @property
    def owed(self) -> list[int]:
        return [request.pos for request in self.book.log.outstanding("notifier")]

    def event(self, kind: type[AnyFact]) -> Event:
        return next(event for event in reversed(self.book.events()) if isinstance(event.fact, kind))

    async def hear(self, kind: type[AnyFact]) -> None:
        """The last event of a kind is delivered."""
        await self.teller.tell(self.event(kind))

    async def react(self, rounds: int = 1) -> list[Later]:
        """Work off what is owed, so many times; answers with what was put off in the last round."""
        put_off: list[Later] = []
        for _ in range(rounds):
            put_off = []
            for pos in self.owed:
                try:
                    await self.teller.tell(self.book.event(pos))
                except Later as later:
                    put_off.append(later)
        return put_off

    def said(self) -> list[str]:
        """What was reported, as `channel` or `channel: why not`."""
        facts = [event.fact for event in self.book.events() if isinstance(event.fact, Notified | NotifyFailed)]
        return [one.channel if isinstance(one, Notified) else f"{one.channel}: {one.reason}" for one in facts]

    # --- what people see ---------------------------------------------------------------------------------------------

    def talk(self) -> list[str]:
        """What we said in the conversation, the card last."""
        ours = [one.body for one in self.scene.pull.conversation if one.author == "amends[bot]"]
        return sorted(ours, key=lambda body: body.startswith(f"<!-- amends:{self.name}/card"))

    def card(self) -> str:
        return next(body for body in self.talk() if "/card -->" in body.partition("\n")[0])

    def replies(self) -> list[str]:
        return [
            one.body for thread in self.scene.pull.threads for one in thread.comments if one.author == "amends[bot]"
        ]

    def page(self) -> str:
        """All of ours on the pull request, with what differs from run to run made the same."""
        pull = self.scene.pull
        parts = [*self.talk(), *self.replies(), f"labels: {', '.join(pull.labels)}", f"asked: {pull.waiting_for}"]
        text = BETWEEN.join(parts)
        names = {head: f"{'head' if n else 'base'}{n}".ljust(40, "0") for n, head in enumerate(pull.of.heads)}
        names |= {head[:7]: name[:7] for head, name in names.items()}
        names |= {str(one.root.id): f"<thread {n}>" for n, one in enumerate(pull.threads)}
        names |= {str(one.id): f"<review {n}>" for n, one in enumerate(pull.reviews)}
        names |= {digest(f"thread/{one.root.id}"): "<version>" for one in pull.threads}
        names |= {self.scene.double.url: "https://forge.test", self.name: "1-pr-1"}
        for real, name in sorted(names.items(), key=lambda entry: -len(entry[0])):
            text = text.replace(real, name)
        return text


@asynccontextmanager
async def at_work(
    book: Book,
    scene: Scene,
    rules: Overrides | None = RULES,
    *,
    channels: dict[str, Channel] | None = None,
    github: GitHub | None = None,
) -> AsyncIterator[Desk]:
    """The App tells, under these rules."""
    async with Client(github or scene.app_settings, TELLING, FAST) as client:
        recorder = Notifying(book, "notifier")
        teller = Teller(client, recorder, Words(Redactor([SECRET]), scene.double.url), frozenset(), most=3)
        teller.channels = channels or {}
        teller.age = lambda _: 0.0
        desk = Desk(book, scene, client, recorder, teller)
        if rules is not None:
            desk.says(PolicyChanged(request="rules", values=rules))
        yield desk
