"""All the repositories of one service, and how much room they take."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from amends.common.git.repository import Repository


class Repositories:
    """All repositories of one service, in one directory that is its own."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def of(self, repo: int) -> Repository:
        """The one with this number on GitHub."""
        return Repository(self._root / f"{repo}.git")

    def all(self) -> dict[int, Repository]:
        """Those that are here, by number, the one that was used longest ago first."""
        folders = [one for one in self._root.glob("*.git") if one.stem.isdecimal()]
        return {int(one.stem): Repository(one) for one in sorted(folders, key=lambda one: Repository(one).last_used)}

    def size(self) -> int:
        """How many bytes all of it takes, with what was set aside because it was broken."""
        return size_of(self._root)

    async def collect(self, most: int) -> list[int]:
        """Remove copies, the one that was used longest ago first, until all together have `most` bytes.

        One that somebody uses stays, and one that holds what was set aside for a human: that is nowhere else.
        """
        total, removed = await asyncio.to_thread(self.size), list[int]()
        for repo, repository in self.all().items():
            if total <= most:
                break
            size = await asyncio.to_thread(size_of, repository.folder)
            if await repository.remove():
                total -= size
                removed.append(repo)
        return removed


def size_of(folder: Path) -> int:
    """How many bytes stand below a folder; what goes away meanwhile is nothing."""
    total, folders = 0, [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total
