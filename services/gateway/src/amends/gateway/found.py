"""What comes out of a delivery: facts about pull requests, or a named reason why it is none of our business."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from amends.common.events import AccessChanged, AnyFact, ChecksFinished
from amends.common.github.models import Pull
from amends.common.github.sightings import NOBODY, Ours

Reason = Literal[
    "ping",  # GitHub tries whether we are there
    "not_followed",  # an event that we do not follow
    "action_not_followed",  # an event that we follow, and something in it that we do not
    "our_own",  # said by an account of ours
    "not_a_pull_request",  # said on an issue
    "not_submitted",  # a review that its author has not sent off, or a state that we do not know
    "not_whole",  # a pull request without what we need, or with a branch that git would not take
    "not_named",  # a thread without comments, a check without a commit: nobody can say which one it is
    "undecided",  # a check that has not ended, or whose end says nothing of the code
    "told_by_its_runs",  # a suite: its runs are told one by one, under the names by which they are required
    "not_configured",  # a repository that the installation does not list
    "nobody_concerned",  # nothing that is followed has to do with it
]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing is to be recorded, and why."""

    reason: Reason
    repo: int = 0
    full_name: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """Our access to some repositories changed: to those named (id, name), or to all of an owner."""

    fact: AccessChanged
    repositories: tuple[tuple[int, str], ...] = ()
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen: facts by the number of their pull request, checks by a commit, or a change of our access."""

    repo: int = 0
    full_name: str = ""
    actor: str = ""
    facts: tuple[tuple[int, AnyFact], ...] = ()
    check: ChecksFinished | None = None
    access: Access | None = None
    heads: tuple[tuple[str, int], ...] = ()


Found = Observed | Ignored


@dataclass(frozen=True, slots=True)
class Sight:
    """Where something is seen, and who we are."""

    repo: int
    full_name: str
    actor: str
    ours: Ours = NOBODY

    def of(self, pull: Pull | int, *facts: AnyFact | None, otherwise: Reason = "not_whole") -> Found:
        """These facts about a pull request; `otherwise` when there is none."""
        said = [fact for fact in facts if fact is not None]
        number, sha = (pull, "") if isinstance(pull, int) else (pull.number, pull.head.sha)
        if not said:
            return self.ignored(otherwise)
        heads = ((sha, number),) if sha else ()
        return Observed(self.repo, self.full_name, self.actor, tuple((number, fact) for fact in said), heads=heads)

    def ignored(self, reason: Reason) -> Ignored:
        return Ignored(reason, self.repo, self.full_name)
