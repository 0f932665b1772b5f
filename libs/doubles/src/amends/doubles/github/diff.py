"""Diffs as GitHub talks about them: files, hunks, positions, and where a line went."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from amends.doubles.github.state.talk import Side

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_STATUS = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}


@dataclass(frozen=True)
class Line:
    """One line of a hunk: its tag, its numbers on either side, and its position in the file's diff."""

    tag: str
    text: str
    old: int | None
    new: int | None
    position: int

    def number(self, side: Side) -> int | None:
        return self.old if side == "LEFT" else self.new


@dataclass(frozen=True)
class Hunk:
    header: str
    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class FileDiff:
    """One changed file. `patch` None: binary, or nothing but a rename or a mode."""

    path: str
    previous: str | None
    status: str
    sha: str
    patch: str | None
    hunks: tuple[Hunk, ...]

    @property
    def additions(self) -> int:
        return sum(line.tag == "+" for hunk in self.hunks for line in hunk.lines)

    @property
    def deletions(self) -> int:
        return sum(line.tag == "-" for hunk in self.hunks for line in hunk.lines)

    def line(self, side: Side, number: int) -> Line | None:
        """The diff's line with this number on that side; a context line is on both."""
        for hunk in self.hunks:
            for line in hunk.lines:
                if line.number(side) == number and line.tag != ("+" if side == "LEFT" else "-"):
                    return line
        return None

    def at(self, position: int) -> Line | None:
        return next((line for hunk in self.hunks for line in hunk.lines if line.position == position), None)

    def excerpt(self, line: Line) -> str:
        """The hunk down to this line, as it stands above a comment."""
        for hunk in self.hunks:
            if line in hunk.lines:
                shown = hunk.lines[: hunk.lines.index(line) + 1]
                return "\n".join([hunk.header, *(f"{one.tag}{one.text}" for one in shown)])
        return ""

    def together(self, one: Line, other: Line) -> bool:
        """Whether both stand in the same hunk, as both ends of a comment must."""
        return any(one in hunk.lines and other in hunk.lines for hunk in self.hunks)


def find(files: Sequence[FileDiff], path: str) -> FileDiff | None:
    return next((file for file in files if file.path == path), None)


def moved(files: Sequence[FileDiff], path: str, number: int) -> tuple[str, int] | None:
    """Where a line of the old side is on the new one, None if it is gone or was changed."""
    file = next((one for one in files if path in (one.previous, one.path) and one.status != "added"), None)
    if file is None:
        return path, number
    if file.status == "removed":
        return None
    offset = 0
    for hunk in file.hunks:
        for line in hunk.lines:
            if line.old == number:
                return None if line.new is None else (file.path, line.new)
        # With a count of 0 the start names the line before the insertion.
        first = hunk.old_start + (hunk.old_count == 0)
        if number < first:
            break
        offset += hunk.new_count - hunk.old_count
    return file.path, number + offset


def parse(raw: bytes) -> tuple[FileDiff, ...]:
    """What `git diff --raw -z -p --full-index` says."""
    records, _, patch = raw.partition(b"\0\0")
    sections = _sections(patch.decode("utf-8", "replace"))
    return tuple(_file(record, section) for record, section in zip(_records(records), sections, strict=True))


def _records(raw: bytes) -> Iterator[tuple[str, str, str | None, str]]:
    """(status letter, path, previous path, blob) of each file."""
    fields = iter(raw.decode("utf-8", "replace").rstrip("\0").split("\0"))
    for head in fields:
        if not head:
            continue
        _, _, old, new, status = head[1:].split(" ")
        path = next(fields)
        previous = path if status[0] in "RC" else None
        if previous is not None:
            path = next(fields)
        yield status[0], path, previous, old if status == "D" else new


def _sections(patch: str) -> list[str]:
    return re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:]


def _file(record: tuple[str, str, str | None, str], section: str) -> FileDiff:
    letter, path, previous, sha = record
    start = section.find("\n@@ ")
    patch = section[start + 1 :].removesuffix("\n") if start >= 0 else None
    return FileDiff(path, previous, _STATUS[letter], sha, patch, tuple(_hunks(patch or "")))


def _hunks(patch: str) -> Iterator[Hunk]:
    position = -1
    # By \n only: a file may hold any other kind of line end inside its lines.
    rows = patch.split("\n") if patch else []
    starts = [n for n, row in enumerate(rows) if row.startswith("@@ ")]
    for start, end in pairwise([*starts, len(rows)]):
        position += 1
        numbers = _HUNK.findall(rows[start])[0]
        old, old_count, new, new_count = (int(part or 1) for part in numbers)
        lines = tuple(_lines(rows[start + 1 : end], (old, new), position))
        yield Hunk(rows[start], old, old_count, new, new_count, lines)
        position += end - start - 1


def _lines(rows: Sequence[str], first: tuple[int, int], position: int) -> Iterator[Line]:
    old, new = first
    for n, row in enumerate(rows, start=1):
        tag, text = row[:1], row[1:]
        left = old if tag in " -" else None
        right = new if tag in " +" else None
        yield Line(tag, text, left if tag != "\\" else None, right if tag != "\\" else None, position + n)
        old += tag in " -"
        new += tag in " +"
