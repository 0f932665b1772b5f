"""Facts in one word each, with the defaults of one small pull request: anna's, reviewed by maria and tom."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

from amends.common.events import (
    AnyFact,
    Author,
    AuthorChecked,
    Change,
    ChecksFinished,
    Collected,
    CommandGiven,
    CommandName,
    CommentAdded,
    CommentDeleted,
    CommentEdited,
    CommentsFailed,
    CommentsFetched,
    Failure,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixStarted,
    ItemKind,
    Judgement,
    Permission,
    PolicyChanged,
    PolicyObserved,
    PrClosed,
    PrObserved,
    PushRefused,
    ReviewApproved,
    ReviewCommented,
    ReviewDismissed,
    ReviewRejected,
    ThreadResolved,
    ThreadUnresolved,
    Usage,
    Verdict,
    seen_as,
)
from amends.common.loop import digest
from amends.common.policy import Overrides

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
FULL_NAME = "octo/shop"
HEAD, NEXT, OTHER = "a" * 40, "b" * 40, "c" * 40
ANNA = Author(id=11, login="anna")  # whose pull request it is
MARIA = Author(id=12, login="maria")
TOM = Author(id=14, login="tom")
EVE = Author(id=66, login="eve")  # nobody in this repository
ROBOT = Author(id=500, login="robot[bot]", kind="bot")
GHOST = Author(id=0, login="ghost", kind="ghost")
US = Author(id=900, login="amends[bot]", kind="self")
PANEL = Author(id=0, login="panel", kind="token")
CHANGE = Change(path="shop.py", before="1" * 40, blob="2" * 40)

Review = ReviewRejected | ReviewApproved | ReviewCommented
Comment = CommentAdded | CommentEdited


def at(seconds: float) -> datetime:
    """GitHub's clock, in seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def word(text: str) -> str:
    """What stands for a text in a fact: its hash."""
    return digest(text)


# --- the pull request ----------------------------------------------------------------------------------------------


def observed(seconds: float = 0, /, **changes: object) -> PrObserved:
    usual = PrObserved(
        full_name=FULL_NAME, title="Add a basket", author=ANNA, head=HEAD, head_ref="basket", head_repo=1,
        base_ref="main", updated_at=at(seconds),
    )  # fmt: skip
    return usual.model_copy(update=changes)


def closed(seconds: float = 60, *, merged: bool = False) -> PrClosed:
    return PrClosed(merged=merged, updated_at=at(seconds))


# --- what people say about it --------------------------------------------------------------------------------------


def rejected(review: int = 1, by: Author = MARIA, body: str = "please mend it", head: str = HEAD) -> ReviewRejected:
    hashed = word(body) if body else None
    return ReviewRejected(review=review, node=f"R{review}", author=by, head=head, body=hashed, submitted_at=NOON)


def approved(review: int = 2, by: Author = MARIA, head: str = HEAD, body: str = "") -> ReviewApproved:
    hashed = word(body) if body else None
    return ReviewApproved(review=review, node=f"R{review}", author=by, head=head, body=hashed, submitted_at=NOON)


def commented(review: int = 3, by: Author = MARIA, body: str = "I wonder", head: str = HEAD) -> ReviewCommented:
    hashed = word(body) if body else None
    return ReviewCommented(review=review, node=f"R{review}", author=by, head=head, body=hashed, submitted_at=NOON)


def dismissed(review: int = 1, by: Author = MARIA) -> ReviewDismissed:
    return ReviewDismissed(review=review, author=by)


def checked(of: Review | CommandGiven, permission: Permission = "write") -> AuthorChecked:
    return AuthorChecked(of=of.key, author=of.author, permission=permission)


def believed(fact: Review | CommandGiven, permission: Permission = "write") -> tuple[AnyFact, AnyFact]:
    """A review or a command, and what its author may do."""
    return fact, checked(fact, permission)


def comment(
    root: int = 5, text: str = "why so?", by: Author = MARIA, *, reply: int = 0, seconds: float = 0,
) -> CommentAdded:  # fmt: skip
    """A comment in a thread: its first, or a reply."""
    id_ = reply or root
    return CommentAdded(
        kind="thread", root=root, comment=id_, node=f"C{id_}", author=by, body=word(text), updated_at=at(seconds)
    )


def aside(id_: int = 8, text: str = "by the way", by: Author = MARIA) -> CommentAdded:
    """A comment in the conversation below the pull request."""
    return CommentAdded(
        kind="comment", root=id_, comment=id_, node=f"I{id_}", author=by, body=word(text), updated_at=NOON
    )


def edited(of: CommentAdded, text: str, seconds: float = 10) -> CommentEdited:
    fields = of.model_dump(exclude={"type", "body", "updated_at"})
    return CommentEdited(**fields, body=word(text), updated_at=at(seconds))


def deleted(of: CommentAdded) -> CommentDeleted:
    return CommentDeleted(kind=of.kind, root=of.root, comment=of.comment, node=of.node)


def resolved(root: int = 5, seconds: float = 100) -> ThreadResolved:
    return ThreadResolved(root=root, updated_at=at(seconds))


def unresolved(root: int = 5, seconds: float = 200) -> ThreadUnresolved:
    return ThreadUnresolved(root=root, updated_at=at(seconds))


def check(head: str = HEAD, name: str = "build", /, **changes: object) -> ChecksFinished:
    """A required check that failed."""
    usual = ChecksFinished(name=name, head=head, conclusion="failure", required=True, updated_at=NOON)
    return usual.model_copy(update=changes)


def command(name: CommandName, by: Author = PANEL, text: str = "", id_: str = "") -> CommandGiven:
    return CommandGiven(id=id_ or f"{name}-1", name=name, author=by, text=text)


def policy_changed(request: str = "again", **values: object) -> PolicyChanged:
    return PolicyChanged(request=request, values=Overrides.model_validate(values))


def policy_observed(blob: str = NEXT, **values: object) -> PolicyObserved:
    return PolicyObserved(blob=blob, values=Overrides.model_validate(values))


# --- the work ------------------------------------------------------------------------------------------------------


def item(
    id_: str = "review/1", text: str = "please mend it", by: Author = MARIA, *, resolved: bool = False,
    ours: bool = False,
) -> Collected:  # fmt: skip
    """One piece of feedback as collected; the version of a check is the commit it failed on."""
    kind = _kind(id_)
    version = text if kind == "check" and text != "please mend it" else HEAD if kind == "check" else word(text)
    return Collected(id=id_, kind=kind, version=version, author=by, resolved=resolved, ours=ours)


def _kind(id_: str) -> ItemKind:
    kinds: dict[str, ItemKind] = {kind: kind for kind in get_args(ItemKind)}
    return kinds[id_.partition("/")[0]]


def looked_at(*facts: Review | Comment) -> tuple[str, ...]:
    """The comments that a collection has seen, trusted or not."""
    return tuple(seen_as(fact.node, fact.body or "") for fact in facts)


def fetched(
    *items: Collected, n: int = 1, k: int = 1, head: str = HEAD, seen: tuple[str, ...] = (),
    strangers: tuple[int, ...] = (),
) -> CommentsFetched:  # fmt: skip
    return CommentsFetched(n=n, k=k, head=head, items=items, seen=seen, strangers=strangers)


def not_fetched(reason: str = "github_unavailable", n: int = 1, k: int = 1, retry_after: int = 0) -> CommentsFailed:
    return CommentsFailed(n=n, k=k, reason=Failure(reason), retry_after=retry_after)


def started(n: int = 1, k: int = 1, holder: str = "fixer/0", run: str = "run-1") -> FixStarted:
    return FixStarted(n=n, k=k, holder=holder, run=run)


def verdict(id_: str = "review/1", judgement: str = "fixed", text: str = "please mend it") -> Verdict:
    return Verdict(item=id_, version=item(id_, text).version, judgement=Judgement(judgement))


def prepared(
    *verdicts: Verdict, n: int = 1, k: int = 1, base: str = HEAD, changes: tuple[Change, ...] = (CHANGE,),
) -> FixPrepared:  # fmt: skip
    """A fix; without a word about verdicts, of the one review."""
    return FixPrepared(
        n=n, k=k, run="run-1", base=base, changes=changes, verdicts=verdicts or (verdict(),), usage=Usage(turns=1)
    )


def only_answered(*verdicts: Verdict, n: int = 1, k: int = 1) -> FixPrepared:
    """A fix without a change."""
    return FixPrepared(n=n, k=k, run="run-1", base=HEAD, verdicts=verdicts)


def failed(reason: str, n: int = 1, k: int = 1, usage: Usage | None = None, retry_after: int = 0) -> FixFailed:
    return FixFailed(n=n, k=k, run="run-1", reason=Failure(reason), usage=usage or Usage(), retry_after=retry_after)


def pushed(n: int = 1, sha: str = NEXT, items: tuple[str, ...] = ()) -> FixPushed:
    return FixPushed(n=n, sha=sha, items=items)


def refused(reason: str = "moved", n: int = 1, k: int = 1) -> PushRefused:
    return PushRefused(n=n, k=k, reason=Failure(reason))
