"""Stories of one pull request, each told as far as a place where somebody may ask why it stands there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from amends.common.events import (
    Author,
    AuthorChecked,
    Change,
    Collected,
    CommandGiven,
    CommandName,
    CommentAdded,
    CommentsFailed,
    CommentsFetched,
    Failure,
    Finding,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixStarted,
    Judgement,
    Notified,
    PrClosed,
    PrObserved,
    ResolveFinished,
    ResolveRequested,
    ReviewApproved,
    ReviewRejected,
    Usage,
    Verdict,
    seen_as,
)
from amends.common.policy import Severity
from tests.support.examples import ANNA, BASE, BLOB, HEAD, LINTER, MARIA, NOON, PANEL
from tests.support.story import Story

Teller = Callable[[], Story]
THREAD, REVIEW, FINDING = "thread/501", "review/900", "finding/900/1"
BODY, AGAIN, LATER = "0123456789abcdef", "fedcba9876543210", "0" * 16
HEADS = (BASE, HEAD, "c" * 40)


def observed(head: str = BASE, minutes: int = 0) -> PrObserved:
    return PrObserved(
        full_name="octo/shop", title="Add a basket", url="https://forge.test/octo/shop/pull/7", author=ANNA, head=head,
        head_ref="basket", head_repo=1, base_ref="main", updated_at=NOON + timedelta(minutes=minutes),
    )  # fmt: skip


def rejected(by: Author = MARIA, review: int = 900) -> ReviewRejected:
    finding = Finding(text="Say what it is", severity=Severity.HIGH, path="src/a.py", line=7)
    return ReviewRejected(
        review=review, node=f"PRR_{review}", author=by, head=BASE, body=BODY, findings=(finding,), submitted_at=NOON
    )


def commented(body: str = BODY, minutes: int = 0) -> CommentAdded:
    return CommentAdded(
        kind="thread", root=501, comment=501, node="PRRC_501", author=MARIA, body=body, review=900,
        updated_at=NOON + timedelta(minutes=minutes),
    )  # fmt: skip


def checked(of: str = "review/900/rejected", permission: str = "write") -> AuthorChecked:
    return AuthorChecked.model_validate({"of": of, "author": MARIA, "permission": permission})


def collected(n: int = 1, k: int = 1, version: str = "1") -> CommentsFetched:
    item = Collected(id=THREAD, kind="thread", version=version * 32, author=MARIA, review=900, path="src/a.py", line=7)
    others = ({"id": REVIEW, "kind": "review"}, {"id": FINDING, "kind": "finding"})
    items = (item, *(item.model_copy(update=other) for other in others))
    seen = tuple(seen_as(node, body) for node in ("PRRC_501", "PRR_900") for body in (BODY, AGAIN, LATER)[:n])
    return CommentsFetched(n=n, k=k, head=HEADS[n - 1], items=items, texts=BLOB, seen=seen)


def prepared(n: int = 1, k: int = 1, judgement: Judgement = Judgement.FIXED, *, changes: bool = True) -> FixPrepared:
    verdicts = tuple(
        Verdict(item=id_, version=str(n) * 32, judgement=judgement, reason="As you say", severity=Severity.HIGH)
        for id_ in (THREAD, REVIEW, FINDING)
    )
    change = Change(path="src/a.py", blob=str(n) * 64, before=str(n - 1) * 64)
    cost = Usage(turns=12, tokens=34_567, usd_micro=420_000, seconds=95)
    return FixPrepared(
        n=n, k=k, run="run-1", base=HEADS[n - 1], changes=(change,) if changes else (), verdicts=verdicts,
        usage=cost,
    )  # fmt: skip


def started(n: int = 1, k: int = 1) -> FixStarted:
    return FixStarted(n=n, k=k, holder="fixer-1/0", run="run-1", workspace="octo-shop-7")


def command(name: CommandName, text: str = "") -> CommandGiven:
    return CommandGiven(id=f"req-{name}", name=name, text=text, author=PANEL)


# --- told so far ---------------------------------------------------------------------------------------------------


def opened() -> Story:
    return Story().allows(repositories=["octo/shop"]).says(observed())


def unchecked() -> Story:
    return opened().says(commented(), rejected())


def settling() -> Story:
    return unchecked().says(checked())


def collecting() -> Story:
    return settling().waits("settle")


def fixing() -> Story:
    return collecting().says(collected(), started())


def pushing() -> Story:
    return fixing().says(prepared())


def awaiting() -> Story:
    return pushing().says(FixPushed(n=1, sha=HEAD), observed(HEAD, 1))


def told(story: Story) -> Story:
    """The notifier and the publisher have done all that they were asked for beside the work on a fix."""
    asked = story.loop.asks.items()
    threads = [ResolveFinished(n=ask.fact.n) for _, ask in asked if isinstance(ask.fact, ResolveRequested)]
    told = [Notified(of=pos, channel="github") for pos, ask in asked if ask.fact.service == "notifier"]
    return story.says(*threads, *told)


def questioned() -> Story:
    return told(fixing().says(prepared(judgement=Judgement.NEEDS_HUMAN, changes=False)))


def failed() -> Story:
    return told(fixing().says(FixFailed(n=1, k=1, run="run-1", reason=Failure.CHECKS_FAILED, detail="2 tests fail")))


def outage() -> Story:
    return collecting().says(CommentsFailed(n=1, k=1, reason=Failure.GITHUB_UNAVAILABLE, retry_after=90))


def no_model() -> Story:
    return fixing().says(FixFailed(n=1, k=1, run="run-1", reason=Failure.MODEL_AUTH))


def used_up() -> Story:
    """Two cycles, and the reviewer is still not content."""
    story = told(awaiting()).says(commented(AGAIN, 2)).waits("settle")
    story.says(collected(2, version="2"), started(2), prepared(2), FixPushed(n=2, sha=HEADS[2]), observed(HEADS[2], 3))
    return told(told(story).says(commented(LATER, 4)).waits("settle"))


def paused() -> Story:
    return told(fixing().says(command("pause")))


def approved(words: str | None = None) -> Story:
    story = told(awaiting())
    approval = ReviewApproved(review=901, node="PRR_901", author=MARIA, head=HEAD, submitted_at=NOON, body=words)
    return told(story.says(approval, checked("review/901/approved")))


def approved_with_words() -> Story:
    return approved(AGAIN)


def stopped() -> Story:
    return told(awaiting().says(command("stop")))


def merged() -> Story:
    return told(awaiting().says(PrClosed(merged=True, updated_at=NOON + timedelta(minutes=5))))


def not_enabled() -> Story:
    return Story().says(observed(), rejected(LINTER, 903), commented())


def whole_life() -> Story:
    """From the first look to the merge, with much of what can come between."""
    story = used_up().says(command("retry")).waits("settle")
    story.says(CommentsFailed(n=3, k=1, reason=Failure.GITHUB_UNAVAILABLE)).waits("retry")
    story.says(collected(3, 2, version="3"), started(3, 2), command("pause"), command("resume"), prepared(3, 2))
    last = "d" * 40
    story.says(FixPushed(n=3, sha=last), observed(last, 5), command("help"))
    approval = ReviewApproved(review=901, node="PRR_901", author=MARIA, head=last, submitted_at=NOON)
    told(told(story).says(approval, checked("review/901/approved")))
    return told(story.says(PrClosed(merged=True, updated_at=NOON + timedelta(minutes=9))))


STORIES: dict[str, Teller] = {
    "unseen": Story,
    "watching": opened,
    "watching_an_unchecked_author": unchecked,
    "watching_where_it_is_not_enabled": not_enabled,
    "settling": settling,
    "collecting": collecting,
    "collecting_in_an_outage": outage,
    "fixing": fixing,
    "fixing_without_a_model": no_model,
    "pushing": pushing,
    "awaiting_review": awaiting,
    "needs_human_after_a_failure": failed,
    "needs_human_with_a_question": questioned,
    "needs_human_with_all_cycles_used": used_up,
    "paused": paused,
    "done_approved": approved,
    "done_approved_with_words": approved_with_words,
    "done_stopped": stopped,
    "done_merged": merged,
}
