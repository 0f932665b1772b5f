"""One example of every fact. A new fact needs one too: tests of keys, reports, metrics and the corpus start here."""

from __future__ import annotations

from datetime import UTC, datetime

from amends.common.events import (
    AccessChanged,
    AnyFact,
    Author,
    AuthorChecked,
    Change,
    Check,
    ChecksCounted,
    ChecksFinished,
    ChecksRequested,
    Closed,
    Collected,
    CommandAccepted,
    CommandGiven,
    CommandRefused,
    CommentAdded,
    CommentDeleted,
    CommentEdited,
    CommentsFailed,
    CommentsFetched,
    CycleFinished,
    DeliveryParked,
    Escalated,
    Failure,
    Finding,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixRequested,
    FixStarted,
    Judgement,
    LeftOut,
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
    Text,
    ThreadResolved,
    ThreadUnresolved,
    TimerFired,
    Usage,
    Verdict,
)
from amends.common.policy import BudgetOverrides, Overrides, Policy, Severity, WaitsOverrides

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BASE, HEAD = "a" * 40, "b" * 40
BODY, OTHER_BODY, VERSION = "0123456789abcdef", "fedcba9876543210", "00112233445566778899aabbccddeeff"
BLOB = "5" * 64
ANNA = Author(id=11, login="anna")
MARIA = Author(id=12, login="maria")
LINTER = Author(id=13, login="linter[bot]", kind="bot")
PANEL = Author(id=0, login="panel", kind="token")

ITEM = Collected(
    id="thread/501", kind="thread", version=VERSION, author=MARIA, review=900, path="src/a.py", line=7,
    severity=Severity.HIGH,
)  # fmt: skip
CHANGE = Change(path="src/a.py", blob=BLOB, before="4" * 64)
FIXED = Verdict(item="thread/501", version=VERSION, judgement=Judgement.FIXED, reason="renamed", hunks=("src/a.py:7",))
ASKS = Verdict(item="review/900", version=VERSION, judgement=Judgement.NEEDS_HUMAN, reason="Which of the two?")
COST = Usage(turns=12, tokens=34_567, usd_micro=420_000, seconds=95)
PAST = Past(n=1, outcome="pushed", sha=HEAD, verdicts=((Judgement.FIXED, 1), (Judgement.NEEDS_HUMAN, 1)))

REPORTED: tuple[AnyFact, ...] = (
    PrObserved(
        full_name="octo/shop", title="Add a basket", url="https://forge.test/octo/shop/pull/7", author=ANNA, head=BASE,
        head_ref="basket", head_repo=1, base_ref="main", labels=("feature",), updated_at=NOON,
    ),
    PrClosed(merged=True, updated_at=NOON),
    ReviewRejected(
        review=900, node="PRR_900", author=MARIA, head=BASE, body=BODY, summary="Two things", submitted_at=NOON,
        findings=(Finding(text="The name says nothing", severity=Severity.HIGH, path="src/a.py", line=7),),
    ),
    ReviewApproved(review=901, node="PRR_901", author=MARIA, head=HEAD, submitted_at=NOON),
    ReviewCommented(review=902, node="PRR_902", author=LINTER, head=BASE, body=BODY, submitted_at=NOON),
    ReviewDismissed(review=900, author=MARIA),
    CommentAdded(
        kind="thread", root=501, comment=501, node="PRRC_501", author=MARIA, body=BODY, review=900, updated_at=NOON
    ),
    CommentEdited(
        kind="thread", root=501, comment=501, node="PRRC_501", author=MARIA, body=OTHER_BODY, review=900,
        updated_at=NOON,
    ),
    CommentDeleted(kind="thread", root=501, comment=501, node="PRRC_501"),
    ThreadResolved(root=501, updated_at=NOON),
    ThreadUnresolved(root=501, updated_at=NOON),
    ChecksFinished(name="build", head=BASE, conclusion="failure", required=True, updated_at=NOON),
    AccessChanged(access="lost", reason="uninstalled", updated_at=NOON),
    AuthorChecked(of="review/900/rejected", author=MARIA, permission="write"),
    CommandGiven(id="IC_77", name="refine", text="keep the old name", author=MARIA),
    PolicyChanged(
        request="panel-1",
        values=Overrides(
            repositories=("octo/shop",), triggers=("comments",), budget=BudgetOverrides(usd=5.0),
            waits=WaitsOverrides(push_seconds=300),
        ),
    ),
    PolicyObserved(blob="c" * 40, values=Overrides(max_cycles=1, protected_paths=("deploy/**",))),
    CommentsFetched(
        n=1, k=1, head=BASE, items=(ITEM,), texts=BLOB, seen=(BODY,), strangers=(99,),
        left_out=LeftOut(untrusted=2, bots=1), conflicts=("src/b.py",),
    ),
    CommentsFailed(n=1, k=1, reason=Failure.GITHUB_UNAVAILABLE, detail="502 three times", retry_after=30),
    FixStarted(n=1, k=1, holder="fixer-1/0", run="run-1", workspace="octo-shop-7"),
    FixPrepared(
        n=1, k=1, run="run-1", base=BASE, changes=(CHANGE,), verdicts=(FIXED, ASKS), usage=COST, transcript=BLOB,
        checks=(Check(name="pytest", before="failed", after="passed"),),
    ),
    FixFailed(n=1, k=1, run="run-1", reason=Failure.NO_CHANGE, detail="nothing to change", usage=COST),
    FixPushed(n=1, sha=HEAD, items=("thread/501",)),
    ResolveFinished(n=1, roots=(501,)),
    ChecksCounted(n=1, missing=("build",)),
    PushRefused(n=1, k=1, reason=Failure.MOVED, detail="the head is ccc now"),
    Notified(of=40, channel="github", url="https://forge.test/octo/shop/pull/7#issuecomment-1"),
    NotifyStarted(of=40, channel="email", run="run-1"),
    NotifyFailed(of=40, channel="slack", reason="channel_not_found", last=False),
    DeliveryParked(of=40, service="notifier", error="TemplateError", deliveries=20),
    TimerFired(name="settle/1", generation=4),
)  # fmt: skip

DECIDED: tuple[AnyFact, ...] = (
    LoopOpened(ref="WORK-12"),
    CommandAccepted(of="command/IC_77", name="refine"),
    CommandRefused(of="command/IC_78", name="retry", reason="nothing_to_retry"),
    FixRequested(
        n=1, k=1, head=BASE, rejecting=("12",), closed=(Closed(item="thread/500", version=VERSION),),
        expects=("PRRC_501",), texts=(Text(item="command/IC_77", author=MARIA, text="keep the old name"),),
        rules=Policy(enabled=True, versions="1.0"),
    ),
    PushRequested(
        n=1, k=1, base=BASE, head_ref="basket", changes=(CHANGE,), verdicts=(FIXED, ASKS), prepared=30
    ),
    CycleFinished(n=1, outcome="pushed", used=True, sha=HEAD, verdicts=(FIXED, ASKS)),
    ResolveRequested(n=1, sha=HEAD, verdicts=(FIXED,)),
    ChecksRequested(n=1, sha=HEAD),
    ReviewRequested(n=1, sha=HEAD, reviewers=(MARIA,)),
    Escalated(of="cycle/1", reason="question", stops=False, items=("review/900",), history=(PAST,)),
    LoopPaused(of="command/IC_79"),
    LoopResumed(of="command/IC_80"),
    LoopStuck(error="KeyError", code="0.1.0", at=41),
    LoopFinished(outcome="approved", times=1),
)  # fmt: skip

EXAMPLES = (*REPORTED, *DECIDED)
