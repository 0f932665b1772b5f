"""A tree with some paths changed: only the folders on the way to them are known, and made anew. Pure.

So it costs what the change costs, and not what the repository does, as an index of all its files would. Whatever
nothing is changed about stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

from amends.common.git.objects import Entry

# What is in the folders that are known, by their paths, which end in a slash; that of the top is empty.
Folders: TypeAlias = dict[bytes, dict[bytes, Entry]]
# A path, and what is to be there; none to remove what is.
Change: TypeAlias = tuple[bytes, Entry | None]
TOP = b""
_FOLDER, _LINK = "40000", "120000"
_KINDS = {_FOLDER: "tree", "160000": "commit"}
_SHA = 20
# What git's index passes over, also by the names that Windows and macOS have for it.
_GITS = re.compile(r"\.{0,2}|.*\0.*|(?:\.git|git~1)[. ]*(?:[:\\].*)?", re.DOTALL)
_MODULES = re.compile(r"(?:\.gitmodules|(?:gitmod|gi7?e?b?a?)~[1-9][0-9]*)[. ]*(?:[:\\].*)?", re.DOTALL)


def parsed(content: bytes) -> dict[bytes, Entry]:
    """What is in a folder, from the form in which git keeps it."""
    found, at = {}, 0
    while at < len(content):
        space, end = content.index(b" ", at), content.index(b"\0", at)
        mode, name, at = content[at:space], content[space + 1 : end], end + 1 + _SHA
        found[name] = Entry(mode.decode("ascii").lstrip("0"), content[end + 1 : at].hex())
    return found


def ways(changes: Collection[Change]) -> list[bytes]:
    """The folders that lead to what is changed, the outer ones first."""
    return sorted({folder for path, _ in changes for folder in _above(path)})


def inner(folders: Folders, path: bytes) -> str | None:
    """The tree of a folder, if there is one in the folder above it."""
    above, name = _split(path.removesuffix(b"/"))
    entry = folders.get(above, {}).get(name)
    return entry.blob if entry is not None and entry.mode == _FOLDER else None


def change(folders: Folders, changes: Collection[Change]) -> None:
    """As an index does it: what is removed goes first; then a file takes the place of a folder, and the other way."""
    for path, entry in sorted(changes, key=lambda change: change[1] is not None):
        if entry is not None and not _is_refused(path, entry.mode):
            _put(folders, path, entry)
        elif entry is None and inner(folders, path) is None:
            above, name = _split(path)
            folders.get(above, {}).pop(name, None)


def standing(folders: Folders) -> list[bytes]:
    """The known folders that are still there, each after those that are in it."""
    found = {TOP}
    for path in sorted(folders):
        if _split(path.removesuffix(b"/"))[0] in found and inner(folders, path) is not None:
            found.add(path)
    return sorted(found, reverse=True)


def listed(folders: Folders, path: bytes, made: Mapping[bytes, str]) -> bytes:
    """A folder as `git mktree -z` reads it, with the trees that were made of those in it; what is empty has none."""
    lines = []
    for name, entry in folders[path].items():
        if named := made.get(path + name + b"/", entry.blob) if entry.mode == _FOLDER else entry.blob:
            lines.append(f"{entry.mode} {_KINDS.get(entry.mode, 'blob')} {named}\t".encode() + name + b"\0")
    return b"".join(lines)


def _put(folders: Folders, path: bytes, entry: Entry) -> None:
    for folder in _above(path):
        if inner(folders, folder) is None:
            above, name = _split(folder.removesuffix(b"/"))
            folders[above][name] = Entry(_FOLDER, "")
            folders[folder] = {}
    above, name = _split(path)
    folders[above][name] = entry


def _above(path: bytes) -> Iterator[bytes]:
    """The folders that a path is in, the outermost first, but for the top."""
    return (path[: at + 1] for at in range(len(path)) if path[at : at + 1] == b"/")


def _split(path: bytes) -> tuple[bytes, bytes]:
    above, slash, name = path.rpartition(b"/")
    return above + slash, name


def _is_refused(path: bytes, mode: str) -> bool:
    parts = [_plain(part) for part in path.decode("utf-8", "surrogateescape").split("/")]
    return any(map(_GITS.fullmatch, parts)) or (mode == _LINK and _MODULES.fullmatch(parts[-1]) is not None)


def _plain(part: str) -> str:
    return "".join(letter for letter in part if unicodedata.category(letter) != "Cf").casefold()
