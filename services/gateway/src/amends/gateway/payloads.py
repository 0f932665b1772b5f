"""What GitHub delivers, by event: what we read of it and nothing else. A key that stands twice is refused."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, OnErrorOmit, TypeAdapter, ValidationError, ValidationInfo

from amends.common.github.models import (
    Check,
    Installation,
    Issue,
    IssueComment,
    Many,
    Moment,
    Part,
    Pull,
    Repository,
    Review,
    ReviewComment,
    Status,
    Thread,
    User,
    Words,
)  # fmt: skip
from amends.common.github.text import paired

DeliveryT = TypeVar("DeliveryT", bound="Delivery")
_LONGEST_COMPLAINT = 300


class Unreadable(Exception):
    """A body that is not what the event says it is; the message names the field and what is wrong with it."""


def _once(key: str, info: ValidationInfo[set[tuple[str | None, str]]]) -> str:
    place = (info.field_name, key)
    if place in info.context:
        raise Unreadable(f"the key {key[:60]!a} stands there twice")
    info.context.add(place)
    return key


class _Inner(Part):
    """An object whose inside is not read here."""


# Parsers keep the first or the last of two equal keys; whoever signed such a body may have meant the other one.
_Key = Annotated[str, AfterValidator(_once)]
_Outline = dict[_Key, Annotated[_Inner | Any, Field(union_mode="left_to_right")]]
_OUTLINE: TypeAdapter[dict[str, Any]] = TypeAdapter(_Outline)
# Of a repository these are read; the other hundred keys cost no call into Python. Omitted is whatever fails, so that
# nothing may be said inside of it.
_RepositoryKey = Annotated[OnErrorOmit[Literal["id", "full_name"]], AfterValidator(_once)]


class Delivery(Part):
    """What every event has; `repository` is read apart, because all depends on which one it is."""

    action: Words = ""
    raw_repository: Annotated[dict[_RepositoryKey, Any] | None, Field(alias="repository")] = None
    sender: User | None = None


class OfPull(Delivery):
    """`pull_request`, and the base of all events that hold one."""

    pull_request: Pull


class OfReview(OfPull):
    """`pull_request_review`."""

    review: Review


class OfReviewComment(OfPull):
    """`pull_request_review_comment`."""

    comment: ReviewComment


class OfThread(OfPull):
    """`pull_request_review_thread`."""

    thread: Thread
    updated_at: Moment = None


class OfIssueComment(Delivery):
    """`issue_comment`."""

    issue: Issue
    comment: IssueComment


class OfCheck(Delivery):
    """`check_run`."""

    check_run: Check


class OfStatus(Delivery, Status):
    """`status`, which is flat; `name` is the repository's."""

    name: Words = ""


class OfInstallation(Delivery):
    """`installation` and `installation_repositories`."""

    installation: Installation
    repositories: Many[Repository] = ()
    repositories_added: Many[Repository] = ()
    repositories_removed: Many[Repository] = ()


class OfRepository(Delivery):
    """`repository`."""


def read(kind: type[DeliveryT], body: bytes) -> DeliveryT:
    """The delivery of these bytes, or Unreadable."""
    try:
        return _read(kind, body)
    except ValidationError as error:
        if "surrogate" not in str(error) and "hex escape" not in str(error):
            raise Unreadable(_complaint(error)) from error
    try:
        return _read(kind, paired(body))
    except ValidationError as error:
        raise Unreadable(_complaint(error)) from error


def single(body: bytes) -> None:
    """Raise pydantic's error when a key of the outermost object stands there twice, or when it is no object."""
    _OUTLINE.validator.validate_json(body, context=set())


def _read(kind: type[DeliveryT], body: bytes) -> DeliveryT:
    try:
        found = _with_single_keys(kind).validator.validate_json(body, context=set())
    except ValidationError:
        found = None
    if isinstance(found, kind):
        return found
    delivery: DeliveryT = kind.__pydantic_validator__.validate_json(body, context=set())  # it says what is wrong
    return delivery


@cache
def _with_single_keys(kind: type[Delivery]) -> TypeAdapter[Any]:
    """Tries both on what was parsed once, which is most of the work; the delivery, if it is one, is what fits best."""
    return TypeAdapter(_Outline | kind)  # type: ignore[arg-type]  # a type that is made here


def repository_of(delivery: Delivery) -> Repository:
    """The repository it is about, or Unreadable."""
    if delivery.raw_repository is None:
        raise Unreadable("repository: it is missing")
    try:
        repository: Repository = Repository.__pydantic_validator__.validate_python(delivery.raw_repository)
    except ValidationError as error:
        raise Unreadable(f"repository.{_complaint(error)}") from error
    return repository


def _complaint(error: ValidationError) -> str:
    """The first thing that is wrong, without a word of what was sent."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(part if isinstance(part, str) and part.isidentifier() else "?" for part in first["loc"])
    return f"{place or 'the body'}: {first['msg'].removeprefix('Value error, ')}"[:_LONGEST_COMPLAINT]
