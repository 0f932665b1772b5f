"""A change set as bytes on its base: what the gate looks at, and what a commit is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from amends.common.events import Change
from amends.common.gate import Altered
from amends.common.git import Entry


class Malformed(Exception):
    """The change set is not what it says, or not one on this base."""


def altered(
    changes: Sequence[Change], tree: Mapping[str, Entry], old: Mapping[str, bytes], new: Mapping[str, bytes]
) -> list[Altered]:
    """Each change with the bytes before, by blob of the tree, and after, by their sha256."""
    if len({change.path for change in changes}) < len(changes):
        raise Malformed("a path is changed twice")
    return [_altered(change, tree.get(change.path), old, new) for change in changes]


def _altered(change: Change, entry: Entry | None, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Altered:
    before = old.get(entry.blob) if entry else None
    if before is not None and change.before is not None and sha256(before).hexdigest() != change.before:
        raise Malformed(f"{change.path[:200]} is not what it was when the fix was made")
    if (change.before is None) != (entry is None):
        raise Malformed(f"{change.path[:200]} is {'there' if entry else 'not there'} on the base")
    if change.blob is None:
        return Altered(change.path, entry.mode if entry else None, before, None, None)
    after = new.get(change.blob)
    if after is None or sha256(after).hexdigest() != change.blob:
        raise Malformed(f"the bytes of {change.path[:200]} are not those that it names")
    return Altered(change.path, entry.mode if entry else None, before, change.mode, after)
