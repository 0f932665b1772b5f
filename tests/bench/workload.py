"""What everybody is measured with: the reports of one pull request, from its first sight to its merge.

Two cycles, each with a rejection, three comments, a fix and a push, as the services would report them. What the
evaluator decides in between is not written here: it has to decide it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import islice

from amends.common.answers import Report
from amends.common.events import (
    Author,
    AuthorChecked,
    Change,
    Collected,
    CommentAdded,
    CommentsFetched,
    Fact,
    FixPrepared,
    FixPushed,
    FixStarted,
    Judgement,
    Notified,
    PolicyChanged,
    PrClosed,
    PrObserved,
    ReviewApproved,
    ReviewRejected,
    TimerFired,
    Usage,
    Verdict,
    seen_as,
)  # fmt: skip
from amends.common.identity import About
from amends.common.policy import BudgetOverrides, Overrides

REPOSITORY = "example/widgets"
REPO = 4_711
BLOBS = tuple(f"def widget_{n}():\n    return {n}\n".encode() * 40 for n in range(4))
MORNING = datetime(2026, 1, 5, 9, tzinfo=UTC)
OPENER = Author(id=101, login="opener")
REVIEWER = Author(id=202, login="reviewer")
EVENTS = 43  # of a pull request: 32 reports and 11 decisions
UNKNOWN = b'"of":0'


@dataclass(frozen=True)
class Said:
    """A report as it is on the wire, and how much is decided on it.

    `tells`, if any, says which decision of the last report with decisions it is about.
    """

    service: str
    raw: bytes
    decides: int = 0
    tells: int = 0

    def about(self, pos: int) -> bytes:
        """The report, when the last one with decisions was recorded at `pos`."""
        return self.raw.replace(UNKNOWN, b'"of":%d' % (pos + self.tells)) if self.tells else self.raw


def allowed() -> Said:
    """The policy under which the repository is worked on, without waits and without an end to the money."""
    money = BudgetOverrides(day_usd=1_000_000)
    values = Overrides(repositories=(REPOSITORY,), settle_seconds=0, max_fixers=1_000, budget=money)
    return _said("cli", PolicyChanged(request="bench", values=values), About(), 1)


def pull_request(number: int, first: int | None = None) -> list[Said]:
    """All reports about it, in order, or the first few."""
    about, story = About(repo=REPO, number=number), islice(_Telling(number).story(), first)
    return [_said(service, fact, about, decides, tells) for service, fact, decides, tells in story]


def _said(service: str, fact: Fact, about: About, decides: int = 0, tells: int = 0) -> Said:
    report = Report.model_construct(fact=fact, about=about, actor=service)
    return Said(service, report.model_dump_json(by_alias=True, exclude_none=True).encode(), decides, tells)


Told = tuple[str, Fact, int, int]


class _Telling:
    def __init__(self, number: int) -> None:
        self._number = number
        self._version = 0

    def story(self) -> Iterator[Told]:
        yield self._told("gateway", self._observed(0), 1)
        for n in (1, 2):
            yield from self._rejected(n)
            yield from self._fixed(n)
        yield from self._approved()

    def _told(self, service: str, fact: Fact, decides: int = 0, tells: int = 0) -> Told:
        self._version += 1 + decides
        return service, fact, decides, tells

    def _observed(self, n: int) -> PrObserved:
        return PrObserved(
            full_name=REPOSITORY, title=f"Widgets that turn both ways ({self._number})",
            url=f"/{REPOSITORY}/pull/{self._number}", author=OPENER, head=self._sha(f"head {n}"),
            head_ref=f"turn-{self._number}", head_repo=REPO, base_ref="main", labels=("enhancement",),
            updated_at=MORNING + timedelta(minutes=20 * n),
        )  # fmt: skip

    def _rejected(self, n: int) -> Iterator[Told]:
        at = MORNING + timedelta(minutes=20 * n - 10)
        rejected = ReviewRejected(
            review=self._id(n), node=f"PRR_{self._id(n)}", author=REVIEWER, head=self._sha(f"head {n - 1}"),
            body=self._sha(f"please {n}"), submitted_at=at,
        )  # fmt: skip
        yield self._told("gateway", rejected)
        yield self._told("comment-fetcher", AuthorChecked(of=rejected.key, author=REVIEWER, permission="write"))
        for root in (1, 2, 3):
            yield self._told("gateway", self._comment(n, root, at))
        settled = TimerFired(name=f"settle/{n}", generation=self._version)
        yield self._told("evaluator", settled, 1)

    def _comment(self, n: int, root: int, at: datetime) -> CommentAdded:
        id_ = self._id(10 * n + root)
        return CommentAdded(
            kind="thread", root=self._id(10 + root), comment=id_, node=f"PRRC_{id_}", author=REVIEWER,
            body=self._sha(f"body {n} {root}"), review=self._id(n), updated_at=at,
        )  # fmt: skip

    def _fixed(self, n: int) -> Iterator[Told]:
        head, base = self._sha(f"head {n}"), self._sha(f"head {n - 1}")
        items = self._items(n)
        fetched = CommentsFetched(
            n=n, k=1, head=base, items=items, texts=_blob(0), seen=self._seen(n),
        )  # fmt: skip
        yield self._told("comment-fetcher", fetched)
        yield self._told("fixer", FixStarted(n=n, k=1, holder="fixer-0/0", run="run-1", workspace="/var/lib/amends/w"))
        prepared = FixPrepared(
            n=n, k=1, run="run-1", base=base, verdicts=_verdicts(items), transcript=_blob(1),
            changes=tuple(Change(path=f"src/widget_{m}.py", blob=_blob(m), before=_blob(m - n)) for m in (2, 3)),
            usage=Usage(turns=7, tokens=41_000, usd_micro=90_000, seconds=73),
        )  # fmt: skip
        yield self._told("fixer", prepared, 1)
        pushed = FixPushed(n=n, sha=head, items=tuple(item.id for item in items))
        yield self._told("publisher", pushed, 2)
        yield self._told("notifier", Notified(of=0, channel="github", url="/comment/1"), 0, 1)
        yield self._told("notifier", Notified(of=0, channel="github", url="/comment/2"), 0, 2)
        yield self._told("gateway", self._observed(n))

    def _items(self, n: int) -> tuple[Collected, ...]:
        review = Collected(
            id=f"review/{self._id(n)}", kind="review", version=self._sha(f"version {n} 0"), author=REVIEWER,
            review=self._id(n),
        )  # fmt: skip
        threads = (
            Collected(
                id=f"thread/{self._id(10 + root)}", kind="thread", version=self._sha(f"version {n} {root}"),
                author=REVIEWER, review=self._id(n), path=f"src/widget_{root}.py", line=10 * root,
            )
            for root in (1, 2, 3)
        )  # fmt: skip
        return (review, *threads)

    def _seen(self, n: int) -> tuple[str, ...]:
        reviews = [seen_as(f"PRR_{self._id(m)}", self._sha(f"please {m}")) for m in range(1, n + 1)]
        comments = [self._comment(m, root, MORNING) for m in range(1, n + 1) for root in (1, 2, 3)]
        return (*reviews, *(seen_as(comment.node, comment.body) for comment in comments))

    def _approved(self) -> Iterator[Told]:
        approved = ReviewApproved(
            review=self._id(3), node=f"PRR_{self._id(3)}", author=REVIEWER, head=self._sha("head 2"),
            submitted_at=MORNING + timedelta(minutes=50),
        )  # fmt: skip
        yield self._told("gateway", approved)
        checked = AuthorChecked(of=approved.key, author=REVIEWER, permission="write")
        yield self._told("comment-fetcher", checked, 1)
        yield self._told("notifier", Notified(of=0, channel="github"), 0, 1)
        yield self._told("gateway", PrClosed(merged=True, updated_at=MORNING + timedelta(hours=1)), 1)
        yield self._told("notifier", Notified(of=0, channel="github"), 0, 1)

    def _id(self, n: int) -> int:
        return self._number * 1_000 + n

    def _sha(self, what: str) -> str:
        return sha256(f"{self._number} {what}".encode()).hexdigest()[:40]


def _blob(n: int) -> str:
    return sha256(BLOBS[n]).hexdigest()


def _verdicts(items: tuple[Collected, ...]) -> tuple[Verdict, ...]:
    return tuple(
        Verdict(
            item=item.id, version=item.version, judgement=Judgement.FIXED,
            reason="The widget turns both ways now, and a test says so.", hunks=("src/widget_2.py:10",),
        )
        for item in items
    )  # fmt: skip
