"""What people say: issues and pull requests, conversation comments, reviews, threads."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from amends.doubles.github.state.accounts import Account, App, Team
    from amends.doubles.github.state.repositories import Label, Repository

Side = Literal["LEFT", "RIGHT"]
ReviewState = Literal["PENDING", "COMMENTED", "APPROVED", "CHANGES_REQUESTED", "DISMISSED"]
Subject = Literal["line", "file"]


@dataclass(eq=False, repr=False)
class Reaction:
    id: int
    account: Account
    content: str
    created: datetime


@dataclass(frozen=True)
class Version:
    """One text that something had, and who gave it."""

    body: str
    editor: Account
    at: datetime


@dataclass(eq=False, repr=False)
class Said:
    """What every text has: an author, versions, reactions; `via` is the App it was said through."""

    author: Account
    body: str
    created: datetime
    updated: datetime
    via: App | None = None
    editor: Account | None = None
    edited: datetime | None = None
    versions: list[Version] = field(default_factory=list)
    minimized: str | None = None
    reactions: list[Reaction] = field(default_factory=list)

    def edit(self, body: str, editor: Account, at: datetime) -> None:
        if not self.versions:
            self.versions.append(Version(self.body, self.author, self.created))
        self.versions.append(Version(body, editor, at))
        self.body, self.editor, self.edited, self.updated = body, editor, at, at


@dataclass(eq=False, repr=False)
class IssueComment:
    """A comment in the conversation."""

    id: int
    node: str
    issue: Issue
    said: Said


@dataclass(frozen=True)
class Mark:
    """Something that happened to an issue, as its timeline tells it."""

    event: str
    actor: Account
    at: datetime
    of: object = None


@dataclass(eq=False, repr=False)
class Issue:
    """An issue; with `pull` set it is the conversation of a pull request."""

    id: int
    node: str
    repo: Repository
    number: int
    title: str
    said: Said
    open: bool = True
    closed: datetime | None = None
    locked: bool = False
    lock_reason: str | None = None
    labels: list[Label] = field(default_factory=list)
    assignees: list[Account] = field(default_factory=list)
    comments: list[IssueComment] = field(default_factory=list)
    timeline: list[Mark] = field(default_factory=list)
    pull: Pull | None = None


@dataclass(eq=False, repr=False)
class Pull:
    """What a pull request has beyond its issue. `head_repo` None: the fork was deleted."""

    id: int
    node: str
    issue: Issue
    head_repo: Repository | None
    head_ref: str
    head: str
    base_ref: str
    base: str
    head_owner: Account
    draft: bool = False
    merged: datetime | None = None
    merged_by: Account | None = None
    merge_commit: str | None = None
    maintainer_can_modify: bool = False
    queued: bool = False
    last_pusher: Account | None = None
    heads: list[str] = field(default_factory=list)
    reviewers: list[Account] = field(default_factory=list)
    teams: list[Team] = field(default_factory=list)
    reviews: list[Review] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)

    @property
    def repo(self) -> Repository:
        return self.issue.repo

    @property
    def number(self) -> int:
        return self.issue.number

    @property
    def author(self) -> Account:
        return self.issue.said.author

    @property
    def foreign(self) -> bool:
        """Whether the head lives in another repository, or in none any more."""
        return self.head_repo is not self.repo


@dataclass(eq=False, repr=False)
class Review:
    """A review; its inline comments live in threads and point back at it."""

    id: int
    node: str
    pull: Pull
    said: Said
    state: ReviewState
    commit: str
    submitted: datetime | None = None
    comments: list[Comment] = field(default_factory=list)


@dataclass(frozen=True)
class Anchor:
    """Where in a diff: a line, a range of lines, or a whole file (no line)."""

    path: str
    line: int | None = None
    side: Side = "RIGHT"
    start_line: int | None = None
    start_side: Side | None = None

    @property
    def subject(self) -> Subject:
        return "file" if self.line is None else "line"


@dataclass(frozen=True)
class Origin:
    """What a thread was started on, which never changes."""

    anchor: Anchor
    commit: str
    merge_base: str
    position: int | None
    tag: str
    hunk: str


@dataclass(eq=False, repr=False)
class Thread:
    """Comments on one place. `current` None is an outdated one: the place is no longer in the diff."""

    id: int
    node: str
    pull: Pull
    origin: Origin
    current: Anchor | None
    position: int | None
    commit: str
    comments: list[Comment] = field(default_factory=list)
    resolved_by: Account | None = None


@dataclass(eq=False, repr=False)
class Comment:
    """An inline comment; all but a thread's first are replies to it."""

    id: int
    node: str
    thread: Thread
    review: Review
    said: Said
    reply_to: int | None = None
