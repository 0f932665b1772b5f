"""What stands in a directory, looked at without following or running anything in it: files, links, and stranger things.

Whoever worked there may have meant us harm. Names are opened one part at a time and never through a link; bytes are
read from regular files only. What was looked at before and has not been touched since is not read again.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path
from typing import BinaryIO, NamedTuple

from amends.common.effects import effect

STRANGE = "000000"  # the mode of what git has no mode for
LINK = "120000"
_NO_FILES = frozenset((LINK, STRANGE))
_DEEPEST = 120
_CHUNK = 1 << 20
LARGEST = 128 << 20  # bytes of a file that may change: more than GitHub takes
_RACY = 100_000_000  # what was touched this long before we looked, in ns, may have been touched again since
_GIT = {".git", "git~1"}
_USUAL = {"100644": stat.S_IFREG | 0o644, "100755": stat.S_IFREG | 0o755}  # as we leave them


class TooMuch(Exception):
    """More than may stand in a workspace."""


class Print(NamedTuple):
    """What changes whenever a file is touched; nobody but the system can set the time of its last change."""

    size: int
    changed: int
    inode: int


class Thing(NamedTuple):
    """Something that stands at a path: its mode and blob as git has them, and what it looked like."""

    mode: str
    blob: str
    print: Print


class Quota(NamedTuple):
    """How much may stand in one workspace."""

    files: int = 100_000
    size: int = 4 * 1024**3


class Sight(NamedTuple):
    """All that stands in a directory, and its folders."""

    things: Mapping[str, Thing]
    folders: frozenset[str]


NOTHING = Sight({}, frozenset())


class _Look:
    """Goes through a directory once."""

    def __init__(self, known: Mapping[str, Thing], quota: Quota) -> None:
        self._known = known
        self._quota = quota
        self._size = 0
        self._until = time.time_ns() - _RACY
        self.things: dict[str, Thing] = {}
        self.folders: set[str] = set()

    def into(self, folder: int, prefix: str, depth: int = 0) -> None:
        """Everything below an open directory."""
        with os.scandir(folder) as entries:
            for entry in entries:
                path = f"{prefix}{entry.name}"
                found = entry.stat(follow_symlinks=False)
                known = self._known.get(path)
                looks = (found.st_size, found.st_ctime_ns, found.st_ino)
                if known is not None and known.print == looks and found.st_mode == _USUAL.get(known.mode):
                    self._room(found.st_size)
                    self.things[path] = known  # most of what stands there: nobody has touched it since
                elif stat.S_ISDIR(found.st_mode) and entry.name.casefold() not in _GIT:
                    if depth >= _DEEPEST:
                        raise TooMuch(f"folders are more than {_DEEPEST} deep")
                    self.folders.add(path)
                    with _opened(entry.name, folder) as inner:
                        self.into(inner, f"{path}/", depth + 1)
                else:
                    self._take(path, entry.name, folder, found)

    def _room(self, size: int) -> None:
        self._size += size
        if len(self.things) >= self._quota.files or self._size > self._quota.size:
            raise TooMuch(f"more than {self._quota.files} files or {self._quota.size} bytes")

    def _take(self, path: str, name: str, folder: int, found: os.stat_result) -> None:
        self._room(found.st_size)
        if stat.S_ISLNK(found.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=folder))
            self.things[path] = Thing(LINK, blob_of(target), Print(found.st_size, 0, 0))
            return
        if not stat.S_ISREG(found.st_mode):
            self.things[path] = Thing(STRANGE, "", Print(0, 0, 0))
            return
        mode = "100755" if found.st_mode & 0o100 else "100644"
        looks = Print(found.st_size, found.st_ctime_ns, found.st_ino)
        known = self._known.get(path)
        if known is not None and known.print == looks:
            self.things[path] = Thing(mode, known.blob, looks)
            return
        blob = _hashed(name, folder)
        settled = looks if looks.changed < self._until else looks._replace(changed=0)
        self.things[path] = Thing(mode, blob, settled)


def seen(root: Path, known: Mapping[str, Thing], quota: Quota) -> Sight:
    """All that stands below `root`; `known` is what was seen there before."""
    look = _Look(known, quota)
    above = os.open(root.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _opened(root.name, above) as folder:
            look.into(folder, "")
    finally:
        os.close(above)
    return Sight(look.things, frozenset(look.folders))


def content(root: Path, path: str, mode: str) -> bytes:
    """The bytes of a file, or where a link leads to; of what is neither, nothing."""
    *above, name = path.split("/")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for part in above:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        if mode == LINK:
            return os.fsencode(os.readlink(name, dir_fd=folder))
        return b"" if mode == STRANGE else _read(name, folder)
    finally:
        os.close(folder)


def remove(root: Path, sight: Sight, wanted: Collection[str]) -> None:
    """Take away what stands there and is not wanted; what is left are plain files in plain folders, and no links."""
    for path, thing in sight.things.items():
        if thing.mode in _NO_FILES or path not in wanted:
            target = root / path
            with effect("remove", target):
                if target.is_dir() and not target.is_symlink():
                    shutil.rmtree(target)
                else:
                    target.unlink()
    for folder in sorted(sight.folders - folders_of(wanted), reverse=True):
        (root / folder).rmdir()


def folders_of(paths: Iterable[str]) -> frozenset[str]:
    """The folders that files of these names are in."""
    found: set[str] = set()
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return frozenset(found)


def put(root: Path, path: str, mode: str, bytes_: bytes) -> Thing:
    """A new file in the place of whatever file is there: another name of that one keeps its bytes."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f".amends-{os.getpid()}-{sha1(os.fsencode(path), usedforsecurity=False).hexdigest()[:12]}")
    file = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(file, "wb") as made:
        made.write(bytes_)
        os.fchmod(made.fileno(), 0o755 if mode == "100755" else 0o644)
        written = os.fstat(made.fileno())
    with effect("rename", target):
        fresh.replace(target)
    return Thing(mode, blob_of(bytes_), Print(len(bytes_), 0, written.st_ino))  # so new that it is read again


def set_mode(root: Path, path: str, thing: Thing) -> Thing:
    """The mode of a file that has the right bytes already."""
    (root / path).chmod(0o755 if thing.mode == "100755" else 0o644)
    return thing._replace(print=thing.print._replace(changed=0))


def blob_of(content_: bytes) -> str:
    """The name that git gives to these bytes."""
    return sha1(b"blob %d\0" % len(content_) + content_, usedforsecurity=False).hexdigest()


def _hashed(name: str, folder: int) -> str:
    """As `blob_of`, of a file that memory need not have room for."""
    with _file(name, folder) as opened:
        found = sha1(b"blob %d\0" % os.fstat(opened.fileno()).st_size, usedforsecurity=False)
        while chunk := opened.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _read(name: str, folder: int) -> bytes:
    with _file(name, folder) as opened:
        return opened.read()


@contextmanager
def _file(name: str, folder: int) -> Iterator[BinaryIO]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=folder)
    except PermissionError:
        _unlock(name, folder, 0o600)
        file = os.open(name, flags, dir_fd=folder)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise TooMuch(f"{name!r} turned into something else")
        yield opened


@contextmanager
def _opened(name: str, folder: int) -> Iterator[int]:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        inner = os.open(name, flags, dir_fd=folder)
    except PermissionError:
        _unlock(name, folder, 0o700)
        inner = os.open(name, flags, dir_fd=folder)
    try:
        if (mode := stat.S_IMODE(os.fstat(inner).st_mode)) & 0o700 != 0o700:  # noqa: PLR2004 - of its owner
            os.fchmod(inner, mode | 0o700)  # or nothing could be taken away there: caches are often locked so
        yield inner
    finally:
        os.close(inner)


def _unlock(name: str, folder: int, mode: int) -> None:
    """Let ourselves in where somebody locked us out, and take no right away; through a handle: no link is followed."""
    mode |= os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & 0o777
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
        return
    handle = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(mode)
    finally:
        os.close(handle)
