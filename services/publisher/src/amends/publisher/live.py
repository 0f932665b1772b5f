"""The pull request as it is right now: whether anything may be done to its branch, or why not."""

from __future__ import annotations

from typing import NamedTuple

from pydantic import TypeAdapter

from amends.common.events import Failure, PrClosed, PrObserved
from amends.common.github.client import Reach
from amends.common.github.errors import Missing, Torn
from amends.common.github.models import Part, Pull
from amends.common.github.names import in_path, is_branch
from amends.common.github.sightings import pull_seen
from amends.common.identity import PullId

_SOON = 30.0
_PULL = TypeAdapter(Pull)


class Refused(Exception):
    """Nothing is pushed, and why."""

    def __init__(self, reason: Failure, detail: str, *, branch: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.branch = branch  # nothing is wrong with the fix: it is the branch that may not be pushed to


class Branch(Part):
    """A branch, and whether only some may push to it."""

    protected: bool = False


class Live(NamedTuple):
    """A pull request as it was just read."""

    pull: Pull
    standing: PrObserved | PrClosed


_BRANCH = TypeAdapter(Branch)


async def seen(reach: Reach, at: PullId) -> Live:
    """How it stands."""
    pull = (await reach.get(f"/pulls/{at.number}", _PULL)).whole
    standing = pull_seen(pull, reach.place.full_name)
    if standing is None:
        raise Torn(_SOON, "the pull request is not shown whole")
    return Live(pull, standing)


async def pushable(reach: Reach, at: PullId, live: Live, head_ref: str) -> None:
    """Nothing, if its branch may be pushed to; what a policy may allow (a draft) is for others to say."""
    pull = live.pull
    if isinstance(live.standing, PrClosed):
        raise Refused(Failure.CLOSED, "the pull request is closed")
    home = pull.head.repo.id if pull.head.repo else None
    if home != at.repo:
        raise Refused(Failure.FORK, "the branch belongs to another repository", branch=True)
    if pull.head.ref != head_ref or not is_branch(head_ref):
        raise Refused(Failure.MOVED, f"its branch is {pull.head.ref[:200]!r} now")
    default = pull.base.repo.default_branch if pull.base.repo else ""
    if head_ref == default:
        raise Refused(Failure.POLICY, "its branch is the default branch, which amends never pushes to", branch=True)
    try:
        branch = await reach.get(f"/branches/{in_path(head_ref)}", _BRANCH)
    except Missing:
        raise Refused(Failure.BRANCH_GONE, f"the branch {head_ref[:200]} is gone") from None
    if branch.protected:
        said = f"the branch {head_ref[:200]} is protected, and amends pushes to no such branch"
        raise Refused(Failure.POLICY, said, branch=True)
