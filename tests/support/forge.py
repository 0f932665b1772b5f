"""A forge in memory: pull requests with their reviews, threads and comments, as people see them.

Every act answers with the facts that webhooks would bring of it; `shown` are those that a look at everything brings.
Later acts have later dates, and no two texts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain, count
from typing import Literal

from amends.common.events import (
    AccessChanged,
    AnyFact,
    Author,
    ChecksFinished,
    Collected,
    CommandGiven,
    CommandName,
    CommentAdded,
    CommentDeleted,
    CommentEdited,
    CommentsFetched,
    Finding,
    FixRequested,
    LeftOut,
    PrClosed,
    PrObserved,
    ReviewApproved,
    ReviewCommented,
    ReviewDismissed,
    ReviewRejected,
    ThreadResolved,
    ThreadUnresolved,
    seen_as,
)
from amends.common.loop import EMPTY_BODY, digest

Verb = Literal["rejected", "approved", "commented"]
Kind = Literal["thread", "comment", "review"]
Said = tuple[str, str]  # a comment's node and the hash of its text

BEGAN = datetime(2020, 1, 1, tzinfo=UTC)
CHECKS = ("build", "lint")
_REVIEWS: dict[Verb, type[ReviewRejected | ReviewApproved | ReviewCommented]] = {
    "rejected": ReviewRejected,
    "approved": ReviewApproved,
    "commented": ReviewCommented,
}


@dataclass
class Comment:
    """Somebody's words. Those that are gone are remembered, since a late webhook may still speak of them."""

    id: int
    author: Author
    text: str
    date: datetime
    gone: bool = False

    @property
    def node(self) -> str:
        return f"C_{self.id}"

    @property
    def body(self) -> str:
        return digest(self.text)[:16] if self.text else EMPTY_BODY

    @property
    def said(self) -> Said:
        return self.node, self.body


@dataclass
class Talk:
    """A thread, a comment in the conversation, or a review's own words."""

    kind: Kind
    root: int
    comments: list[Comment]
    review: int | None = None
    resolved: bool = False
    changed: datetime = BEGAN

    @property
    def item(self) -> str:
        return f"{self.kind}/{self.root}"

    @property
    def said(self) -> list[Said]:
        return [comment.said for comment in self.comments]

    def trusted(self, trusts: Trusts) -> list[Comment]:
        return [comment for comment in self.comments if not comment.gone and trusts(comment.author)]


@dataclass
class Review:
    """A review without its words."""

    id: int
    author: Author
    verb: Verb
    head: str
    date: datetime
    dismissed: bool = False


Trusts = Callable[[Author], bool]


@dataclass
class Pull:
    """A pull request. `hashed`: the comments that each version shown was made of; `commits`: what amends pushed."""

    number: int
    author: Author
    ids: Iterator[int] = field(default_factory=lambda: count(1))
    date: datetime = BEGAN
    head: str = "a" * 40
    heads: list[str] = field(default_factory=list)
    draft: bool = False
    labels: tuple[str, ...] = ()
    closed: Literal["", "closed", "merged"] = ""
    changed: datetime = BEGAN
    talks: dict[str, Talk] = field(default_factory=dict)
    reviews: dict[int, Review] = field(default_factory=dict)
    checks: dict[tuple[str, str], tuple[bool, datetime]] = field(default_factory=dict)
    access: bool = True
    hashed: dict[str, frozenset[Said]] = field(default_factory=dict)
    commits: dict[int, str] = field(default_factory=dict)

    # --- what people do --------------------------------------------------------------------------------------------

    def review(self, by: Author, verb: Verb, *, words: bool = True, threads: int = 0) -> list[AnyFact]:
        """A review, with or without words of its own, and threads that belong to it."""
        date, number = self._later(), next(self.ids)
        review = self.reviews[number] = Review(number, by, verb, self.head, date)
        text = f"review {number}" if words else ""
        self._open(Talk("review", number, [Comment(number, by, text, date)], review=number))
        facts = [self.start_thread(by, review=number) for _ in range(threads)]
        return [self._reviewed(review), *chain.from_iterable(facts)]

    def findings(self, by: Author, number: int) -> list[AnyFact]:
        """What a reviewer outside the forge has found."""
        date, id_ = self._later(), next(self.ids)
        found = tuple(Finding(text=f"finding {id_} {n}") for n in range(number))
        return [ReviewRejected(review=id_, node=f"X_{id_}", author=by, findings=found, submitted_at=date)]

    def dismiss(self, number: int) -> list[AnyFact]:
        self.reviews[number].dismissed = True
        return [ReviewDismissed(review=number, author=self.reviews[number].author)]

    def start_thread(self, by: Author, review: int | None = None) -> list[AnyFact]:
        comment = self._comment(by)
        return [self._added(self._open(Talk("thread", comment.id, [comment], review)), comment)]

    def remark(self, by: Author) -> list[AnyFact]:
        comment = self._comment(by)
        return [self._added(self._open(Talk("comment", comment.id, [comment])), comment)]

    def reply(self, talk: Talk, by: Author) -> list[AnyFact]:
        talk.comments.append(self._comment(by))
        return [self._added(talk, talk.comments[-1])]

    def edit(self, talk: Talk, comment: Comment) -> list[AnyFact]:
        comment.text, comment.date = f"edited {next(self.ids)}", self._later()
        return [CommentEdited.model_validate(self._added(talk, comment).model_dump() | {"type": "comment.edited"})]

    def delete(self, talk: Talk, comment: Comment) -> list[AnyFact]:
        comment.gone = True
        return [CommentDeleted(kind=talk.kind, root=talk.root, comment=comment.id, node=comment.node)]

    def resolve(self, talk: Talk) -> list[AnyFact]:
        """Resolve a thread, or open it again."""
        talk.resolved, talk.changed = not talk.resolved, self._later()
        return [self._resolution(talk)]

    def push(self, sha: str = "") -> list[AnyFact]:
        self.heads.append(self.head)
        self.head = sha or sha256(f"{self.number} {next(self.ids)}".encode()).hexdigest()[:40]
        return self._changed()

    def force_back(self) -> list[AnyFact]:
        """Push by force the head before this one."""
        return self.push(self.heads[-1]) if self.heads else []

    def label(self, *labels: str) -> list[AnyFact]:
        self.labels = labels
        return self._changed()

    def toggle_draft(self) -> list[AnyFact]:
        self.draft = not self.draft
        return self._changed()

    def close(self, how: Literal["", "closed", "merged"]) -> list[AnyFact]:
        self.closed = how
        return self._changed()

    def touch(self) -> list[AnyFact]:
        """Nothing that matters changes, but for the date."""
        return self._changed()

    def check(self, name: str, *, passed: bool) -> list[AnyFact]:
        self.checks[name, self.head] = passed, self._later()
        return [self._check(name, self.head)]

    def change_access(self) -> list[AnyFact]:
        self.access = not self.access
        return [AccessChanged(access="granted" if self.access else "lost", updated_at=self._later())]

    def command(self, by: Author, name: CommandName) -> list[AnyFact]:
        text = f"refine {self._later()}" if name == "refine" else ""
        return [CommandGiven(id=f"given-{self.number}-{next(self.ids)}", name=name, author=by, text=text)]

    # --- what others see -------------------------------------------------------------------------------------------

    def shown(self) -> list[AnyFact]:
        """Everything as it is now, as a poller reports it."""
        facts = [self._state()]
        for review in self.reviews.values():
            facts.append(self._reviewed(review))
            if review.dismissed:
                facts += self.dismiss(review.id)
        for talk in self.talks.values():
            for comment in talk.comments:
                if comment.gone:
                    facts += self.delete(talk, comment)
                elif talk.kind != "review" or comment.date > self.reviews[talk.root].date:
                    facts.append(self._added(talk, comment))
            if talk.changed > BEGAN:
                facts.append(self._resolution(talk))
        return [*facts, *(self._check(name, head) for name, head in self.checks)]

    def fetched(self, request: FixRequested, trusts: Trusts) -> CommentsFetched:
        """All feedback as it is now, as the comment-fetcher collects it for this attempt."""
        items = [found for talk in self.talks.values() if (found := self._collected(talk, request, trusts))]
        items += [
            Collected(id=f"check/{name}", kind="check", version=head, author=Author(id=0, login=name, kind="token"))
            for (name, head), (passed, _) in self.checks.items()
            if head == self.head and not passed
        ]
        items += [
            Collected(
                id=text.item, kind="command" if text.item.startswith("command/") else "finding",
                version=digest(text.text), author=text.author,
            )
            for text in request.texts
        ]  # fmt: skip
        living = [comment for talk in self.talks.values() for comment in talk.comments if not comment.gone]
        seen = [*(comment.said for comment in living), *((head, head) for _, head in self.checks)]
        strangers = {comment.author.id for comment in living if comment.author.kind == "user"} - {
            comment.author.id for comment in living if trusts(comment.author)
        }
        return CommentsFetched(
            n=request.n, k=request.k, head=self.head, items=tuple(items), left_out=LeftOut(untrusted=len(strangers)),
            seen=tuple(seen_as(node, body) for node, body in seen), strangers=tuple(sorted(strangers)),
        )  # fmt: skip

    def says_something(self, talk: Talk) -> bool:
        """Only a rejection says something without words."""
        return talk.kind != "review" or bool(talk.comments[0].text) or self.reviews[talk.root].verb == "rejected"

    def opinions(self) -> dict[str, Review]:
        """Each reviewer's last approval or rejection."""
        formal = [review for review in self.reviews.values() if review.verb != "commented"]
        return {review.author.account: review for review in sorted(formal, key=lambda review: review.id)}

    # --- small parts -----------------------------------------------------------------------------------------------

    def _later(self) -> datetime:
        self.date += timedelta(seconds=1)
        return self.date

    def _changed(self) -> list[AnyFact]:
        self.changed = self._later()
        return [self._state()]

    def _open(self, talk: Talk) -> Talk:
        self.talks[talk.item] = talk
        return talk

    def _comment(self, by: Author) -> Comment:
        number = next(self.ids)
        return Comment(number, by, f"comment {number}", self._later())

    def _state(self) -> AnyFact:
        if self.closed:
            return PrClosed(merged=self.closed == "merged", updated_at=self.changed)
        return PrObserved(
            full_name="octo/shop", title=f"Change {self.number}", author=self.author, head=self.head,
            head_ref=f"topic-{self.number}", head_repo=7, base_ref="main", draft=self.draft,
            labels=self.labels, updated_at=self.changed,
        )  # fmt: skip

    def _reviewed(self, review: Review) -> AnyFact:
        [words] = self.talks[f"review/{review.id}"].comments
        return _REVIEWS[review.verb](
            review=review.id, node=words.node, author=review.author, head=review.head,
            body=words.body if words.text else None, submitted_at=review.date,
        )  # fmt: skip

    def _added(self, talk: Talk, comment: Comment) -> CommentAdded:
        return CommentAdded(
            kind=talk.kind, root=talk.root, comment=comment.id, node=comment.node, author=comment.author,
            body=comment.body, review=talk.review, updated_at=comment.date,
        )  # fmt: skip

    def _resolution(self, talk: Talk) -> AnyFact:
        fact = ThreadResolved if talk.resolved else ThreadUnresolved
        return fact(root=talk.root, updated_at=talk.changed)

    def _check(self, name: str, head: str) -> AnyFact:
        passed, date = self.checks[name, head]
        return ChecksFinished(
            name=name, head=head, conclusion="success" if passed else "failure", required=True, updated_at=date
        )

    def _collected(self, talk: Talk, request: FixRequested, trusts: Trusts) -> Collected | None:
        comments = talk.trusted(trusts)
        if not comments or not self.says_something(talk):
            return None
        said = [comment.said for comment in comments]
        version = _version(said)
        self.hashed[version] = frozenset(said)
        asking = [comment.author for comment in comments if comment.author.account in request.rejecting]
        return Collected(
            id=talk.item, kind=talk.kind, version=version, author=(asking or [comments[0].author])[0],
            review=talk.review, resolved=talk.resolved,
        )  # fmt: skip


def _version(said: Iterable[Said]) -> str:
    return sha256("\n".join(f"{node} {body}" for node, body in said).encode()).hexdigest()[:32]
