"""What people say about a pull request, and what the services find, make and tell: the same however often asked.

A pull request of so many rounds is rejected so many times, mended each time, and approved in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from amends.common.events import (
    AnyFact,
    Author,
    AuthorChecked,
    Change,
    Collected,
    CommandGiven,
    CommentAdded,
    CommentEdited,
    CommentsFetched,
    FixPrepared,
    FixPushed,
    FixRequested,
    Judgement,
    Notified,
    PrObserved,
    PushRequested,
    ReviewApproved,
    ReviewCommented,
    ReviewRejected,
    ThreadResolved,
    ThreadUnresolved,
    Usage,
    Verdict,
    seen_as,
)
from amends.common.identity import About
from tests.support.facts import ANNA, FULL_NAME, MARIA, at, word

REPO = 1
PER_PULL = 1_000  # numbers of reviews and comments that belong to one pull request
THREAD = 900


class Pull(NamedTuple):
    """One pull request, whose every word follows from its number."""

    number: int

    @property
    def about(self) -> About:
        """How a reporter names it."""
        return About(repo=REPO, number=self.number)

    @property
    def loop(self) -> str:
        """How the recorder names it."""
        return f"{REPO}-pr-{self.number}"

    def head(self, n: int) -> str:
        """Its head after so many pushes of ours."""
        return sha256(f"{self.number} {n}".encode()).hexdigest()[:40]

    def observed(self, n: int = 0, *, seconds: float = 0, title: str = "") -> PrObserved:
        """As the forge shows it after so many pushes of ours."""
        return PrObserved(
            full_name=FULL_NAME, title=title or f"Change {self.number}", author=ANNA, head=self.head(n),
            head_ref=f"change-{self.number}", head_repo=REPO, base_ref="main", updated_at=at(seconds or 60 * n),
        )  # fmt: skip

    def rejected(self, n: int) -> ReviewRejected:
        """Maria asks for the n-th time."""
        id_ = self._id(n)
        return ReviewRejected(
            review=id_, node=f"R{id_}", author=MARIA, head=self.head(n - 1), body=word(self._words(n)),
            submitted_at=at(60 * n),
        )  # fmt: skip

    def remarked(self) -> CommentAdded:
        """A thread that belongs to her first review."""
        id_ = self._id(THREAD)
        return CommentAdded(
            kind="thread", root=id_, comment=id_, node=f"C{id_}", author=MARIA, body=word(self._words(THREAD)),
            review=self._id(1), updated_at=at(1),
        )  # fmt: skip

    def approved(self, rounds: int) -> ReviewApproved:
        """She is satisfied."""
        id_ = self._id(rounds + 1)
        return ReviewApproved(
            review=id_, node=f"R{id_}", author=MARIA, head=self.head(rounds), submitted_at=at(60 * rounds + 30)
        )

    def collected(self, request: FixRequested, texts: str) -> CommentsFetched:
        """All that she said until then."""
        said = [self.rejected(n) for n in range(1, request.n + 1)]
        items = [_item(f"review/{review.review}", review.body or "") for review in said]
        thread = self.remarked()
        seen = [seen_as(review.node, review.body or "") for review in said]
        return CommentsFetched(
            n=request.n, k=request.k, head=request.head, texts=texts,
            items=(*items, _item(f"thread/{thread.root}", thread.body)),
            seen=(*seen, seen_as(thread.node, thread.body)),
        )  # fmt: skip

    def prepared(self, fetched: CommentsFetched, run: str, blob: str) -> FixPrepared:
        """A fix for all of it."""
        verdicts = (
            Verdict(item=item.id, version=item.version, judgement=Judgement.FIXED, reason="mended")
            for item in fetched.items
        )
        change = Change(path=f"fix_{fetched.n}.py", blob=blob)
        return FixPrepared(
            n=fetched.n, k=fetched.k, run=run, base=fetched.head, changes=(change,), verdicts=tuple(verdicts),
            usage=Usage(turns=1),
        )  # fmt: skip

    def pushed(self, request: PushRequested) -> FixPushed:
        """The commit that the fix became."""
        items = tuple(verdict.item for verdict in request.verdicts)
        return FixPushed(n=request.n, sha=self.head(request.n), items=items)

    def contents(self, n: int, k: int, what: str) -> bytes:
        """Bytes of a blob; some need several messages."""
        return f"{what} {self.number} {n}/{k}\n".encode() * (30_000 if self.number % 8 == 0 else 100)

    def _id(self, n: int) -> int:
        return self.number * PER_PULL + n

    def _words(self, n: int) -> str:
        return f"please mend {self.number} {n}"


def pull_of(loop: str) -> Pull:
    """The pull request of a loop."""
    return Pull(int(loop.rpartition("-")[2]))


Asked = ReviewRejected | ReviewApproved | ReviewCommented | CommandGiven


def looked_up(asked: Asked) -> AuthorChecked:
    """Everybody who says something here may write."""
    return AuthorChecked(of=asked.key, author=asked.author, permission="write")


def told_of(pos: int) -> Notified:
    """Somebody was told."""
    return Notified(of=pos, channel="github", url=f"https://github.test/{pos}")


def _item(id_: str, version: str) -> Collected:
    return Collected(id=id_, kind="review" if id_.startswith("review") else "thread", version=version, author=MARIA)


# --- what nobody acts upon -------------------------------------------------------------------------------------------


def chatter(pull: Pull, n: int, by: Author) -> Sequence[AnyFact]:
    """The n-th handful of facts about a pull request that nobody rejects: happenings, and snapshots that return."""
    id_ = pull.number * PER_PULL + n
    said = CommentAdded(
        kind="thread", root=id_, comment=id_, node=f"C{id_}", author=by, body=word(f"hm {id_}"), updated_at=at(n)
    )
    edited = CommentEdited(**said.model_dump(exclude={"type", "body"}), body=word(f"well {id_}"))
    return (
        said, edited, ThreadResolved(root=id_, updated_at=at(n)), ThreadUnresolved(root=id_, updated_at=at(n + 1)),
        ThreadResolved(root=id_, updated_at=at(n + 2)), pull.observed(seconds=n, title=f"Title {n % 3}"),
    )  # fmt: skip
