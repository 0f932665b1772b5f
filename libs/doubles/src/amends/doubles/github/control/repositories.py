"""A handle on a repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from amends.doubles.github.acts import checks, pulls, pushes, tenancy
from amends.doubles.github.acts.pushes import RefChange
from amends.doubles.github.control.actors import MAINTAINER, account, caller, person
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.git import ZERO, Commit, Writing
from amends.doubles.github.refusal import not_found
from amends.doubles.github.state.accounts import Role
from amends.doubles.github.state.repositories import Job, Protection, Repository
from amends.doubles.github.state.talk import Issue
from amends.doubles.github.state.world import World

Files = Mapping[str, str | bytes | None]


class Push(TypedDict, total=False):
    """How a commit is made; `onto` names its parent instead of the branch's tip: that is a force push."""

    by: str
    message: str
    onto: str


class Opening(TypedDict, total=False):
    base: str
    title: str
    body: str
    draft: bool
    source: RepositoryHandle
    maintainer_can_modify: bool


class Rule(TypedDict, total=False):
    """See the fields of Protection."""

    approvals: int
    checks: tuple[str, ...]
    dismiss_stale: bool
    last_push_approval: bool
    resolve_conversations: bool
    may_push: Sequence[str]


@dataclass(frozen=True)
class RepositoryHandle:
    world: World
    of: Repository

    @property
    def id(self) -> int:
        return self.of.id

    @property
    def name(self) -> str:
        return self.of.full_name

    @property
    def clone_url(self) -> str:
        return self.world.urls.git(self.of)

    @property
    def branches(self) -> dict[str, str]:
        return dict(self.of.branches)

    def other(self, repo: Repository) -> RepositoryHandle:
        return RepositoryHandle(self.world, repo)

    def collaborator(self, login: str, role: Role = "write") -> None:
        with self.world.lock:
            one = account(self.world, login)
            self.of.collaborators.pop(one.id, None)
            if role != "none":
                self.of.collaborators[one.id] = role

    def team(self, slug: str, members: Sequence[str], role: Role = "write") -> None:
        with self.world.lock:
            found = [account(self.world, login) for login in members]
            team = tenancy.add_team(self.world, self.of.owner, slug, found)
            self.of.known_teams.append(team)
            self.of.teams[team.id] = role

    def commit(self, branch: str, files: Files, **push: Unpack[Push]) -> str:
        """Commit and push in one; a new branch starts at the default one."""
        by, message = push.get("by", MAINTAINER), push.get("message", "Change")
        with self.world.lock:
            parent = push.get("onto") or self.of.branches.get(branch) or self.of.branches.get(self.of.default_branch)
            writing = Writing(files, message, person(self.world, by), (parent,) if parent else ())
            sha = self.world.git.write(self.of.folder, writing)
            self.point(branch, sha, by)
        return sha

    def point(self, branch: str, sha: str, by: str = MAINTAINER) -> None:
        """Move a branch to any commit: back, forward, aside."""
        with self.world.lock:
            self.world.git.set_ref(self.of.folder, f"refs/heads/{branch}", sha)
            self.noted(branch, by)

    def delete_branch(self, branch: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            self.world.git.delete_ref(self.of.folder, f"refs/heads/{branch}")
            self.noted(branch, by)

    def rename_branch(self, old: str, new: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            tenancy.rename_branch(self.world, caller(self.world, by), self.of, old, new)

    def noted(self, branch: str, by: str) -> None:
        """What follows from a moved branch."""
        change = RefChange(f"refs/heads/{branch}", ZERO, ZERO)
        pushes.note(self.world, caller(self.world, by), self.of, [change])

    def pull(self, head: str, by: str, files: Files | None = None, **opening: Unpack[Opening]) -> PullHandle:
        """Open a pull request, from a branch that is there or that is made of these files."""
        source = opening.get("source", self)
        base = opening.get("base", self.of.default_branch)
        with self.world.lock:
            if files is not None:
                source.commit(head, files, by=by, message=opening.get("title", "Change"))
            who = caller(self.world, by)
            what = pulls.Opening(
                opening.get("title", f"Pull {head}"),
                head,
                base,
                opening.get("body", ""),
                source.of,
                opening.get("draft", False),
                opening.get("maintainer_can_modify", False),
            )
            made = pulls.open_pull(self.world, who, self.of, what)
            pushes.run_checks(self.world, who, made)
        return PullHandle(self.world, made, self)

    def issue(self, title: str, by: str, body: str = "") -> Issue:
        """An issue that is no pull request: what is said in it is none of a product's business."""
        with self.world.lock:
            return pulls.open_issue(self.world, caller(self.world, by), self.of, title, body)

    def get_pull(self, number: int) -> PullHandle:
        if (found := self.of.issues[number].pull) is None:
            raise not_found()
        return PullHandle(self.world, found, self)

    def protect(self, branch: str | None = None, **rule: Unpack[Rule]) -> None:
        allowed = frozenset(account(self.world, login).id for login in rule.get("may_push", ()))
        made = Protection(
            rule.get("approvals"),
            rule.get("checks", ()),
            rule.get("dismiss_stale", False),
            rule.get("last_push_approval", False),
            rule.get("resolve_conversations", False),
            allowed,
        )
        with self.world.lock:
            self.of.protections[branch or self.of.default_branch] = made

    def jobs(self, **conclusions: str | None) -> None:
        """Checks that run on every pushed head: name -> conclusion, None to wait for `check`."""
        with self.world.lock:
            self.of.jobs = [Job(name, conclusion) for name, conclusion in conclusions.items()]
            actions = any(app.slug == "github-actions" for app in self.world.apps)
            if not actions:
                tenancy.add_app(self.world, "github-actions", account(self.world, MAINTAINER))

    def check(self, sha: str, name: str, conclusion: str | None, summary: str | None = None) -> None:
        with self.world.lock:
            running = [run for suite in self.of.suites if suite.sha == sha for run in suite.runs if run.name == name]
            open_runs = [run for run in running if run.status != "completed"]
            if open_runs and conclusion is not None:
                checks.finish(self.world, open_runs[-1], conclusion, summary)
                return
            if not any(app.slug == "github-actions" for app in self.world.apps):
                tenancy.add_app(self.world, "github-actions", account(self.world, MAINTAINER))
            app = next(app for app in self.world.apps if app.slug == "github-actions")
            run = checks.start(self.world, checks.suite(self.world, app, self.of, sha), name)
            if conclusion is not None:
                checks.finish(self.world, run, conclusion, summary)

    def fork(self, owner: str, *, refuses_pushes: bool = False) -> RepositoryHandle:
        with self.world.lock:
            made = tenancy.fork(self.world, self.of, account(self.world, owner))
            made.refuses_pushes = refuses_pushes
        return RepositoryHandle(self.world, made)

    def rename(self, name: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            tenancy.rename(self.world, caller(self.world, by), self.of, name)

    def transfer(self, owner: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            tenancy.transfer(self.world, caller(self.world, by), self.of, account(self.world, owner))

    def archive(self, by: str = MAINTAINER) -> None:
        with self.world.lock:
            tenancy.archive(self.world, caller(self.world, by), self.of)

    def delete(self, by: str = MAINTAINER) -> None:
        with self.world.lock:
            tenancy.delete_repository(self.world, caller(self.world, by), self.of)

    def read(self, path: str, ref: str | None = None) -> bytes | None:
        """A file's content on a branch or at a commit."""
        name = ref or self.of.default_branch
        return self.world.git.show(self.of.folder, self.of.branches.get(name, name), path)

    def log(self, ref: str | None = None) -> list[Commit]:
        """Commits of a branch, newest first."""
        name = ref or self.of.default_branch
        shas = self.world.git.log(self.of.folder, None, self.of.branches.get(name, name))
        return [self.world.git.commit(self.of.folder, sha) for sha in reversed(shas)]
