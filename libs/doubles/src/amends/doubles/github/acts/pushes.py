"""What a push brings about: heads move, comments become outdated, approvals are dismissed, checks run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amends.doubles.github.acts import checks, pulls, reviewing
from amends.doubles.github.anchors import settle
from amends.doubles.github.caller import Caller, Need, allows
from amends.doubles.github.git import ZERO
from amends.doubles.github.rules import protection_of
from amends.doubles.github.standing import conflicts
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.talk import Pull
from amends.doubles.github.state.world import Happening, World

_HEADS = "refs/heads/"


@dataclass(frozen=True)
class RefChange:
    """What a push asks for one ref; zeros stand for no commit."""

    ref: str
    before: str
    after: str

    @property
    def branch(self) -> str | None:
        return self.ref.removeprefix(_HEADS) if self.ref.startswith(_HEADS) else None


def refusals(caller: Caller, repo: Repository, changes: Iterable[RefChange]) -> dict[str, str]:
    """Why which ref may not move."""
    said = {change.ref: _refusal(caller, repo, change) for change in changes}
    return {ref: reason for ref, reason in said.items() if reason}


def _refusal(caller: Caller, repo: Repository, change: RefChange) -> str:
    if change.ref.startswith("refs/pull/"):
        return "deny updating a hidden ref"
    rule = None if change.branch is None else repo.protections.get(change.branch)
    if rule is not None and caller.someone.id not in rule.may_push:
        why = "Changes must be made through a pull request." if rule.approvals is not None else "Protected branch."
        return f"GH006: Protected branch update failed for {change.ref}. error: {why}"
    if change.branch == repo.default_branch and change.after == ZERO:
        return "refusing to delete the current branch: " + change.ref
    return ""


def may_push(caller: Caller, repo: Repository) -> bool:
    return not repo.refuses_pushes and allows(caller, repo, Need("contents", "write", "write"))


def note(world: World, caller: Caller, repo: Repository, changes: Sequence[RefChange]) -> None:
    """Take in what git did: compare what branches are with what was known of them."""
    real = world.git.branches(repo.folder)
    repo.pushed = world.clock.moment()
    for change in changes:
        name = change.branch
        if name is None or real.get(name, ZERO) == repo.branches.get(name, ZERO):
            continue
        before, after = repo.branches.get(name, ZERO), real.get(name, ZERO)
        if after == ZERO:
            repo.branches.pop(name, None)
        else:
            repo.branches[name] = after
        _follow(world, caller, repo, RefChange(change.ref, before, after))


def _follow(world: World, caller: Caller, repo: Repository, change: RefChange) -> None:
    world.emit(Happening("push", "", caller.someone, repo, {"push": change}))
    for owner in list(world.repositories.values()):
        for pull in owner.pulls:
            if not pull.issue.open:
                continue
            if pull.head_repo is repo and pull.head_ref == change.branch:
                _move_head(world, caller, pull, change)
            elif owner is repo and pull.base_ref == change.branch and change.after != ZERO:
                _move_base(world, caller, pull, change)


def _move_base(world: World, caller: Caller, pull: Pull, change: RefChange) -> None:
    if world.git.is_ancestor(pull.repo.folder, pull.head, change.after):
        pull.base = change.before
        pulls.merged(world, caller, pull, change.after)


def _move_head(world: World, caller: Caller, pull: Pull, change: RefChange) -> None:
    if change.after == ZERO:
        pulls.close(world, caller, pull.issue)
        return
    repo = pull.repo
    if pull.head_repo is not None and pull.head_repo is not repo:
        world.git.fetch(repo.folder, pull.head_repo.folder, change.after)
    world.git.set_ref(repo.folder, f"refs/pull/{pull.number}/head", change.after)
    before, pull.head = pull.head, change.after
    pull.heads.append(change.after)
    pull.last_pusher = caller.account
    tip = repo.branches.get(pull.base_ref)
    if tip is not None and world.git.is_ancestor(repo.folder, pull.head, tip):
        # Nothing is left to merge, as after a force push to the base.
        pulls.close(world, caller, pull.issue)
        return
    pull.base = tip or pull.base
    for thread in pull.threads:
        settle(world, thread)
    pulls.tell(world, caller, pull, "synchronize", before=before, after=pull.head)
    _dismiss_stale(world, caller, pull)
    run_checks(world, caller, pull)


def _dismiss_stale(world: World, caller: Caller, pull: Pull) -> None:
    """Approvals only: what was asked for stays asked for."""
    if protection_of(pull).dismiss_stale:
        for review in [one for one in pull.reviews if one.state == "APPROVED"]:
            reviewing.drop(world, caller, review, "The head moved.")


def run_checks(world: World, caller: Caller, pull: Pull) -> None:
    """Not for what a workflow pushed itself, and not for what cannot be merged."""
    by_workflow = caller.grant is not None and caller.grant.kind == "workflow"
    actions = next((app for app in world.apps if app.slug == "github-actions"), None)
    if actions is not None and pull.repo.jobs and not by_workflow and not conflicts(world, pull):
        checks.run_jobs(world, actions, pull.repo, pull.head, pull.repo.jobs)
