"""What every reason code means to a person: what it says, what follows by itself, and what he can do about it.

Words only. What really follows is decided in the evaluator; a test holds these words to it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from amends.common.answers import RefusalReason
from amends.common.events import Failure


class Follows(StrEnum):
    """What comes after a failed attempt."""

    LATER = "attempt k+1 after 1, 2, 4 ... 30 minutes; after 6 hours of this it escalates"
    WHEN_ON = "fixing is off for the installation, which escalates once; attempt k+1 when it is on again"
    AT_ONCE = "attempt k+1 at once; the third of these in a cycle escalates"
    AT_RESUME = "at resume: the prepared fix is pushed if the head is still the same, else attempt k+1"
    CANCELLED = "the cycle ends as cancelled and does not count as used"
    ESCALATED = "the cycle ends as failed, counts as used, and escalates"
    ESCALATED_UNUSED = "the cycle ends as failed, does not count as used, and escalates"


class Reason(NamedTuple):
    """One failure: what it means, what follows by itself, and what a human should do."""

    means: str
    follows: Follows
    remedy: str


_NOTHING = "nothing: it goes on by itself"
_REPEATS = "nothing, unless it escalates: then look at what the fixer logged, and say retry"
FAILURES: dict[Failure, Reason] = {
    Failure.MODEL_OVERLOADED: Reason("the model's service has no capacity", Follows.LATER, _NOTHING),
    Failure.GITHUB_UNAVAILABLE: Reason("the forge does not answer", Follows.LATER, _NOTHING),
    Failure.GITHUB_INCOMPLETE: Reason("the forge answered with a part of the feedback", Follows.LATER, _NOTHING),
    Failure.MODEL_AUTH: Reason(
        "there is no key for the model, or its service refuses it",
        Follows.WHEN_ON,
        "put a working key in place, then resume the installation",
    ),
    Failure.MODEL_SPEND: Reason(
        "the model account's money is used up", Follows.WHEN_ON, "raise its limit, then resume the installation"
    ),
    Failure.MODEL_UNKNOWN: Reason(
        "the model's service knows no such model",
        Follows.WHEN_ON,
        "correct the model's name, then resume the installation",
    ),
    Failure.MOVED: Reason("somebody pushed while the fix was made", Follows.AT_ONCE, _NOTHING),
    Failure.WORKSPACE_LOST: Reason(
        "the workspace disappeared, or our copy of the repository",
        Follows.AT_ONCE,
        "under `worktree_missing: fail` it escalates at once: put the directory back, or set recreate; then say retry",
    ),
    Failure.CRASHED: Reason("the fixer died", Follows.AT_ONCE, _REPEATS),
    Failure.SUPERSEDED: Reason("a newer attempt took over", Follows.AT_ONCE, _NOTHING),
    Failure.STALLED: Reason(
        "nobody answered the request in time",
        Follows.AT_ONCE,
        "see that the service runs: `amends doctor`; then say retry",
    ),
    Failure.CANCELLED: Reason("it was paused", Follows.AT_RESUME, "say resume when it shall go on"),
    Failure.CLOSED: Reason("the pull request is closed", Follows.CANCELLED, "reopen it, if it shall go on"),
    Failure.DRAFT: Reason("the pull request is a draft", Follows.CANCELLED, "mark it as ready for review"),
    Failure.FORK: Reason(
        "the branch is in a fork, where we may not push", Follows.CANCELLED, "take the branch into the repository"
    ),
    Failure.BRANCH_GONE: Reason("the branch was deleted", Follows.CANCELLED, "restore it, or close the pull request"),
    Failure.ACCESS_LOST: Reason("our access to the repository is gone", Follows.CANCELLED, "grant it again"),
    Failure.NO_CHANGE: Reason(
        "the agent changed nothing and left items without a verdict",
        Follows.ESCALATED,
        "say more precisely what is wanted: refine",
    ),
    Failure.LIMITS: Reason(
        "a limit of turns, tokens, money or time was reached", Follows.ESCALATED, "raise the limit, then say retry"
    ),
    Failure.CHECKS_FAILED: Reason(
        "the policy's checks fail with the fix", Follows.ESCALATED, "mend it by hand, or refine and let it try again"
    ),
    Failure.POLICY: Reason(
        "the fix touches what the policy protects",
        Follows.ESCALATED,
        "make that change by hand, or allow it in the policy, then retry",
    ),
    Failure.REFUSED: Reason(
        "the model, git or the forge declined: the detail says which",
        Follows.ESCALATED,
        "make the change by hand, or refine",
    ),
    Failure.MALFORMED: Reason(
        "the result could not be used", Follows.ESCALATED, "say retry; if it comes again, it is a bug of ours"
    ),
    Failure.SANDBOX_UNAVAILABLE: Reason(
        "there is no sandbox to run code in",
        Follows.ESCALATED_UNUSED,
        "mend the fixer's host: `amends doctor`; then say retry",
    ),
}


class Meaning(NamedTuple):
    """What a code says, and what to do about it."""

    means: str
    remedy: str


ESCALATIONS: dict[str, Meaning] = {
    "max_cycles": Meaning(
        "all cycles that the policy allows are used, and there is new feedback",
        "look at what keeps coming back; retry grants one more cycle, reset all of them",
    ),
    "question": Meaning(
        "there are items that only a human can answer",
        "answer in the thread, or where there is none in a comment; or say accept",
    ),
    "reraised": Meaning(
        "the same item was raised again after it had been fixed",
        "agree with the reviewer on what is wanted, then refine",
    ),
    "chasing_itself": Meaning(
        "most new findings are on lines that amends wrote itself", "take over by hand, or refine with a clearer goal"
    ),
    "undoes_itself": Meaning(
        "the new fix takes back the last one", "two reviewers may want opposite things: settle it, then refine"
    ),
    "conflict": Meaning("the branch conflicts with its base", "merge or rebase the base by hand"),
    "ci_not_started": Meaning(
        "checks that should look at the pushed commit did not begin",
        "approve or start them on the forge (some tokens' pushes start none); nothing else waits for it",
    ),
    "head_moving": Meaning("the branch moved under every attempt", "wait until nobody pushes any more, then say retry"),
    "fixer_crashing": Meaning("the fixer died in every attempt", "look at its log: `amends doctor`; then say retry"),
    "stalled": Meaning("a service did not answer, although it was asked again", "see that it runs: `amends doctor`"),
}


def escalation(reason: str) -> Meaning:
    """What an escalation's reason means, be it one of its own or a failure's."""
    if reason in ESCALATIONS:
        return ESCALATIONS[reason]
    if reason in FAILURES:
        return Meaning(FAILURES[Failure(reason)].means, FAILURES[Failure(reason)].remedy)
    return Meaning(reason, "read the last events")


REFUSALS: dict[RefusalReason, Meaning] = {
    "malformed": Meaning("it cannot be read as a report", "mend the field that the detail names"),
    "oversized": Meaning("it is larger than an envelope may be", "put large content as a blob and name its sha256"),
    "unknown_type": Meaning("no fact has this name", "use a name of this page, or upgrade the evaluator first"),
    "unknown_version": Meaning("its schema is not the evaluator's", "upgrade the older side"),
    "hostile_text": Meaning("it holds text that no store keeps", "remove NULs, send well-formed Unicode"),
    "reserved": Meaning("the name belongs to a later version", "choose another type"),
    "not_entitled": Meaning("this service may not report this fact", "let the right service report it"),
    "not_addressed": Meaning("it belongs to another kind of loop", "say in `about` what it is about"),
    "unknown_loop": Meaning("there is no such loop", "check its name: `amends loops list`"),
    "blob_missing": Meaning("it names a blob that was never put", "put the blob first, then report again"),
    "busy": Meaning("somebody else holds the claim, or the limit is reached", "ask again after `until`"),
    "superseded": Meaning("it is the result of an attempt that is over", "drop the work: another attempt goes on"),
    "unstorable": Meaning("the database does not take it", "look at it: `amends parked show`"),
    "not_ready": Meaning("the evaluator is starting or has no mirror to compare with", "ask again after `until`"),
}

ENDINGS: dict[str, str] = {
    "approved": "it was approved and nothing is open",
    "ready": "it is ready: only bots approved it, or a human said so",
    "accepted": "a human accepted it as it is",
    "stopped": "a human stopped it",
    "closed": "the pull request was closed",
    "merged": "the pull request was merged",
    "continued_in": "another loop continues it",
}

OUTCOMES: dict[str, str] = {
    "pushed": "a fix is on the branch",
    "answered": "every item has its answer and there was nothing to push",
    "nothing_to_do": "there was nothing trusted and open to work on; nobody is told",
    "failed": "it ended without a fix",
    "cancelled": "it was cut short; that is not held against it",
}

JUDGEMENTS: dict[str, str] = {
    "fixed": "a commit fixes it",
    "answered": "it is answered, nothing had to change",
    "declined": "it is not done, and the reason says why",
    "deferred": "it is put aside; retry opens it again",
    "needs_human": "only a human can answer it; his answer opens it again",
    "superseded": "a newer version came meanwhile: no reply, the next cycle takes it up",
}

UNHEARD_COMMANDS: dict[str, str] = {
    "untrusted": "who gave it has no say here",
    "nothing_to_retry": "nothing failed and no question is open",
    "not_paused": "there is nothing to resume",
    "paused": "the loop is paused: only resume is heard",
    "finished": "the loop is over: only fix and reset begin again, and a closed one has to be reopened first",
    "not_here": "it means nothing for this kind of loop, or amends does not work on this repository",
}
