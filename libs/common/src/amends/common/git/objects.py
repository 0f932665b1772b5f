"""What git keeps, as we speak of it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class TooLarge(Exception):
    """More than may be held in memory or on disk for one repository."""


class Entry(NamedTuple):
    """What a tree has at a path."""

    mode: str
    blob: str


class Edit(NamedTuple):
    """What a commit changes at a path: a blob that is in the repository, or none to remove it."""

    path: str
    mode: str
    blob: str | None


class Author(NamedTuple):
    """In whose name and when."""

    name: str
    email: str
    when: datetime


class Commit(NamedTuple):
    """A commit as it was found."""

    sha: str
    parents: tuple[str, ...]
    trailers: tuple[str, ...]
