"""GitHub's GraphQL objects as we read them, and the same as REST and webhooks would have sent them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from amends.common.github.models import (
    Branch,
    IssueComment,
    Known,
    Label,
    Pull,
    Repository,
    Review,
    ReviewComment,
    User,
    Words,
)
from amends.common.policy import Id

S = TypeVar("S")


class Shape(BaseModel):
    """A GraphQL object, or a part of one. What is made of one for others has been looked at here: once is enough."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", coerce_numbers_to_str=True, alias_generator=to_camel, populate_by_name=True
    )


class Who(Shape):
    """An account. Bots have no suffix here; what has no number is nobody we could know."""

    typename: Annotated[Words, Field(alias="__typename")] = ""
    login: Words = ""
    database_id: Id | None = None

    @property
    def user(self) -> User | None:
        """As elsewhere."""
        if self.database_id is None:
            return None
        bot = self.typename == "Bot"
        login = f"{self.login}[bot]" if bot and not self.login.endswith("[bot]") else self.login
        return User.model_construct(id=self.database_id, login=login, type="Bot" if bot else "User")


def user_of(who: Who | None) -> User | None:
    """The account, None for one that is gone."""
    return None if who is None else who.user


class Turn(Shape):
    """Where a page of a list begins and ends."""

    start_cursor: str | None = None
    end_cursor: str | None = None
    has_next_page: bool = False
    has_previous_page: bool = False


class Listed(Shape, Generic[S]):
    """A page of a list."""

    total_count: int = 0
    page_info: Turn = Turn()
    nodes: Known[S] = ()


class Number(Shape):
    """Something by its number, which may be too large for GraphQL's Int."""

    full_database_id: Id


class Commit(Shape):
    """A commit by its id."""

    oid: Words = ""


class Spoken(Shape):
    """What every text has."""

    id: Words = ""
    full_database_id: Id
    author: Who | None = None
    editor: Who | None = None
    body: Words = ""
    created_at: datetime | None = None
    updated_at: datetime | None = None
    last_edited_at: datetime | None = None
    is_minimized: bool = False


class ReviewSeen(Spoken):
    """A review."""

    state: Words = ""
    submitted_at: datetime | None = None
    commit: Commit | None = None

    @property
    def review(self) -> Review:
        """As REST sends it."""
        return Review.model_construct(
            id=self.full_database_id, node_id=self.id, user=user_of(self.author), body=self.body, state=self.state,
            commit_id=self.commit.oid if self.commit else "", submitted_at=self.submitted_at,
            updated_at=self.last_edited_at or self.submitted_at,
        )  # fmt: skip


class TalkSeen(Spoken):
    """A comment in the conversation."""

    @property
    def comment(self) -> IssueComment:
        """As REST sends it."""
        return IssueComment.model_construct(
            id=self.full_database_id, node_id=self.id, user=user_of(self.author), body=self.body,
            created_at=self.created_at, updated_at=self.updated_at,
        )  # fmt: skip


class Reply(Shape):
    """A comment in a thread, but for its words."""

    id: Words = ""
    full_database_id: Id
    state: Words = ""
    updated_at: datetime | None = None
    last_edited_at: datetime | None = None
    editor: Who | None = None
    is_minimized: bool = False


class ThreadSeen(Shape):
    """A thread, and which comments are in it. What no longer fits the diff has no `line`."""

    id: Words = ""
    is_resolved: bool = False
    is_outdated: bool = False
    path: Words = ""
    line: int | None = None
    start_line: int | None = None
    diff_side: Words = "RIGHT"
    start_diff_side: Words = ""
    subject_type: Words = "LINE"
    comments: Listed[Reply] = Listed[Reply]()


class RemarkSeen(Spoken):
    """A comment in a thread, with its words."""

    state: Words = ""
    path: Words = ""
    diff_hunk: Words = ""
    original_line: int | None = None
    original_start_line: int | None = None
    original_commit: Commit | None = None
    pull_request_review: Number | None = None
    reply_to: Number | None = None

    @property
    def comment(self) -> ReviewComment:
        """As REST sends it."""
        return ReviewComment.model_construct(
            id=self.full_database_id, node_id=self.id, user=user_of(self.author), body=self.body, path=self.path,
            pull_request_review_id=self.pull_request_review.full_database_id if self.pull_request_review else None,
            in_reply_to_id=self.reply_to.full_database_id if self.reply_to else None, diff_hunk=self.diff_hunk,
            original_line=self.original_line, original_start_line=self.original_start_line,
            original_commit_id=self.original_commit.oid if self.original_commit else "",
            created_at=self.created_at, updated_at=self.updated_at,
        )  # fmt: skip


class CheckSeen(Shape):
    """A check run or a status of a commit."""

    id: Words = ""
    name: Words = ""
    context: Words = ""
    status: Words = ""
    conclusion: Words = ""
    state: Words = ""
    is_required: bool = False
    title: Words = ""
    summary: Words = ""
    description: Words = ""
    details_url: Words = ""
    target_url: Words = ""
    completed_at: datetime | None = None
    created_at: datetime | None = None

    @property
    def called(self) -> str:
        """Its name, of whichever kind it is."""
        return self.name or self.context

    @property
    def ended(self) -> str:
        """How it ended; nothing while it runs."""
        return self.conclusion or self.state


class Rollup(Shape):
    """All checks of a commit."""

    contexts: Listed[CheckSeen] = Listed[CheckSeen]()


class HeadRepository(Shape):
    """Where the head branch lives."""

    database_id: Id | None = None


class Blob(Shape):
    """A file."""

    oid: Words = ""
    byte_size: int = 0
    is_binary: bool | None = None
    is_truncated: bool = False
    text: str | None = None


class PullSeen(Shape):
    """A pull request as it stands."""

    id: Words = ""
    number: Id
    title: Words = ""
    url: Words = ""
    state: Literal["OPEN", "CLOSED", "MERGED"] = "OPEN"
    is_draft: bool = False
    merged_at: datetime | None = None
    updated_at: datetime | None = None
    locked: bool = False
    mergeable: Words = "UNKNOWN"
    author: Who | None = None
    head_ref_name: Words = ""
    head_ref_oid: Words = ""
    head_ref: dict[str, Any] | None = None
    head_repository: HeadRepository | None = None
    base_ref_name: Words = ""
    labels: Listed[Label] | None = None

    @property
    def pull(self) -> Pull:
        """As REST sends it."""
        head = self.head_repository
        repo = None if head is None or head.database_id is None else Repository(id=head.database_id)
        return Pull(
            number=self.number, title=self.title, html_url=self.url, state="open" if self.state == "OPEN" else "closed",
            user=user_of(self.author), draft=self.is_draft, merged=self.state == "MERGED", merged_at=self.merged_at,
            locked=self.locked, head=Branch(sha=self.head_ref_oid, ref=self.head_ref_name, repo=repo),
            base=Branch(ref=self.base_ref_name), labels=self.labels.nodes if self.labels else (),
            updated_at=self.updated_at,
        )  # fmt: skip


class RepositorySeen(Shape):
    """A repository and its policy file."""

    database_id: Id | None = None
    name_with_owner: Words = ""
    policy: Blob | None = None

    def other_than(self, repo: int) -> str:
        """Why nothing may be believed of it, if it is not the one of this number."""
        if self.database_id is None:
            return "GitHub does not say the repository's number (databaseId)"
        return "" if self.database_id == repo else "it is another repository now"


def rollup_page(value: object) -> Listed[CheckSeen]:
    """The checks of a commit that may have none."""
    return Rollup.model_validate(value or {}).contexts


class Total(Shape):
    """How many there are."""

    total_count: int = 0


class RollupState(Shape):
    """How all checks of a commit ended together."""

    state: Words = ""


class OpenSeen(Shape):
    """An open pull request from afar: two that look the same had nothing said or done between them."""

    number: Id
    updated_at: datetime | None = None
    head_ref_oid: Words = ""
    is_draft: bool = False
    reviews: Total = Total()
    review_threads: Total = Total()
    comments: Total = Total()
    status_check_rollup: RollupState | None = None


class OpenPage(RepositorySeen):
    """A page of a repository's open pull requests."""

    pull_requests: Listed[OpenSeen] = Listed[OpenSeen]()
