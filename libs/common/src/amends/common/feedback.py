"""The words of what was collected: one blob for each collection, written by the comment-fetcher, read by the fixer.

Only what trusted people wrote, as it is shown on GitHub: hidden text, secrets and what others said are not in it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import TypeAdapter

from amends.common.events import Author, Digest, ItemKind, Moment, Name, Part
from amends.common.policy import Id, Severity

Side = Literal["LEFT", "RIGHT"]


class Suggestion(Part):
    """Lines that somebody suggests for where the thread is. One that is not exact may not be taken over as it is."""

    text: str
    exact: bool = True


class Remark(Part):
    """One comment."""

    id: Id
    author: Author
    text: str
    suggestions: tuple[Suggestion, ...] = ()
    edited: bool = False
    at: Moment | None = None


class Anchor(Part):
    """What a thread is about. `line` is in the head's file: an outdated thread has none, and none is guessed.

    `origin_*` say where it was when it was written: lines of the file at that commit. LEFT is the deleted side.
    """

    path: str
    side: Side = "RIGHT"
    line: int | None = None
    start_line: int | None = None
    start_side: Side | None = None
    whole_file: bool = False
    outdated: bool = False
    origin_commit: str = ""
    origin_line: int | None = None
    origin_start_line: int | None = None
    hunk: str = ""


class Feedback(Part):
    """One item with its words, in the version that was collected.

    `question` is what we asked about it, where no remark of ours says so; `answers` are the items that hold the answer.
    """

    item: Name
    kind: ItemKind
    version: Digest
    author: Author
    remarks: tuple[Remark, ...] = ()
    anchor: Anchor | None = None
    review: Id | None = None
    resolved: bool = False
    severity: Severity | None = None
    url: str = ""
    question: str = ""
    answers: tuple[Name, ...] = ()


_ALL = TypeAdapter(tuple[Feedback, ...])


def to_blob(feedback: tuple[Feedback, ...]) -> bytes:
    """The bytes to keep: the same for the same words."""
    return _ALL.dump_json(feedback, exclude_defaults=True)


def from_blob(content: bytes) -> tuple[Feedback, ...]:
    """The words that were kept."""
    return _ALL.validate_json(content)
