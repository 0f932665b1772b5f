"""Repositories and what hangs on them: labels, protections, checks, statuses, hooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amends.doubles.github.state.accounts import Account, App, Role, Team
    from amends.doubles.github.state.talk import Issue, Pull


@dataclass(eq=False, repr=False)
class Label:
    id: int
    node: str
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass(frozen=True)
class Protection:
    """The rules of a protected branch. `approvals` None: no review is required."""

    approvals: int | None = None
    checks: tuple[str, ...] = ()
    dismiss_stale: bool = False
    last_push_approval: bool = False
    resolve_conversations: bool = False
    may_push: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Job:
    """A check that runs on every head: what it concludes, None to stay in progress until a test says."""

    name: str
    conclusion: str | None = "success"


@dataclass(eq=False, repr=False)
class Status:
    id: int
    node: str
    sha: str
    state: str
    context: str
    creator: Account
    created: datetime
    description: str | None = None
    target_url: str | None = None


@dataclass(frozen=True)
class Annotation:
    path: str
    start_line: int
    end_line: int
    level: str
    message: str
    title: str | None = None


@dataclass(eq=False, repr=False)
class CheckRun:
    id: int
    node: str
    suite: CheckSuite
    name: str
    started: datetime
    status: str = "queued"
    conclusion: str | None = None
    completed: datetime | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    details_url: str | None = None
    external_id: str = ""
    annotations: list[Annotation] = field(default_factory=list)


@dataclass(eq=False, repr=False)
class CheckSuite:
    """All runs of one App for one commit, of one try."""

    id: int
    node: str
    repo: Repository
    app: App
    sha: str
    branch: str | None
    before: str
    created: datetime
    updated: datetime
    runs: list[CheckRun] = field(default_factory=list)

    @property
    def status(self) -> str:
        if not self.runs:
            return "queued"
        return "completed" if all(run.status == "completed" for run in self.runs) else "in_progress"

    @property
    def conclusion(self) -> str | None:
        if self.status != "completed":
            return None
        said = {run.conclusion for run in self.runs}
        bad = [name for name in ("failure", "timed_out", "cancelled", "action_required", "stale") if name in said]
        return bad[0] if bad else "success"


@dataclass(eq=False, repr=False)
class Hook:
    """Where events are sent. Without a repository it is an App's, or one that hears of everything."""

    id: int
    url: str
    secret: str
    created: datetime
    events: list[str]
    repo: Repository | None = None
    app: App | None = None
    active: bool = True
    form: bool = False

    def hears(self, event: str) -> bool:
        return self.active and ("*" in self.events or event in self.events or event == "ping")


@dataclass(eq=False, repr=False)
class Repository:
    id: int
    node: str
    owner: Account
    name: str
    folder: Path
    created: datetime
    private: bool = True
    default_branch: str = "main"
    description: str | None = None
    parent: Repository | None = None
    pushed: datetime | None = None
    archived: bool = False
    gone: bool = False
    # A fork of an organization says that maintainers may push, and refuses them.
    refuses_pushes: bool = False
    collaborators: dict[int, Role] = field(default_factory=dict)
    teams: dict[int, Role] = field(default_factory=dict)
    known_teams: list[Team] = field(default_factory=list)
    branches: dict[str, str] = field(default_factory=dict)
    protections: dict[str, Protection] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)
    issues: dict[int, Issue] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    suites: list[CheckSuite] = field(default_factory=list)
    hooks: list[Hook] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    @property
    def pulls(self) -> list[Pull]:
        return [issue.pull for issue in self.issues.values() if issue.pull is not None]

    @property
    def updated(self) -> datetime:
        return self.pushed or self.created


@dataclass(frozen=True)
class CommitAt:
    """A commit as something that can be pointed at."""

    repo: Repository
    sha: str
    node: str
