"""What GitHub makes of what was said: standing opinions, decisions, who may do what to which words."""

from __future__ import annotations

from collections.abc import Iterable

from amends.doubles.github.caller import Caller, Need, allows, at_least
from amends.doubles.github.refusal import Refused, forbidden, invalid
from amends.doubles.github.state.accounts import Account
from amends.doubles.github.state.repositories import Protection, Repository
from amends.doubles.github.state.talk import Issue, Pull, Review, Said, Thread

OPINIONS = ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")
_OWN = {"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}
_NOT_COLLABORATORS = (
    "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a "
    "collaborator of the {} repository."
)


def protection_of(pull: Pull) -> Protection:
    return pull.repo.protections.get(pull.base_ref, Protection())


def shown_reviews(pull: Pull, viewer: Account | None) -> list[Review]:
    """A pending review is its author's secret."""
    return [one for one in pull.reviews if one.state != "PENDING" or one.said.author is viewer]


def shown_threads(pull: Pull, viewer: Account | None) -> list[Thread]:
    """Oldest first. A thread that only holds somebody's draft is not there yet."""
    return [one for one in pull.threads if any(_public(said.review, viewer) for said in one.comments)]


def _public(review: Review, viewer: Account | None) -> bool:
    return review.state != "PENDING" or review.said.author is viewer


def standing(pull: Pull) -> list[Review]:
    """Each reviewer's last opinion. A comment is none, and a dismissal happens in place."""
    last: dict[int, Review] = {}
    for review in pull.reviews:
        if review.state in OPINIONS:
            last[review.said.author.id] = review
    return list(last.values())


def _by_writers(pull: Pull, reviews: Iterable[Review]) -> list[Review]:
    return [one for one in reviews if at_least(pull.repo, one.said.author, "write")]


def decision(pull: Pull) -> str | None:
    """`reviewDecision`. Nothing is decided where no review is required."""
    rule = protection_of(pull)
    if rule.approvals is None:
        return None
    opinions = _by_writers(pull, standing(pull))
    if any(one.state == "CHANGES_REQUESTED" for one in opinions):
        return "CHANGES_REQUESTED"
    approvals = [one for one in opinions if one.state == "APPROVED"]
    if rule.last_push_approval:
        approvals = [one for one in approvals if one.said.author is not pull.last_pusher]
    return "APPROVED" if len(approvals) >= max(1, rule.approvals) else "REVIEW_REQUIRED"


def check_own_review(pull: Pull, account: Account, event: str | None) -> None:
    if account is pull.author and event in _OWN:
        raise invalid(f"Review Can not {_OWN[event]} your own pull request", message="Unprocessable Entity")


def check_unlocked(caller: Caller, issue: Issue) -> None:
    if issue.locked and not allows(caller, issue.repo, Need("pull_requests", "write", "write")):
        raise Refused(403, "Unable to create comment because issue is locked.")


def check_reviewer(pull: Pull, account: Account | None) -> None:
    """Who may be asked over REST: collaborators other than the author, and no App's bot."""
    if account is not None and account is pull.author:
        raise invalid(message="Review cannot be requested from pull request author.")
    if account is None or account.kind != "User" or not _collaborates(pull, account):
        raise invalid(message=_NOT_COLLABORATORS.format(pull.repo.full_name))


def _collaborates(pull: Pull, account: Account) -> bool:
    """Being able to read a public repository makes nobody a collaborator."""
    repo = pull.repo
    named = account.id in repo.collaborators or account is repo.owner
    member = account.id in repo.owner.members and repo.owner.base_role != "none"
    return named or member or any(account.id in team.members for team in repo.known_teams)


def check_team(pull: Pull, slug: str) -> None:
    if not any(team.slug == slug for team in pull.repo.known_teams):
        raise invalid(message=_NOT_COLLABORATORS.format(pull.repo.full_name))


def may_resolve(caller: Caller, thread: Thread) -> bool:
    """Needs `contents: write`, which no documentation says; a person needs write, or to be the author."""
    pull = thread.pull
    if caller.account is None:
        return False
    if caller.installation is None and caller.account is pull.author:
        return True
    return allows(caller, pull.repo, Need("contents", "write", "write"))


def check_edit(caller: Caller, repo: Repository, said: Said) -> None:
    """Authors edit what they said, and so does whoever has write access: an edit's editor may be somebody else."""
    if caller.account is not said.author and not allows(caller, repo, Need("pull_requests", "write", "write")):
        raise forbidden("You do not have permission to edit this comment.")


def association(repo: Repository, account: Account) -> str:
    """A label beside a name. It says nothing about access: a member may only read, a stranger's team may write."""
    if account is repo.owner:
        return "OWNER"
    if account.id in repo.owner.members:
        return "MEMBER"
    if account.id in repo.collaborators:
        return "COLLABORATOR"
    wrote = any(pull.merged and pull.author is account for pull in repo.pulls)
    return "CONTRIBUTOR" if wrote else "NONE"
