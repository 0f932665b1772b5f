"""GitHub's objects as we read them: the fields we need and no others, and none demanded that may be missing.

Webhooks, REST and other forges that speak like GitHub all send these. A field that GitHub always sends is still
optional here unless the object means nothing without it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from amends.common.policy import Id

T = TypeVar("T")


class Else:
    """What stands in for a value that is missing, null or of another kind; decided without a call into Python."""

    def __init__(self, instead: object) -> None:
        self._instead = instead

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401
        """The field's own schema, forgiven."""
        return core_schema.with_default_schema(handler(source), default=self._instead, on_error="default")


def _zoned(value: datetime | None) -> datetime | None:
    if value is None:
        return None
    try:
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    except OverflowError:
        return None


# Dates come as ISO text, with or without a zone, or as seconds; whatever else it is, it is no date.
Moment = Annotated[datetime | None, Else(None), AfterValidator(_zoned)]
Words = Annotated[str, Else("")]
Many = Annotated[tuple[T, ...], Else(())]


def _known(values: object) -> object:
    """A list without the places where GitHub shows nothing."""
    if not isinstance(values, list):
        return values or []
    return [one for one in values if one is not None] if None in values else values


# As GraphQL has them: null where something is not shown, and whatever else is wrong with one is not forgiven.
Known = Annotated[tuple[T, ...], BeforeValidator(_known)]


class Part(BaseModel):
    """An object of GitHub's, or a part of one."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


class User(Part):
    """An account; a deleted one is not sent at all."""

    id: Id
    node_id: Words = ""
    login: Words = ""
    type: Words = "User"


class Repository(Part):
    """A repository: its id stays when it is renamed."""

    id: Id
    full_name: Words = ""
    default_branch: Words = ""
    clone_url: Words = ""


class Branch(Part):
    """One end of a pull request; the repository is missing when the fork was deleted."""

    sha: Words = ""
    ref: Words = ""
    repo: Repository | None = None


class Label(Part):
    """A label."""

    name: Words = ""


class Pull(Part):
    """A pull request. Events about reviews and comments send a slim one, without `draft` or `merged`."""

    number: Id
    node_id: Words = ""
    title: Words = ""
    html_url: Words = ""
    state: Words = "open"
    user: User | None = None
    draft: bool | None = None
    merged: bool | None = None
    merged_at: Moment = None
    locked: bool | None = None
    head: Branch = Branch()
    base: Branch = Branch()
    labels: Many[Label] = ()
    updated_at: Moment = None

    @property
    def whole(self) -> Pull:
        """The same when it is what was asked for, or what the event is about: what is not said then is not so."""
        return self.model_copy(update={"draft": bool(self.draft), "merged": bool(self.merged or self.merged_at)})


class Review(Part):
    """A review; its state is in capitals or not, depending on who sends it."""

    id: Id
    node_id: Words = ""
    user: User | None = None
    body: Words = ""
    state: Words = ""
    commit_id: Words = ""
    submitted_at: Moment = None
    updated_at: Moment = None


class ReviewComment(Part):
    """A comment on lines or on a file. What no longer fits the current diff has no `line`."""

    id: Id
    node_id: Words = ""
    pull_request_review_id: Id | None = None
    in_reply_to_id: Id | None = None
    user: User | None = None
    body: Words = ""
    path: Words = ""
    line: int | None = None
    start_line: int | None = None
    original_line: int | None = None
    original_start_line: int | None = None
    side: Words = "RIGHT"
    start_side: Words = ""
    subject_type: Words = "line"
    diff_hunk: Words = ""
    commit_id: Words = ""
    original_commit_id: Words = ""
    created_at: Moment = None
    updated_at: Moment = None


class IssueComment(Part):
    """A comment in the conversation."""

    id: Id
    node_id: Words = ""
    user: User | None = None
    body: Words = ""
    created_at: Moment = None
    updated_at: Moment = None


class Issue(Part):
    """The issue side of a pull request; a real issue has no `pull_request`."""

    number: Id
    repository_url: Words = ""
    pull_request: dict[str, object] | None = None


class Thread(Part):
    """A thread of review comments, the root first."""

    node_id: Words = ""
    comments: Many[ReviewComment] = ()


class PullNumber(Part):
    """A pull request that a check belongs to, which may be one of another repository."""

    number: Id
    base: Branch = Branch()


class Check(Part):
    """A check run; for heads in forks it names no pull request."""

    id: Id = 0
    name: Words = ""
    status: Words = ""
    conclusion: Words = ""
    head_sha: Words = ""
    completed_at: Moment = None
    updated_at: Moment = None
    pull_requests: Many[PullNumber] = ()


class Status(Part):
    """A commit's status under one context; it names no pull request at all."""

    sha: Words = ""
    context: Words = "default"
    state: Words = ""
    updated_at: Moment = None


class App(Part):
    """A GitHub App; what it writes is by the account `<slug>[bot]`."""

    id: Id
    slug: Words = ""


class Installation(Part):
    """An installation of the App."""

    id: Id
    account: User | None = None
    updated_at: Moment = None
