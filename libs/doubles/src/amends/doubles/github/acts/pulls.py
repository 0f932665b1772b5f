"""Issues and pull requests: opened, edited, drafted, locked, closed, merged."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amends.doubles.github.acts.words import said
from amends.doubles.github.anchors import base_tip, settle
from amends.doubles.github.caller import Caller
from amends.doubles.github.git import Person, Writing
from amends.doubles.github.refusal import Refused, field_error, invalid
from amends.doubles.github.standing import mergeable_state
from amends.doubles.github.state.repositories import Repository
from amends.doubles.github.state.talk import Issue, Mark, Pull
from amends.doubles.github.state.world import Happening, World


@dataclass(frozen=True)
class Opening:
    """A pull request to be opened; the head may be in a fork."""

    title: str
    head: str
    base: str
    body: str = ""
    head_repo: Repository | None = None
    draft: bool = False
    maintainer_can_modify: bool = False


def replace_flags(opening: Opening, draft: object, modify: object) -> Opening:
    """With what REST leaves open: whatever is not `true` is false."""
    return replace(opening, draft=draft is True, maintainer_can_modify=modify is not False)


def open_issue(world: World, caller: Caller, repo: Repository, title: str, body: str = "") -> Issue:
    number = world.ids.take("issue")
    issue = Issue(number, "", repo, max(repo.issues, default=0) + 1, title, said(world, caller, body))
    issue.node = world.known("issue", number, issue)
    repo.issues[issue.number] = issue
    return issue


def open_pull(world: World, caller: Caller, repo: Repository, opening: Opening) -> Pull:
    source = opening.head_repo or repo
    head, base = source.branches.get(opening.head), repo.branches.get(opening.base)
    if head is None or base is None:
        raise invalid(field_error("PullRequest", "head" if head is None else "base", "invalid"))
    if any(one.head_ref == opening.head and one.head_repo is source and one.issue.open for one in repo.pulls):
        raise invalid(f"A pull request already exists for {source.owner.login}:{opening.head}.")
    if source is not repo:
        world.git.fetch(repo.folder, source.folder, head)
    if world.git.is_ancestor(repo.folder, head, base):
        raise invalid(f"No commits between {opening.base} and {opening.head}")
    issue = open_issue(world, caller, repo, opening.title, opening.body)
    number = world.ids.take("pull")
    pull = Pull(number, "", issue, source, opening.head, head, opening.base, base, source.owner)
    pull.node = world.known("pull", number, pull)
    pull.draft, pull.maintainer_can_modify = opening.draft, opening.maintainer_can_modify
    pull.heads.append(head)
    pull.last_pusher = caller.account
    issue.pull = pull
    world.git.set_ref(repo.folder, f"refs/pull/{pull.number}/head", head)
    tell(world, caller, pull, "opened")
    return pull


def tell(world: World, caller: Caller, pull: Pull, action: str, **parts: object) -> None:
    pull.issue.said.updated = world.clock.moment()
    about = {**parts, "pull_request": pull}
    world.emit(Happening("pull_request", action, caller.someone, pull.repo, about))


def close(world: World, caller: Caller, issue: Issue) -> None:
    if not issue.open:
        return
    if issue.pull is not None:
        issue.pull.base = base_tip(issue.pull)
    issue.open, issue.closed = False, world.clock.moment()
    issue.timeline.append(Mark("closed", caller.someone, issue.closed))
    if issue.pull is not None:
        tell(world, caller, issue.pull, "closed")


def reopen(world: World, caller: Caller, issue: Issue) -> None:
    pull = issue.pull
    if issue.open:
        return
    if pull is not None and (pull.merged or pull.head_repo is None or pull.head_ref not in pull.head_repo.branches):
        raise invalid("state cannot be changed. The head branch was deleted or the pull request was merged.")
    issue.open, issue.closed = True, None
    issue.timeline.append(Mark("reopened", caller.someone, world.clock.moment()))
    if pull is not None:
        tell(world, caller, pull, "reopened")


def retitle(world: World, caller: Caller, pull: Pull, title: str | None, body: str | None) -> None:
    changes: dict[str, object] = {}
    if title is not None and title != pull.issue.title:
        changes["title"] = {"from": pull.issue.title}
        pull.issue.title = title
    if body is not None and body != pull.issue.said.body:
        changes["body"] = {"from": pull.issue.said.body}
        pull.issue.said.edit(body, caller.someone, world.clock.moment())
    if changes:
        tell(world, caller, pull, "edited", changes=changes)


def retarget(world: World, caller: Caller, pull: Pull, base: str) -> None:
    if base not in pull.repo.branches:
        raise invalid(field_error("PullRequest", "base", "invalid"))
    if base == pull.base_ref:
        return
    changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base}}}
    pull.base_ref, pull.base = base, pull.repo.branches[base]
    for thread in pull.threads:
        settle(world, thread)
    tell(world, caller, pull, "edited", changes=changes)


def draft(world: World, caller: Caller, pull: Pull, *, on: bool) -> None:
    if pull.draft != on:
        pull.draft = on
        tell(world, caller, pull, "converted_to_draft" if on else "ready_for_review")


def lock(world: World, caller: Caller, issue: Issue, reason: str | None = None) -> None:
    issue.locked, issue.lock_reason = True, reason
    issue.timeline.append(Mark("locked", caller.someone, world.clock.moment()))
    if issue.pull is not None:
        tell(world, caller, issue.pull, "locked")


def unlock(world: World, caller: Caller, issue: Issue) -> None:
    issue.locked, issue.lock_reason = False, None
    issue.timeline.append(Mark("unlocked", caller.someone, world.clock.moment()))
    if issue.pull is not None:
        tell(world, caller, issue.pull, "unlocked")


def queue(world: World, caller: Caller, pull: Pull, *, on: bool) -> None:
    """Into the merge queue, or out of it."""
    if pull.queued != on:
        pull.queued = on
        tell(world, caller, pull, "enqueued" if on else "dequeued", **({} if on else {"reason": "MANUAL"}))


def check_mergeable(world: World, pull: Pull, sha: str | None) -> None:
    if sha is not None and sha != pull.head:
        raise Refused(409, "Head branch was modified. Review and try the merge again.")
    state = mergeable_state(world, pull)
    if not pull.issue.open or pull.draft or state == "dirty":
        raise Refused(405, "Pull Request is not mergeable")
    if state == "blocked":
        raise Refused(405, "Repository rule violations found")


def merge(world: World, caller: Caller, pull: Pull, message: str = "") -> str:
    """A merge commit on the base branch; the push that it is has its own consequences."""
    repo, who = pull.repo, caller.someone
    base = repo.branches[pull.base_ref]
    tree = world.git.merged_tree(repo.folder, base, pull.head)
    text = message or f"Merge pull request #{pull.number} from {pull.head_owner.login}/{pull.head_ref}"
    person = Person(who.login, f"{who.id}+{who.login}@users.noreply.github.com", world.clock.moment())
    sha = world.git.commit_tree(repo.folder, tree, Writing({}, text, person, (base, pull.head)))
    world.git.set_ref(repo.folder, f"refs/heads/{pull.base_ref}", sha)
    return sha


def merged(world: World, caller: Caller, pull: Pull, commit: str) -> None:
    """The base branch now holds the head, by a merge or by a push."""
    now = world.clock.moment()
    pull.merged, pull.merged_by, pull.merge_commit = now, caller.account, commit
    pull.issue.open, pull.issue.closed = False, now
    pull.issue.timeline.append(Mark("merged", caller.someone, now))
    tell(world, caller, pull, "closed")
