"""Everything that can happen: the closed vocabulary of facts, who may report each, and the key that makes it unique.

Facts are past tense. The first half is reported by services, the second half decided by the evaluator. A fact's key
is unique within its loop for ever; it is made of GitHub's identity or of the cycle (n) and its attempt (k), never of
random ids or clocks, so that a webhook and a poller meet in the same key. *Snapshots* may return to an old value:
they name the `slot` they are a value of, and the recorder numbers them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from typing import Annotated, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    FailFast,
    Field,
    StringConstraints,
    model_validator,
)

from amends.common.policy import (
    NAMES,
    Count,
    Id,
    Line,
    Overrides,
    Policy,
    Prose,
    Seconds,
    Severity,
    merged,
    shared_values,
    without,
)  # fmt: skip

# --- words ---------------------------------------------------------------------------------------------------------

Token = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[!-~]+$")]
Name = Annotated[str, StringConstraints(max_length=400)]
Key = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[!-~]+$")]
Account = Annotated[str, StringConstraints(max_length=410)]  # `token/` and a name
Sha = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})?$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16,64}$")]
Number = Annotated[int, Field(ge=1, le=1_000_000)]


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("Input should lie within the years 1 to 9999 of UTC") from None


Moment = Annotated[AwareDatetime, AfterValidator(_utc)]
T = TypeVar("T")
Many = Annotated[tuple[T, ...], FailFast()]  # one refusal needs one error: a hostile report may hold 100,000

Reporter = Literal["gateway", "comment-fetcher", "fixer", "publisher", "reviewer", "notifier", "evaluator", "cli"]
WORKERS: tuple[Reporter, ...] = ("comment-fetcher", "fixer", "publisher", "reviewer", "notifier")
EVERYONE: tuple[Reporter, ...] = ("gateway", *WORKERS, "evaluator", "cli")

Permission = Literal["admin", "maintain", "write", "triage", "read", "none"]
ItemKind = Literal["thread", "review", "comment", "check", "command", "finding"]
CommandName = Literal[
    "fix", "retry", "refine", "skip", "accept", "reset", "ready", "stop", "pause", "resume", "explain", "help"
]
Outcome = Literal["pushed", "answered", "nothing_to_do", "failed", "cancelled"]
Ending = Literal["approved", "ready", "accepted", "stopped", "closed", "merged", "continued_in"]


class Judgement(StrEnum):
    """How an item version ended; each ends in exactly one."""

    FIXED = "fixed"
    ANSWERED = "answered"
    DECLINED = "declined"
    DEFERRED = "deferred"
    NEEDS_HUMAN = "needs_human"
    SUPERSEDED = "superseded"


class Failure(StrEnum):
    """Why an attempt ended without what it was asked for; what follows is a table in the decider."""

    MODEL_OVERLOADED = "model_overloaded"
    GITHUB_UNAVAILABLE = "github_unavailable"
    GITHUB_INCOMPLETE = "github_incomplete"
    MODEL_AUTH = "model_auth"
    MODEL_SPEND = "model_spend"
    MODEL_UNKNOWN = "model_unknown"
    MOVED = "moved"
    WORKSPACE_LOST = "workspace_lost"
    CRASHED = "crashed"
    SUPERSEDED = "superseded"
    STALLED = "stalled"
    CANCELLED = "cancelled"
    CLOSED = "closed"
    DRAFT = "draft"
    FORK = "fork"
    BRANCH_GONE = "branch_gone"
    ACCESS_LOST = "access_lost"
    NO_CHANGE = "no_change"
    LIMITS = "limits"
    CHECKS_FAILED = "checks_failed"
    POLICY = "policy"
    REFUSED = "refused"
    MALFORMED = "malformed"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"


class Part(BaseModel):  # noqa: PLW1641 - pydantic makes the hash of what is frozen
    """A fact or a piece of one: frozen, and exact about what it holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __eq__(self, other: object) -> bool:
        """Equal in type and fields; pydantic's own looks at much more, which we do not have, and takes its time."""
        return self is other or (type(self) is type(other) and self.__dict__ == other.__dict__)


class Author(Part):
    """An account. `self` is our own; `token` was vouched for by a bearer token or a local operator, not by GitHub."""

    id: Id
    login: Name = ""
    kind: Literal["user", "bot", "ghost", "self", "token"] = "user"

    @property
    def account(self) -> str:
        """Who it is, whatever the login is called today."""
        return f"token/{self.login}" if self.kind == "token" else str(self.id)


class Finding(Part):
    """One point of a review that came from outside GitHub: its text enters with the fact."""

    text: Prose
    severity: Severity = Severity.MEDIUM
    category: Name = ""
    path: Name = ""
    line: Count | None = None


class Collected(Part):
    """One piece of feedback as it was collected; `ours` when it is about lines that the loop itself wrote."""

    id: Name
    kind: ItemKind
    version: Digest
    author: Author
    review: Id | None = None
    resolved: bool = False
    outdated: bool = False
    ours: bool = False
    path: Name = ""
    line: Count | None = None
    severity: Severity | None = None


def seen_as(node: str, body: str) -> str:
    """The short name of one text of one comment."""
    return sha256(f"{node}/{body}".encode()).hexdigest()[:16]


class LeftOut(Part):
    """How much was not collected, by reason; the text of untrusted authors never enters."""

    untrusted: Count = 0
    bots: Count = 0
    own: Count = 0
    overflow: Count = 0


class Text(Part):
    """Feedback whose text came with a fact and not from the forge: a finding, or the text of a command."""

    item: Name
    author: Author
    text: Prose
    severity: Severity | None = None
    path: Name = ""
    line: Count | None = None


class Closed(Part):
    """An item version that already has a verdict."""

    item: Name
    version: Digest


class Change(Part):
    """One path of a change set; no `blob` means deleted, no `before` means it was not there."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4_096)]
    mode: Literal["100644", "100755", "120000", "160000"] = "100644"
    blob: Digest | None = None
    before: Digest | None = None


class Verdict(Part):
    """What became of one item version. `beside` are the items that one answer of a human settles together with it."""

    item: Name
    version: Digest
    judgement: Judgement
    reason: Prose = ""
    hunks: Many[Name] = ()
    severity: Severity | None = None
    beside: Annotated[Many[Name], Field(max_length=50)] = ()


class Question(Part):
    """What a human was asked about an item, and the other items that hold his answer."""

    item: Name
    text: Prose
    answers: Many[Name] = ()


class Check(Part):
    """One of the policy's checks, run before and after the change."""

    name: Name
    before: Literal["passed", "failed", "skipped"] = "skipped"
    after: Literal["passed", "failed", "skipped"] = "skipped"


class Usage(Part):
    """What an attempt cost, in whole units: money in millionths of a dollar."""

    turns: Annotated[int, Field(ge=0, le=10**9)] = 0
    tokens: Annotated[int, Field(ge=0, le=10**15)] = 0
    usd_micro: Annotated[int, Field(ge=0, le=10**15)] = 0
    seconds: Annotated[int, Field(ge=0, le=10**9)] = 0


# --- facts ---------------------------------------------------------------------------------------------------------


class Fact(Part):
    """What all facts share. `by` are the services entitled to report it; none means the evaluator decides it."""

    schema_version: ClassVar[int] = 1
    by: ClassVar[tuple[Reporter, ...]] = ()

    @property
    def slot(self) -> str:
        """For a snapshot, what it is a value of; a happening answers with nothing."""
        return ""

    @property
    def key(self) -> str:
        """What makes it unique within its loop; of a snapshot, all but its number."""
        return self.slot


class Step(Fact):
    """A fact of attempt k of cycle n. Neither number ever goes back."""

    n: Number
    k: Number

    @property
    def step(self) -> str:
        """The attempt's own part of a key."""
        return f"cycle/{self.n}/{self.k}"


class Request(Fact):
    """A decision that some service must answer; `again` counts how often it was asked again."""

    service: ClassVar[Reporter]
    again: Count = 0

    def asked(self, key: str) -> str:
        """The key of this request, or of its repetition."""
        return f"{key}/again/{self.again}" if self.again else key


OBSERVERS: tuple[Reporter, ...] = ("gateway", "comment-fetcher", "cli")


class PrObserved(Fact):
    """The pull request as GitHub shows it: opened, moved, retargeted, labelled, drafted or reopened."""

    by = (*OBSERVERS, "publisher")
    type: Literal["pr.observed"] = "pr.observed"
    full_name: Name
    title: Name = ""
    url: Name = ""
    author: Author
    head: Sha
    head_ref: Name
    head_repo: Id | None
    base_ref: Name
    draft: bool = False
    labels: Many[Name] = ()
    updated_at: Moment

    @property
    def slot(self) -> str:
        return "pr"


class PrClosed(Fact):
    """The pull request was closed, merged or not."""

    by = (*OBSERVERS, "publisher")
    type: Literal["pr.closed"] = "pr.closed"
    merged: bool
    updated_at: Moment

    @property
    def slot(self) -> str:
        return "pr"


class ReviewRejected(Fact):
    """A reviewer asked for changes. `node` and `body` name the review's own text; findings come from outside GitHub."""

    by = (*OBSERVERS, "reviewer")
    type: Literal["review.rejected"] = "review.rejected"
    review: Id
    node: Token
    author: Author
    head: Sha = ""
    body: Digest | None = None
    summary: Prose = ""
    findings: Annotated[Many[Finding], Field(max_length=100)] = ()
    submitted_at: Moment

    @property
    def key(self) -> str:
        return f"review/{self.review}/rejected"


class ReviewApproved(Fact):
    """A reviewer approved the head he saw."""

    by = (*OBSERVERS, "reviewer")
    type: Literal["review.approved"] = "review.approved"
    review: Id
    node: Token
    author: Author
    head: Sha = ""
    body: Digest | None = None
    submitted_at: Moment

    @property
    def key(self) -> str:
        return f"review/{self.review}/approved"


class ReviewCommented(Fact):
    """A reviewer commented without an opinion; it never clears one."""

    by = (*OBSERVERS, "reviewer")
    type: Literal["review.commented"] = "review.commented"
    review: Id
    node: Token
    author: Author
    head: Sha = ""
    body: Digest | None = None
    submitted_at: Moment

    @property
    def key(self) -> str:
        return f"review/{self.review}/commented"


class ReviewDismissed(Fact):
    """A review was dismissed: its author has no standing opinion any more."""

    by = OBSERVERS
    type: Literal["review.dismissed"] = "review.dismissed"
    review: Id
    author: Author

    @property
    def key(self) -> str:
        return f"review/{self.review}/dismissed"


class CommentAdded(Fact):
    """A comment in a thread (root: its first comment), in the conversation (root: itself), or as a review's body."""

    by = OBSERVERS
    type: Literal["comment.added"] = "comment.added"
    kind: Literal["thread", "comment", "review"]
    root: Id
    comment: Id
    node: Token
    author: Author
    body: Digest
    review: Id | None = None
    updated_at: Moment

    @property
    def key(self) -> str:
        return f"comment/{self.node}/{self.body}"


class CommentEdited(Fact):
    """A comment's text changed (an edited review body is one too)."""

    by = OBSERVERS
    type: Literal["comment.edited"] = "comment.edited"
    kind: Literal["thread", "comment", "review"]
    root: Id
    comment: Id
    node: Token
    author: Author
    body: Digest
    review: Id | None = None
    updated_at: Moment

    @property
    def key(self) -> str:
        return f"comment/{self.node}/{self.body}"


class CommentDeleted(Fact):
    """A comment is gone."""

    by = OBSERVERS
    type: Literal["comment.deleted"] = "comment.deleted"
    kind: Literal["thread", "comment", "review"]
    root: Id
    comment: Id
    node: Token

    @property
    def key(self) -> str:
        return f"comment/{self.node}/deleted"


class ThreadResolved(Fact):
    """Somebody resolved a thread."""

    by = OBSERVERS
    type: Literal["thread.resolved"] = "thread.resolved"
    root: Id
    updated_at: Moment | None = None

    @property
    def slot(self) -> str:
        return f"thread/{self.root}"


class ThreadUnresolved(Fact):
    """Somebody opened a resolved thread again."""

    by = OBSERVERS
    type: Literal["thread.unresolved"] = "thread.unresolved"
    root: Id
    updated_at: Moment | None = None

    @property
    def slot(self) -> str:
        return f"thread/{self.root}"


class ChecksFinished(Fact):
    """A check ended for a commit; `none_started`, of logs from before `checks.counted`: none appeared for ours.

    A webhook does not say whether a failed check is required: then `required` is None, and it is no item until somebody
    has looked.
    """

    by = OBSERVERS
    type: Literal["checks.finished"] = "checks.finished"
    name: Token
    head: Sha
    conclusion: Literal["success", "failure", "neutral", "none_started"]
    required: bool | None = False
    fails_on_base: bool = False
    updated_at: Moment | None = None

    @property
    def slot(self) -> str:
        return f"checks/{self.name}/{self.head}{'/seen' if self.required is None else ''}"


class AccessChanged(Fact):
    """Our access to the repository was granted or lost."""

    by = (*OBSERVERS, "publisher")
    type: Literal["access.changed"] = "access.changed"
    access: Literal["granted", "lost"]
    reason: Name = ""
    updated_at: Moment | None = None

    @property
    def slot(self) -> str:
        return "access"


class AuthorChecked(Fact):
    """The author of a review or of a comment's command was looked up: his permission now. `of` is that fact's key."""

    by = ("comment-fetcher", "cli")
    type: Literal["author.checked"] = "author.checked"
    of: Key
    author: Author
    permission: Permission

    @property
    def key(self) -> str:
        return f"{self.of}/author"


class CommandGiven(Fact):
    """Somebody told the loop what to do. `id` is the comment's or the request's; a comment's author is checked."""

    by = ("gateway", "comment-fetcher", "cli")
    type: Literal["command.given"] = "command.given"
    id: Token
    name: CommandName
    text: Prose = ""
    author: Author

    @property
    def key(self) -> str:
        return f"command/{self.id}"


class PolicyChanged(Fact):
    """The installation's layer of the policy was changed, for all or for one `repository`.

    What is `unset` comes from the layer below again; then `values` are set.
    """

    by = ("gateway", "cli", "evaluator")
    type: Literal["policy.changed"] = "policy.changed"
    request: Token
    values: Overrides
    unset: Annotated[Many[Name], Field(max_length=100)] = ()
    repository: Name = ""

    def over(self, layer: Overrides) -> Overrides:
        """The layer after this change."""
        return merged(without(layer, self.unset), self.values)

    @model_validator(mode="after")
    def _known(self) -> PolicyChanged:
        if strange := sorted(set(self.unset) - NAMES):
            raise ValueError(f"unset: there is no {', '.join(strange)[:200]}")
        return self

    @model_validator(mode="after")
    def _for_one(self) -> PolicyChanged:
        if self.repository and (shared := shared_values(self.values)):
            raise ValueError(f"{', '.join(shared)}: of the whole installation, not of one repository")
        return self

    @property
    def key(self) -> str:
        return f"policy/{self.request}"


class PolicyObserved(Fact):
    """The repository's own policy file at the base branch: its values, or what is wrong in which line."""

    by = ("comment-fetcher", "cli")
    type: Literal["policy.observed"] = "policy.observed"
    blob: Sha
    values: Overrides | None = None
    error: Prose = ""
    line: Count | None = None

    @property
    def slot(self) -> str:
        return "policy"

    @property
    def key(self) -> str:
        return f"policy/{self.blob}"


class CommentsFetched(Step):
    """All feedback, collected: the index of items here, their texts in a blob.

    `seen` names every comment that was looked at, trusted or not, as `seen_as` does: a hint that comes late is no news.
    `rules` are the request's, for whoever works on it next.
    """

    by = ("comment-fetcher", "cli")
    type: Literal["comments.fetched"] = "comments.fetched"
    head: Sha
    items: Many[Collected] = ()
    texts: Digest | None = None
    seen: Many[Digest] = ()
    strangers: Many[Id] = ()
    left_out: LeftOut = LeftOut()
    conflicts: Many[Name] = ()
    rules: Policy | None = None

    @property
    def key(self) -> str:
        return f"{self.step}/fetched"


class CommentsFailed(Step):
    """The feedback could not be collected whole; a part of it is never passed on."""

    by = ("comment-fetcher", "cli")
    type: Literal["comments.failed"] = "comments.failed"
    reason: Failure
    detail: Prose = ""
    retry_after: Count = 0

    @property
    def key(self) -> str:
        return f"{self.step}/failed"


class FixStarted(Step):
    """A claim, made before any cost: holder (the same after a restart) and run (this process)."""

    by = ("fixer", "cli")
    type: Literal["fix.started"] = "fix.started"
    holder: Token
    run: Token
    workspace: Name = ""

    @property
    def key(self) -> str:
        return f"{self.step}/started"


class FixPrepared(Step):
    """A fix, proved: the change set on `base`, a verdict per item, the checks, the cost.

    `credits` are the people whose suggestions are in it as they wrote them, `notes` what was odd about the workspace.
    """

    by = ("fixer", "cli")
    type: Literal["fix.prepared"] = "fix.prepared"
    run: Token
    base: Sha
    changes: Many[Change] = ()
    verdicts: Many[Verdict] = ()
    checks: Many[Check] = ()
    usage: Usage = Usage()
    transcript: Digest | None = None
    credits: Many[Author] = ()
    notes: Many[Name] = ()

    @property
    def key(self) -> str:
        return f"{self.step}/prepared"


class FixFailed(Step):
    """The attempt of this run ended without a fix."""

    by = ("fixer", "cli")
    type: Literal["fix.failed"] = "fix.failed"
    run: Token
    reason: Failure
    detail: Prose = ""
    usage: Usage = Usage()
    retry_after: Count = 0
    transcript: Digest | None = None
    notes: Many[Name] = ()

    @property
    def key(self) -> str:
        return f"{self.step}/fix-failed"


class FixPushed(Fact):
    """The cycle's commit is on the branch. `wrote` are the lines of it that were not there before.

    `ci_seconds` is of logs from before `cycle.finished` had them.
    """

    by = ("publisher", "cli")
    type: Literal["fix.pushed"] = "fix.pushed"
    n: Number
    sha: Sha
    items: Many[Name] = ()
    adopted: bool = False
    wrote: Many[Name] = ()
    ci_seconds: Seconds = 0

    @property
    def key(self) -> str:
        return f"cycle/{self.n}/pushed"


class PushRefused(Step):
    """The push was not made. `patch` is the fix, where nothing speaks against it but the branch."""

    by = ("publisher", "cli")
    type: Literal["push.refused"] = "push.refused"
    reason: Failure
    detail: Prose = ""
    patch: Digest | None = None

    @property
    def key(self) -> str:
        return f"{self.step}/refused"


class ChecksCounted(Fact):
    """Whether checks have begun for the commit of cycle n: `missing` are those that should have and have not."""

    by = ("publisher", "cli")
    type: Literal["checks.counted"] = "checks.counted"
    n: Number
    missing: Annotated[Many[Name], Field(max_length=100)] = ()

    @property
    def key(self) -> str:
        return f"cycle/{self.n}/checks/counted"


class ResolveFinished(Fact):
    """The threads of cycle n were looked after: `roots` are those that are resolved now."""

    by = ("publisher", "cli")
    type: Literal["resolve.finished"] = "resolve.finished"
    n: Number
    roots: Many[Id] = ()

    @property
    def key(self) -> str:
        return f"cycle/{self.n}/resolved"


class NotifyStarted(Fact):
    """A channel that nobody can look into is about to be told of the event at `of`: by this run, and by no other."""

    by = ("notifier", "cli")
    type: Literal["notify.started"] = "notify.started"
    of: Id
    channel: Token
    run: Token

    @property
    def key(self) -> str:
        return f"notified/{self.of}/{self.channel}/started"


class Notified(Fact):
    """Somebody was told about the event at `of`; `last` when no other channel is still to be told."""

    by = ("notifier", "cli")
    type: Literal["notified"] = "notified"
    of: Id
    channel: Token
    url: Name = ""
    last: bool = True

    @property
    def key(self) -> str:
        return f"notified/{self.of}/{self.channel}"


class NotifyFailed(Fact):
    """A channel could not be told about the event at `of`."""

    by = ("notifier", "cli")
    type: Literal["notify.failed"] = "notify.failed"
    of: Id
    channel: Token
    reason: Prose = ""
    last: bool = True

    @property
    def key(self) -> str:
        return f"notified/{self.of}/{self.channel}/failed"


class DeliveryParked(Fact):
    """A service gave up on the event at `of` after its last delivery."""

    by = EVERYONE
    type: Literal["delivery.parked"] = "delivery.parked"
    of: Id
    service: Reporter
    error: Name
    deliveries: Count = 0

    @property
    def key(self) -> str:
        return f"parked/{self.of}/{self.service}"


class TimerFired(Fact):
    """A wait is over. The generation says which arming of the timer it was."""

    by = ("evaluator",)
    type: Literal["timer.fired"] = "timer.fired"
    name: Key
    generation: Id

    @property
    def key(self) -> str:
        return f"timer/{self.name}/{self.generation}"


# --- decisions -----------------------------------------------------------------------------------------------------


Scope = Literal["triggers", "all"]


class LoopOpened(Fact):
    """A change is followed from here on. `ref` is the caller's own name for it."""

    type: Literal["loop.opened"] = "loop.opened"
    kind: Literal["change", "installation", "policy"] = "change"
    ref: Name = ""
    continues: Name = ""

    @property
    def key(self) -> str:
        return "opened"


class CommandAccepted(Fact):
    """A command takes effect; `of` is the command's key. `text` is what help is given instead of."""

    type: Literal["command.accepted"] = "command.accepted"
    of: Key
    name: CommandName
    text: Name = ""

    @property
    def key(self) -> str:
        return f"{self.of}/accepted"


class CommandRefused(Fact):
    """A command has no effect, and why."""

    type: Literal["command.refused"] = "command.refused"
    of: Key
    name: CommandName
    reason: Literal["untrusted", "nothing_to_retry", "not_paused", "paused", "finished", "not_here"]

    @property
    def key(self) -> str:
        return f"{self.of}/refused"


class FixRequested(Request, Step):
    """Attempt k of cycle n begins: collect everything afresh. `rules` are in force for the whole cycle."""

    service = "comment-fetcher"
    type: Literal["fix.requested"] = "fix.requested"
    head: Sha
    scope: Scope = "triggers"
    rejecting: tuple[Account, ...] = ()
    closed: tuple[Closed, ...] = ()
    expects: tuple[Token, ...] = ()
    texts: tuple[Text, ...] = ()
    pushed: Sha = ""
    wrote: tuple[Name, ...] = ()
    questions: tuple[Question, ...] = ()
    rules: Policy

    @property
    def key(self) -> str:
        return self.asked(f"{self.step}/requested")


class PushRequested(Request, Step):
    """Publish this change set on this base, and nothing else; `protected` and `allowed` are the policy's paths.

    `reviews` are those that asked for it, `credits` the people whose own words are in it. `ci_seconds` is of logs from
    before `cycle.finished` had them.
    """

    service = "publisher"
    type: Literal["push.requested"] = "push.requested"
    base: Sha
    head_ref: Name
    changes: tuple[Change, ...]
    verdicts: tuple[Verdict, ...] = ()
    prepared: Id
    protected: tuple[Line, ...] = ()
    allowed: tuple[Line, ...] = ()
    ci_seconds: Seconds = 0
    reviews: tuple[Id, ...] = ()
    credits: tuple[Author, ...] = ()

    @property
    def key(self) -> str:
        return self.asked(f"{self.step}/push")


class CycleFinished(Request):
    """A cycle ended: every cycle does, with a verdict per item; threads are answered from it.

    After `ci_seconds` somebody looks whether checks have begun for `sha`. `resolve` is of logs from before there was
    `resolve.requested`.
    """

    service = "notifier"
    type: Literal["cycle.finished"] = "cycle.finished"
    n: Number
    outcome: Outcome
    used: bool
    reason: Name = ""
    sha: Sha = ""
    verdicts: tuple[Verdict, ...] = ()
    resolve: bool = False
    ci_seconds: Seconds = 0

    @property
    def key(self) -> str:
        return self.asked(f"cycle/{self.n}/finished")


class ResolveRequested(Request):
    """Resolve the threads of these verdicts, each for as long as its fix is in the head."""

    service = "publisher"
    type: Literal["resolve.requested"] = "resolve.requested"
    n: Number
    sha: Sha
    verdicts: tuple[Verdict, ...]

    @property
    def key(self) -> str:
        return self.asked(f"cycle/{self.n}/resolve")


class ChecksRequested(Request):
    """Say whether checks have begun for the commit of cycle n: they have had their time."""

    service = "publisher"
    type: Literal["checks.requested"] = "checks.requested"
    n: Number
    sha: Sha

    @property
    def key(self) -> str:
        return self.asked(f"cycle/{self.n}/checks")


class ReviewRequested(Request):
    """These reviewers are asked to look again: all they raised has a verdict, and something was pushed."""

    service = "notifier"
    type: Literal["review.requested"] = "review.requested"
    n: Number
    sha: Sha
    reviewers: tuple[Author, ...]

    @property
    def key(self) -> str:
        return self.asked(f"cycle/{self.n}/review")


class Past(Part):
    """One line of a loop's history, for the human who takes over."""

    n: Number
    outcome: Outcome
    reason: Name = ""
    sha: Sha = ""
    verdicts: tuple[tuple[Judgement, Count], ...] = ()


class Escalated(Request):
    """A human is needed, and why. `stops` when the loop waits for him; `items` are what is open."""

    service = "notifier"
    type: Literal["escalated"] = "escalated"
    of: Key
    reason: Token
    stops: bool = True
    detail: Prose = ""
    items: tuple[Name, ...] = ()
    history: tuple[Past, ...] = ()
    patch: Digest | None = None

    @property
    def key(self) -> str:
        return self.asked(f"{self.of}/escalated/{self.reason}")


class LoopPaused(Request):
    """Facts are recorded, nothing is decided, until it is resumed."""

    service = "notifier"
    type: Literal["loop.paused"] = "loop.paused"
    of: Key

    @property
    def key(self) -> str:
        return self.asked(f"{self.of}/paused")


class LoopResumed(Fact):
    """Deciding goes on."""

    type: Literal["loop.resumed"] = "loop.resumed"
    of: Key

    @property
    def key(self) -> str:
        return f"{self.of}/resumed"


class LoopStuck(Fact):
    """Our own code could not fold or decide here: the facts are safe, a newer version tries again."""

    type: Literal["loop.stuck"] = "loop.stuck"
    error: Name
    code: Name
    at: Id

    @property
    def key(self) -> str:
        return f"stuck/{self.at}"


class LoopFinished(Request):
    """The loop is over, unless something that counts begins it again."""

    service = "notifier"
    type: Literal["loop.finished"] = "loop.finished"
    outcome: Ending
    times: Number
    continued_in: Name = ""

    @property
    def key(self) -> str:
        return self.asked(f"finished/{self.times}")


Reported: TypeAlias = (
    PrObserved | PrClosed | ReviewRejected | ReviewApproved | ReviewCommented | ReviewDismissed
    | CommentAdded | CommentEdited | CommentDeleted | ThreadResolved | ThreadUnresolved | ChecksFinished | AccessChanged
    | AuthorChecked | CommandGiven | PolicyChanged | PolicyObserved
    | CommentsFetched | CommentsFailed | FixStarted | FixPrepared | FixFailed | FixPushed | PushRefused
    | ResolveFinished | ChecksCounted | NotifyStarted | Notified | NotifyFailed | DeliveryParked | TimerFired
)  # fmt: skip
Decided: TypeAlias = (
    LoopOpened | CommandAccepted | CommandRefused | FixRequested | PushRequested | CycleFinished | ResolveRequested
    | ChecksRequested | ReviewRequested | Escalated | LoopPaused | LoopResumed | LoopStuck | LoopFinished
)  # fmt: skip
AnyFact: TypeAlias = Reported | Decided

# Names of what comes before a pull request: nobody may use them for anything else, and nothing is decided for them.
RESERVED = frozenset({"self_review.requested", "self_review.completed", "pr.requested", "pr.created"})

# Which service reacts to what. A service's durable consumer is filtered to exactly these.
REACTIONS: dict[Reporter, tuple[str, ...]] = {
    "comment-fetcher": (
        "fix.requested", "review.rejected", "review.approved", "review.commented", "command.given", "pr.observed",
    ),
    "fixer": ("comments.fetched",),
    "publisher": ("push.requested", "resolve.requested", "checks.requested"),
    "notifier": (
        "fix.requested", "fix.failed", "cycle.finished", "review.requested", "escalated", "loop.finished",
        "loop.paused", "command.accepted", "command.refused", "policy.observed",
    ),
}  # fmt: skip
