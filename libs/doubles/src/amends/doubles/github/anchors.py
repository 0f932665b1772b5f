"""Where a comment stands in a pull request's diff, and whether it still does after a push.

Computed from git, as GitHub does it: a line is followed from the commit it was commented on to today's head; if it was
changed or removed, or is no longer part of the diff, the comment is outdated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from amends.doubles.github.diff import FileDiff, Line, find, moved
from amends.doubles.github.git import EMPTY_TREE
from amends.doubles.github.refusal import Refused, field_error, invalid
from amends.doubles.github.state.talk import Anchor, Origin, Pull, Side, Thread
from amends.doubles.github.state.world import World


def base_tip(pull: Pull) -> str:
    """What the head is compared with: the base branch while it is open, what it was afterwards."""
    return pull.repo.branches.get(pull.base_ref, pull.base) if pull.issue.open else pull.base


def merge_base(world: World, pull: Pull, commit: str) -> str:
    return world.git.merge_base(pull.repo.folder, base_tip(pull), commit) or EMPTY_TREE


def files_of(world: World, pull: Pull, commit: str | None = None) -> tuple[FileDiff, ...]:
    """The three-dot diff of the pull request, at its head or at an earlier commit."""
    at = commit or pull.head
    return world.git.diff(pull.repo.folder, merge_base(world, pull, at), at)


def origin_of(world: World, pull: Pull, commit: str, anchor: Anchor) -> Origin:
    """What a new thread starts on; refused for a place that is not in the diff."""
    file = find(files_of(world, pull, commit), anchor.path)
    if file is None:
        raise _bad("path", "path is missing or not part of the diff")
    base = merge_base(world, pull, commit)
    if anchor.line is None:
        return Origin(anchor, commit, base, 1 if file.hunks else None, " ", "")
    line = _line(file, anchor.side, anchor.line, "line")
    if anchor.start_line is not None:
        first = _line(file, anchor.start_side or anchor.side, anchor.start_line, "start_line")
        if first.position >= line.position:
            raise _bad("start_line", "start_line must precede the end line.")
        if not file.together(first, line):
            raise _bad("start_line", "start_line must be part of the same hunk as the line.")
    return Origin(anchor, commit, base, line.position, line.tag, file.excerpt(line))


def anchor_at(world: World, pull: Pull, commit: str, place: tuple[str, int]) -> Anchor:
    """The modern anchor of an old-style (path, position)."""
    path, position = place
    file = find(files_of(world, pull, commit), path)
    line = None if file is None else file.at(position)
    if line is None:
        raise _bad("position", "position is not part of the diff")
    side: Side = "LEFT" if line.tag == "-" else "RIGHT"
    return Anchor(path, line.number(side), side)


def settle(world: World, thread: Thread) -> None:
    """Find the thread's place in today's diff, or mark it outdated."""
    pull, origin = thread.pull, thread.origin
    files = files_of(world, pull)
    thread.current, thread.position = None, None
    anchor = _followed(world, pull, origin)
    file = None if anchor is None else find(files, anchor.path)
    if anchor is None or file is None:
        return
    if anchor.line is None:
        thread.current, thread.position, thread.commit = anchor, 1 if file.hunks else None, pull.head
        return
    line = file.line(anchor.side, anchor.line)
    start = anchor.start_line is None or file.line(anchor.start_side or anchor.side, anchor.start_line) is not None
    if line is not None and start and line.tag == origin.tag:
        thread.current, thread.position, thread.commit = anchor, line.position, pull.head


def _followed(world: World, pull: Pull, origin: Origin) -> Anchor | None:
    """The anchor with today's path and numbers, None if one of its lines is gone."""
    if origin.commit == pull.head:
        return origin.anchor
    anchor, folder = origin.anchor, pull.repo.folder
    right = world.git.diff(folder, origin.commit, pull.head, 0)
    left = world.git.diff(folder, origin.merge_base, merge_base(world, pull, pull.head), 0)
    if anchor.line is None:
        kept = next((one for one in right if anchor.path in (one.previous, one.path)), None)
        return anchor if kept is None else replace(anchor, path=kept.path)
    end = _moved(left, right, anchor, anchor.side, anchor.line)
    if end is None:
        return None
    path, line = end
    if anchor.start_line is None:
        return replace(anchor, path=path, line=line)
    start = _moved(left, right, anchor, anchor.start_side or anchor.side, anchor.start_line)
    # A line that slipped in between makes it another passage.
    if start is None or line - start[1] != anchor.line - anchor.start_line:
        return None
    return replace(anchor, path=path, line=line, start_line=start[1])


def _moved(
    left: Sequence[FileDiff], right: Sequence[FileDiff], anchor: Anchor, side: Side, number: int
) -> tuple[str, int] | None:
    if side == "RIGHT":
        return moved(right, anchor.path, number)
    end = moved(left, anchor.path, number)
    # The deleted side keeps the name that the head gives the file.
    renamed = next((one.path for one in right if one.previous == anchor.path), anchor.path)
    return None if end is None else (renamed, end[1])


def _line(file: FileDiff, side: Side, number: int, field: str) -> Line:
    line = file.line(side, number)
    if line is None:
        raise _bad(field, f"pull_request_review_thread.{field} must be part of the diff")
    return line


def _bad(field: str, message: str) -> Refused:
    return invalid(field_error("PullRequestReviewComment", field, "invalid", message))
