"""What callers of the API send, as JSON or as a review agent's own words: read, or refused with the field and a remedy.

A review has a number of its caller's own that grows with each of his reviews of a pull request: his run's number, or
the Unix time at which he began. It says which of his reviews is the latest, in whatever order they arrive, and which
requests are one and the same: a retry is answered with what is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from amends.common.events import AnyFact, Author, CommandGiven, CommandName, Finding, ReviewApproved, ReviewRejected
from amends.common.github.sightings import OUTSIDE, outside_node
from amends.common.github.text import clean, name
from amends.common.policy import Count, Severity
from amends.common.redaction import Redactor
from amends.gateway.outside import MOST_FINDINGS, Unclear, opinion, summarised
from amends.gateway.payloads import Unreadable, single

# A review's number is OUTSIDE + the caller's place + his own number. All of it stays below what JavaScript can count.
NUMBER_BITS, CALLER_BITS = 36, 16
Number = Annotated[int, Field(ge=1, lt=2**NUMBER_BITS)]
Commit = Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$")]
Words = Annotated[str, StringConstraints(max_length=20_000)]
_KEY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_REFERENCE = re.compile(
    r"(?:https?://[!-~]+?/)?(?P<name>[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+)(?:#|/pull/)(?P<number>[1-9][0-9]{0,8})/?"
)
_REMEDIES = {
    "extra_forbidden": "take it out",
    "missing": "add it",
    "string_too_long": "shorten it",
    "too_long": "send fewer",
}
_FIELDS = {
    "review": "a whole number that grows with each of your reviews of this pull request, such as the Unix time",
    "head": "the whole id of the commit that was reviewed",
    "pull": "owner/repo#42, or the pull request's address",
    "type": "review.rejected, review.approved or command.given",
}


class Reference(NamedTuple):
    """A pull request as people name it."""

    full_name: str
    number: int


def reference(said: str) -> Reference | None:
    """`owner/repo#42`, or the pull request's address."""
    found = _REFERENCE.fullmatch(said)
    return Reference(found["name"], int(found["number"])) if found else None


class Asked(BaseModel):
    """A request to the API; anything else in it is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
    pull: Annotated[str, StringConstraints(max_length=500)]

    @property
    def about(self) -> Reference:
        """The pull request it is about; Unreadable when that is none."""
        found = reference(self.pull)
        if found is None:
            raise Unreadable(f"pull: give {_FIELDS['pull']}")
        return found


class Point(BaseModel):
    """A finding."""

    model_config = Asked.model_config
    text: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]
    severity: Severity = Severity.MEDIUM
    category: Annotated[str, StringConstraints(max_length=400)] = ""
    path: Annotated[str, StringConstraints(max_length=400)] = ""
    line: Count | None = None


class Rejection(Asked):
    """A review that asks for changes."""

    type: Literal["review.rejected"]
    review: Number
    head: Commit | None = None
    summary: Words = ""
    findings: Annotated[tuple[Point, ...], Field(max_length=MOST_FINDINGS)] = ()
    submitted_at: datetime | None = None


class Approval(Asked):
    """A review that approves the head it has seen."""

    type: Literal["review.approved"]
    review: Number
    head: Commit
    submitted_at: datetime | None = None


class Order(BaseModel):
    """A command; the same `id` (or Idempotency-Key) again is the same command."""

    model_config = Asked.model_config
    id: Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9._-]{1,100})?$")] = ""
    name: CommandName
    text: Words = ""


class Command(Order, Asked):
    """A command to the loop of a pull request."""

    type: Literal["command.given"]


Request = Rejection | Approval | Command
_REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="type")])


def asked(body: bytes) -> Request:
    """The request of a JSON body, or Unreadable."""
    try:
        single(body)
        return _REQUEST.validate_json(body)
    except ValidationError as error:
        raise Unreadable(_remedy(error)) from error


def said(text: str, query: Mapping[str, str]) -> Request:
    """The review of what an agent printed; the query says which one it is and of what."""
    try:
        thought = opinion(text)
    except Unclear as unclear:
        raise Unreadable(str(unclear)) from unclear
    fields: dict[str, object] = {**query, "type": "review.approved" if thought.approved else "review.rejected"}
    if not thought.approved:
        points = [finding.model_dump() for finding in thought.findings]
        fields |= {"summary": thought.summary, "findings": points}
    try:
        return _REQUEST.validate_python(fields)
    except ValidationError as error:
        raise Unreadable(f"the query: {_remedy(error)}") from error


def caller(name_: str) -> int:
    """A caller's place among the numbers of reviews."""
    return int.from_bytes(sha256(name_.encode()).digest()[: CALLER_BITS // 8])


def ordered(body: bytes) -> Order:
    """The command of a JSON body to a loop, or Unreadable."""
    try:
        single(body)
        return Order.model_validate_json(body)
    except ValidationError as error:
        raise Unreadable(_remedy(error)) from error


RequestT = TypeVar("RequestT", bound=BaseModel)


def identified(request: RequestT, key: str) -> RequestT:
    """A command without an id of its own goes by its Idempotency-Key; a review has its number."""
    if not isinstance(request, Order) or request.id:
        return request
    if not _KEY.fullmatch(key):
        raise Unreadable("id: give one, or an Idempotency-Key: up to 100 letters, digits, `.`, `_` and `-`")
    return request.model_copy(update={"id": key})


def commanded(order: Order, by: str, redacted: Redactor) -> CommandGiven:
    """The command that the caller `by` gave, as it will be recorded."""
    words = redacted(clean(order.text)).strip()
    if order.name == "refine" and not words:
        raise Unreadable("text: say what is to be changed")
    return CommandGiven(id=f"{by}/{order.id}", name=order.name, text=words, author=Author(id=0, login=by, kind="token"))


def fact(request: Request, by: str, now: datetime, redacted: Redactor) -> AnyFact:
    """What the caller `by` said, as it will be recorded."""
    author = Author(id=0, login=by, kind="token")
    if isinstance(request, Command):
        return commanded(request, by, redacted)
    number = OUTSIDE + (caller(by) << NUMBER_BITS) + request.review
    at = request.submitted_at if request.submitted_at and request.submitted_at.tzinfo else now
    if isinstance(request, Approval):
        return ReviewApproved(
            review=number, node=outside_node(number), author=author, head=request.head, submitted_at=at
        )
    summary = redacted(clean(request.summary)).strip()
    found = [
        Finding(
            text=redacted(clean(point.text)),
            severity=point.severity,
            category=name(point.category),
            path=name(point.path),
            line=point.line,
        )
        for point in request.findings
    ]
    if not found and not summary:
        raise Unreadable("findings: say what is to be changed, here or in summary")
    return ReviewRejected(
        review=number,
        node=outside_node(number),
        author=author,
        head=request.head or "",
        summary=summary,
        findings=tuple(found) or (summarised(summary),),
        submitted_at=at,
    )


def _remedy(error: ValidationError) -> str:
    """The first mistake: its field, what is wrong, and what to do."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = [str(part) for part in first["loc"] if part not in {"review.rejected", "review.approved", "command.given"}]
    field = ".".join(part if part.isidentifier() or part.isdigit() else "?" for part in place)
    if first["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        return f"type: give {_FIELDS['type']}"
    if field in _FIELDS and first["type"] != "extra_forbidden":
        return f"{field}: give {_FIELDS[field]}"
    remedy = _REMEDIES.get(first["type"], "mend it")
    return f"{field or 'the body'}: {first['msg'].removeprefix('Value error, ')}: {remedy}"
