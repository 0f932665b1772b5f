"""What a reporter sends and what it is answered: recorded, already, refused or unavailable, the same in every form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from amends.common.envelope import FACTS, MAX_ENVELOPE
from amends.common.events import RESERVED, AnyFact, Name
from amends.common.identity import About, loop_name
from amends.common.policy import Id

RefusalReason = Literal[
    "malformed", "oversized", "unknown_type", "unknown_version", "hostile_text", "reserved", "not_entitled",
    "not_addressed", "unknown_loop", "blob_missing", "busy", "superseded", "unstorable", "not_ready",
]  # fmt: skip
# A refusal for one of these says that the bytes themselves are bad: they are kept in `parked` for a human.
PARKED: frozenset[RefusalReason] = frozenset(
    {"malformed", "oversized", "unknown_type", "unknown_version", "hostile_text", "not_addressed", "unstorable"}
)


Version = Annotated[int, Field(ge=1, le=10_000)]


class Report(BaseModel):
    """A fact on its way to the recorder: what it is about, who vouches for it, and which event it answers."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)
    fact: Annotated[AnyFact, Field(discriminator="type")]
    version: Annotated[Version, Field(alias="schema")] = 1
    about: About = About()
    actor: Name = ""
    cause: Id | None = None


@dataclass(frozen=True)
class Recorded:
    """It is in the log, at this position, with everything it caused."""

    pos: int


@dataclass(frozen=True)
class Already:
    """Its key was in the log before. `fact` is what is recorded there, which for a claim may be somebody else's."""

    pos: int
    fact: AnyFact | None = None


@dataclass(frozen=True)
class Refused:
    """It is not in the log. `until` (seconds from now) says when asking again makes sense, if it does."""

    reason: RefusalReason
    detail: str = ""
    until: float | None = None


@dataclass(frozen=True)
class Unavailable:
    """Nobody answered in time: it may or may not be in the log, and the same report again is safe."""

    detail: str = ""


Answer = Recorded | Already | Refused | Unavailable


@dataclass(frozen=True)
class Go:
    """The effect may be made now."""


@dataclass(frozen=True)
class Stop:
    """The effect must not be made, and why."""

    reason: str


class Followed(BaseModel):
    """A repository that the installation lists, its number if it is known, and its pull requests that are open here."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    full_name: Name
    repo: Id | None = None
    numbers: tuple[Id, ...] = ()


class Recorder(Protocol):
    """The one who records: in this process or behind the bus, with the same meaning."""

    async def report(self, report: Report) -> Answer:
        """Record a fact and what it causes."""
        ...

    async def may(self, pos: int, run: str = "") -> Go | Stop | Unavailable:
        """Whether the work that the event at `pos` asked for may still have its effect."""
        ...

    async def put(self, content: bytes) -> str:
        """Keep these bytes and answer with their sha256; put first, report after."""
        ...

    async def get(self, sha: str) -> bytes | None:
        """The bytes of this sha256, None when nobody ever put them."""
        ...


class Malformed(Exception):
    """A report that cannot be read."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(f"{refused.reason}: {refused.detail}")
        self.refused = refused


_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_UNPRINTABLE = re.compile(r"[^!-~]+")
_BAD_UNICODE = re.compile("surrogate|hex escape|unicode")
_REMEDIES = {
    "json_invalid": "send one JSON object in UTF-8",
    "extra_forbidden": "remove it",
    "missing": "add it",
}


def parse(raw: bytes) -> Report:
    """The report of these bytes, or Malformed with a refusal that names the field and the remedy."""
    if len(raw) > MAX_ENVELOPE:
        raise Malformed(Refused("oversized", f"the report: {len(raw)} bytes, at most {MAX_ENVELOPE}: put a blob"))
    if has_nul(raw):
        raise Malformed(Refused("hostile_text", "the report: it contains a NUL, which no store keeps: remove it"))
    try:
        report = Report.model_validate_json(raw)
    except ValidationError as error:
        raise Malformed(_other_version(raw) or _refusal(error)) from error
    if report.version != report.fact.schema_version:
        raise Malformed(_unknown_version(report.fact.type, report.version))
    if loop_name(report.about) is None:
        raise Malformed(Refused("not_addressed", "about: give repo and number, repo alone, or loop alone"))
    return report


def has_nul(json: bytes) -> bool:
    """Whether JSON text holds a NUL, raw or escaped."""
    return b"\0" in json or (b"\\u0000" in json and _NUL.search(json) is not None)


def _unknown_version(type_: str, version: int) -> Refused:
    detail = f"schema: {type_} has schema {FACTS[type_].schema_version} here, not {version}"
    return Refused("unknown_version", f"{detail}: upgrade the older side")


class _Named(BaseModel):
    type: str


class _Outline(BaseModel):
    fact: _Named
    version: Annotated[Version, Field(alias="schema")] = 1


def _other_version(raw: bytes) -> Refused | None:
    """A fact of another schema seldom fits this one: then its version is what is wrong with it, not its fields."""
    try:
        outline = _Outline.model_validate_json(raw)
    except ValidationError:
        return None
    known = FACTS.get(outline.fact.type)
    if known is None or known.schema_version == outline.version:
        return None
    return _unknown_version(outline.fact.type, outline.version)


def _refusal(error: ValidationError) -> Refused:
    first = error.errors(include_url=False, include_input=False)[0]
    kind, said = first["type"], first["msg"].removeprefix("Value error, ")
    field = _UNPRINTABLE.sub("?", ".".join(str(part) for part in first["loc"]))[:120] or "the report"
    if kind == "union_tag_invalid":
        tag = str(first.get("ctx", {}).get("tag", ""))[:80]
        if tag in RESERVED:
            return Refused("reserved", f"{field}: {tag} is reserved for a later version: choose another type")
        return Refused("unknown_type", f"{field}: no fact is called {tag!a}: docs/events.md lists them")
    if kind == "json_invalid" and _BAD_UNICODE.search(said):
        return Refused("hostile_text", f"{field}: {said}: send well-formed Unicode")
    return Refused("malformed", f"{field}: {said[:200]}: {_REMEDIES.get(kind, 'docs/events.md says what it holds')}")
