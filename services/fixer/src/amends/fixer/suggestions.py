"""Suggested changes, applied exactly as GitHub does or not at all. Pure: bytes in, bytes out, no model.

Lines end at LF and nowhere else. What is replaced must be what the reviewer saw; whatever is doubtful is left to
whoever can think. Which of several suggestions comes first makes no difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from amends.common.events import Author, Judgement, Verdict
from amends.common.feedback import Anchor, Feedback, Remark, Suggestion
from amends.common.gate.hunks import Hunk
from amends.common.github.text import storable

_BOM = b"\xef\xbb\xbf"
_FENCES = re.compile(r"`{3,}")
_LONGEST_PATH = 360
_BEFORE = 3  # lines before a suggestion's that say where it belongs


class Left(NamedTuple):
    """An item that is not done, and why its suggestion could not be taken over; no reason: it suggests nothing."""

    item: Feedback
    reason: str = ""


@dataclass(frozen=True)
class Applied:
    """What came of it: files that change, and who is to be thanked for it.

    `verdicts` are of the items that are nothing but a suggestion; one that somebody has made himself is answered. In
    `beside`, words stand beside the suggestion, which is applied too: whoever can read may look whether they ask for
    more. `left` are all others.
    """

    files: Mapping[str, bytes]
    verdicts: tuple[Verdict, ...]
    beside: tuple[Verdict, ...]
    left: tuple[Left, ...]
    credits: tuple[Author, ...]


class _Doubt(Exception):
    """The suggestion cannot be taken over."""


@dataclass(frozen=True)
class _Piece:
    """Lines that take the place of others, with the item that asks for it."""

    item: Feedback
    remark: Remark
    hunk: Hunk
    lines: tuple[bytes, ...]
    words: bool

    @property
    def verdict(self) -> Verdict:
        item, name = self.item, self.hunk.name
        return Verdict(
            item=item.item, version=item.version, judgement=Judgement.FIXED, hunks=(name,), severity=item.severity
        )


def applied(files: Mapping[str, bytes], items: Sequence[Feedback]) -> Applied:
    """The files with all suggestions in them that can be taken over. `files` are regular ones only."""
    pieces, left, there = [], [], []
    for item in items:
        try:
            if (piece := _piece(files, item)) is None:
                left.append(Left(item))
            else:
                pieces.append(piece)
        except _Doubt as doubt:
            if _is_there(files, item):
                there.append(_answered(item))
            else:
                left.append(Left(item, str(doubt)))
    clashing = _clashing(pieces)
    left += [Left(piece.item, "it overlaps with another suggestion") for piece in pieces if piece in clashing]
    good = [piece for piece in pieces if piece not in clashing]
    place = {id(item): number for number, item in enumerate(items)}
    return Applied(
        files={path: _with(files[path], [one for one in good if one.hunk.path == path]) for path in _paths(good)},
        verdicts=(*(piece.verdict for piece in good if not piece.words), *there),
        beside=tuple(piece.verdict for piece in good if piece.words),
        left=tuple(sorted(left, key=lambda one: place[id(one.item)])),
        credits=tuple({piece.remark.author.id: piece.remark.author for piece in good}.values()),
    )


def _paths(pieces: Sequence[_Piece]) -> list[str]:
    return sorted({piece.hunk.path for piece in pieces})


# --- what is suggested -----------------------------------------------------------------------------------------------


def _piece(files: Mapping[str, bytes], item: Feedback) -> _Piece | None:
    found = [(remark, one) for remark in item.remarks for one in remark.suggestions]
    if not found or item.anchor is None:
        return None
    remark, suggestion = found[0]
    _simple(item, found)
    anchor = item.anchor
    hunk = _where(anchor)
    content = files.get(anchor.path)
    if content is None or not _is_plain(anchor.path):
        raise _Doubt("there is no regular file of this name")
    if b"\0" in content[:8_000]:
        raise _Doubt("the file is not text")
    lines = tuple(suggestion.text.encode().split(b"\n")[:-1])
    _as_seen(content, anchor, hunk, lines)
    return _Piece(item, remark, hunk, lines, _has_words(remark, suggestion))


def _simple(item: Feedback, found: Sequence[tuple[Remark, Suggestion]]) -> None:
    """There is one suggestion, it is as it was written, and nobody said anything after it."""
    remark, suggestion = found[0]
    if len(found) > 1:
        raise _Doubt("it holds several suggestions")
    if item.resolved:
        raise _Doubt("the thread is resolved")
    if not suggestion.exact or (suggestion.text and not suggestion.text.endswith("\n")):
        raise _Doubt("the suggestion holds what cannot be seen, or what had to be hidden")
    if item.remarks[-1] is not remark:
        raise _Doubt("somebody said more after the suggestion")


def _where(anchor: Anchor) -> Hunk:
    if anchor.whole_file:
        raise _Doubt("it is about the whole file and names no lines")
    if anchor.outdated or anchor.line is None:
        raise _Doubt("it is outdated")
    if anchor.side == "LEFT" or anchor.start_side == "LEFT":
        raise _Doubt("it is about deleted lines")
    start = anchor.line if anchor.start_line is None else anchor.start_line
    if not 1 <= start <= anchor.line:
        raise _Doubt("its lines are in no order")
    return Hunk(anchor.path, start, anchor.line)


def _is_plain(path: str) -> bool:
    parts = path.split("/")
    return len(path) <= _LONGEST_PATH and not any(
        part in {"", ".", ".."} or part.casefold() == ".git" for part in parts
    )


def _as_seen(content: bytes, anchor: Anchor, hunk: Hunk, lines: Sequence[bytes]) -> None:
    """The lines to be replaced are those that the reviewer saw, and would not stay as they are."""
    now = _lines(content)
    if hunk.end > len(now):
        raise _Doubt(f"it is outdated: the file has {len(now)} lines")
    replaced = [line.removesuffix(b"\r") for line in now[hunk.start - 1 : hunk.end]]
    length = hunk.end - hunk.start + 1
    if anchor.origin_line is not None:
        first = anchor.origin_line if anchor.origin_start_line is None else anchor.origin_start_line
        if anchor.origin_line - first + 1 != length:
            raise _Doubt("it is outdated: the lines have moved apart")
    seen = _right(anchor.hunk)[-length:]
    if len(seen) != length:
        raise _Doubt("what the reviewer saw is not known")
    if [storable(line.decode("utf-8", "replace")) for line in replaced] != seen:
        raise _Doubt("it is outdated: the code is not what the reviewer saw")
    if replaced == list(lines):
        raise _Doubt("it changes nothing")


def _answered(item: Feedback) -> Verdict:
    said = "The branch has this already."
    return Verdict(
        item=item.item, version=item.version, judgement=Judgement.ANSWERED, reason=said, severity=item.severity
    )


def _is_there(files: Mapping[str, bytes], item: Feedback) -> bool:
    """Whether somebody has made the change himself: what is suggested stands where it belongs, after the lines that
    the reviewer saw before it and that stand once, and what it was to replace does not stand there any more.
    """
    found = [(remark, one) for remark in item.remarks for one in remark.suggestions]
    anchor = item.anchor
    content = files.get(anchor.path) if anchor else None
    if len(found) != 1 or anchor is None or content is None or anchor.origin_line is None:
        return False
    remark, suggestion = found[0]
    wanted = suggestion.text.removesuffix("\n").split("\n")
    length = anchor.origin_line - (anchor.origin_start_line or anchor.origin_line) + 1
    seen = _right(anchor.hunk)
    before, old = seen[-length - _BEFORE : -length], seen[-length:]
    plain = suggestion.exact and bool(suggestion.text) and not _has_words(remark, suggestion)
    if (
        not plain
        or not before
        or wanted == old
        or "LEFT" in {anchor.side, anchor.start_side}
        or item.remarks[-1] is not remark
    ):
        return False
    now = [storable(line.removesuffix(b"\r").decode("utf-8", "replace")) for line in _lines(content)]
    if any("\n" in line for line in now):
        return False  # carriage returns within lines: those were shown as lines of their own
    there, still = _times(now, [*before, *wanted]), _times(now, [*before, *old])
    return _times(now, before) == there == 1 and still == (wanted[:length] == old)


def _times(lines: Sequence[str], piece: Sequence[str]) -> int:
    return sum(lines[at : at + len(piece)] == piece for at in range(len(lines) - len(piece) + 1))


def _right(hunk: str) -> list[str]:
    """The lines that a reviewer saw on the right side of a diff, as far as they are known for certain."""
    shown: list[str] = []
    for line in hunk.removesuffix("\n").split("\n"):
        match line[:1]:
            case "+" | " ":
                shown.append(line[1:])
            case "-" | "\\":
                continue
            case _:  # a header; or a line that something was done to: nothing before it can be counted on
                shown.clear()
    return shown


def _has_words(remark: Remark, suggestion: Suggestion) -> bool:
    """Whether something stands beside the suggestion; `visible` writes blocks in this one form."""
    longest = max((len(run) for run in _FENCES.findall(suggestion.text)), default=2)
    fence = "`" * max(3, longest + 1)
    return bool(remark.text.replace(f"{fence}suggestion\n{suggestion.text}{fence}", "", 1).strip())


# --- how it is applied -----------------------------------------------------------------------------------------------


def _clashing(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Those that want the same lines otherwise; wanting the same is no clash."""
    wanted = {(piece.hunk, piece.lines) for piece in pieces}
    return [
        piece
        for piece in pieces
        if any(_meets(piece.hunk, hunk) and (hunk, lines) != (piece.hunk, piece.lines) for hunk, lines in wanted)
    ]


def _meets(one: Hunk, other: Hunk) -> bool:
    return one.path == other.path and one.start <= other.end and other.start <= one.end


def _lines(content: bytes) -> list[bytes]:
    """The lines, as git and GitHub count them: without the nothing after a final newline."""
    lines = content.split(b"\n")
    return lines[:-1] if lines[-1] == b"" else lines


def _with(content: bytes, pieces: Sequence[_Piece]) -> bytes:
    """The file with these in the place of what they replace, from the bottom up; none overlaps with another."""
    lines, ends = _lines(content), content.endswith(b"\n")
    last = len(lines)
    once = {piece.hunk: piece for piece in pieces}
    for hunk in sorted(once, reverse=True):
        if hunk.end == last and not once[hunk].lines:
            ends = True  # the line that is the last now keeps its own newline
        lines[hunk.start - 1 : hunk.end] = _dressed(content, lines, once[hunk], bare=hunk.end == last and not ends)
    return b"\n".join(lines) + (b"\n" if ends and lines else b"")


def _dressed(content: bytes, lines: Sequence[bytes], piece: _Piece, *, bare: bool) -> list[bytes]:
    """The new lines as the old ones were: with their ends, and the mark at a file's beginning."""
    start, end = piece.hunk.start - 1, piece.hunk.end
    model = lines[start]
    if bare and end - start == 1 and start > 0:
        model = lines[start - 1]  # a last line without a newline does not say how lines end
    carriage = b"\r" if model.endswith(b"\r") else b""
    new = [line.removesuffix(b"\r") + carriage for line in piece.lines]
    if new and bare:
        new[-1] = new[-1].removesuffix(b"\r")
    if new and start == 0 and content.startswith(_BOM) and not new[0].startswith(_BOM):
        new[0] = _BOM + new[0]
    return new
