"""One workspace for each loop: a plain directory that is brought to the next head in place, where nothing is lost.

Git never runs in it. What stands there is compared byte by byte with what should, and only what differs is written.
What we did not leave there ourselves is somebody's work: it is kept under `refs/amends/aside/<loop>/` before the
directory is used again, or, where git cannot hold it, the whole directory is moved out of the way. What we know of a
workspace lies beside it, out of reach of whoever works in it.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import time
from collections.abc import AsyncIterator, Collection, Coroutine, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from amends.common.effects import effect
from amends.common.gate import Altered
from amends.common.gate.paths import unfit
from amends.common.git import Author, Edit, Entry, Repository
from amends.common.git.repositories import size_of
from amends.common.policy import Missing
from amends.fixer import inventory
from amends.fixer.inventory import LARGEST, NOTHING, STRANGE, Quota, Sight, Thing, TooMuch
from amends.fixer.kept import Kept
from amends.fixer.sandbox import Command, Ran, Sandbox
from amends.fixer.sources import contents

T = TypeVar("T")
_PLAIN = {"100644", "100755"}
_KEPT, _ASIDE = ".kept", ".aside"
_KEEPER = "amends", "amends@localhost"
_LONGEST_NOTE = 400
# What work leaves behind and nobody wants, whether the repository says so or not.
_RUBBISH = ("__pycache__/", "*.pyc", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", "node_modules/", ".venv/",
            ".tox/", ".DS_Store", ".hypothesis/", ".coverage")  # fmt: skip


class WorkspaceLost(Exception):
    """The workspace is gone, and the policy says not to make another."""


class WorkspaceBusy(Exception):
    """Somebody else works in this workspace."""


@dataclass
class Workspace:
    """A directory with the files of a commit in it. `notes` say what was not as expected when it was opened."""

    path: Path
    base: str
    notes: tuple[str, ...]
    _repository: Repository
    _quota: Quota
    _tree: Mapping[str, Entry]
    _seen: Sight = field(repr=False)
    _touched: bool = True

    async def changes(self) -> list[Altered]:
        """How the files differ now from the base: what was ignored there is left out, what is no file is in it."""
        self._seen = await asyncio.to_thread(inventory.seen, self.path, self._seen.things, self._quota)
        self._touched = False
        now = {path: thing for path, thing in self._seen.things.items() if path != ".git"}
        new = [path for path in now if path not in self._tree]
        ignored = await self._repository.ignored(self.base, new, _RUBBISH)
        differing = [path for path, thing in now.items() if thing[:2] != self._tree.get(path) and path not in ignored]
        gone = [path for path, entry in self._tree.items() if path not in now and _is_shown(path, entry)]
        paths = sorted([*differing, *gone])
        before = await contents(self._repository, self._tree, paths)
        return [await self._altered(path, before.get(path), now.get(path)) for path in paths]

    def touched(self) -> None:
        """Said by whoever is at work in it: what stands there is not what was seen any more."""
        self._touched = True

    def left(self) -> Sight:
        """What stands there when we leave. Since it was looked at, only somebody else can have been at work in it."""
        return inventory.seen(self.path, self._seen.things, self._quota) if self._touched else self._seen

    async def _altered(self, path: str, old: bytes | None, thing: Thing | None) -> Altered:
        entry = self._tree.get(path)
        if thing is None:
            return Altered(path, entry.mode if entry else None, old, None, None)
        if thing.print.size > LARGEST:
            raise TooMuch(f"{path!r} has {thing.print.size} bytes, at most {LARGEST} may be looked at")
        new = await asyncio.to_thread(inventory.content, self.path, path, thing.mode)
        return Altered(path, entry.mode if entry else None, old, thing.mode, new)


@dataclass(frozen=True)
class Within:
    """A sandbox for those who work in one workspace, which is told of it."""

    workspace: Workspace
    sandbox: Sandbox

    async def prove(self) -> None:
        """As the sandbox does it."""
        await self.sandbox.prove()

    async def run(self, workspace: Path, command: Command) -> Ran:
        """As the sandbox does it, however it ends."""
        try:
            return await self.sandbox.run(workspace, command)
        finally:
            self.workspace.touched()


class Workspaces:
    """All workspaces of one fixer, below one directory that is its own."""

    def __init__(self, root: Path, quota: Quota | None = None) -> None:
        self._root = root.absolute()
        self._quota = quota or Quota()

    def path(self, loop: str) -> Path:
        """Where the workspace of a loop is, whether it is there or not."""
        if not loop.replace("-", "").isalnum() or not loop.isascii():
            raise ValueError(f"{loop!r} is no name of a loop")
        return self._root / loop

    @asynccontextmanager
    async def ready(
        self, loop: str, repository: Repository, base: str, missing: Missing = "recreate"
    ) -> AsyncIterator[Workspace]:
        """The workspace with the files of `base` and nothing else, ours until the block ends."""
        path, notes = self.path(loop), list[str]()
        with self._alone(loop):
            async with _beside(repository.tree(base)) as reading:
                kept = await asyncio.to_thread(self._known, loop)
                if kept and not path.exists() and missing == "fail":
                    raise WorkspaceLost(f"{path} is gone, and the policy says worktree_missing: fail")
                now = await self._cleared(loop, repository, kept, notes)
                tree = await reading
            wanted = self._wanted(tree)
            try:
                await asyncio.to_thread(inventory.remove, path, now, wanted)
            except (OSError, RecursionError) as error:
                now = self._moved(loop, f"the workspace cannot be cleared ({error})", notes)
            now = await self._filled(path, repository, wanted, now)
            self._keep(loop, Kept(base, now, time.time()))
            workspace = Workspace(
                path, base, tuple(note[:_LONGEST_NOTE] for note in notes), repository, self._quota, tree, now
            )
            try:
                yield workspace
            finally:
                self._left(loop, workspace)

    def _left(self, loop: str, workspace: Workspace) -> None:
        """Remember how it is left, so that what somebody does to it from now on can be told from what we did."""
        try:
            sight = workspace.left()
        except (OSError, TooMuch):
            return  # then all of it counts as somebody else's, and is kept
        self._keep(loop, Kept(workspace.base, sight, time.time()))

    # --- what stands there already -----------------------------------------------------------------------------------

    async def _cleared(self, loop: str, repository: Repository, kept: Kept | None, notes: list[str]) -> Sight:
        """What stands in the workspace and is ours; what is not has been put aside."""
        path = self.path(loop)
        if not _is_there(path):
            if kept is not None:
                notes.append("the workspace was gone and has been made anew")
            path.mkdir(parents=True)
            return NOTHING
        if path.is_symlink() or not path.is_dir() or (kept is None and any(path.iterdir())):
            return self._moved(loop, "the workspace held what we did not put there", notes)
        if kept is None:
            return NOTHING
        try:
            now = await asyncio.to_thread(inventory.seen, path, kept.sight.things, self._quota)
        except (TooMuch, OSError) as error:
            return self._moved(loop, f"the workspace cannot be used again ({error})", notes)
        foreign = [path for path, thing in now.things.items() if not _same(thing, kept.sight.things.get(path))]
        gone = [path for path in kept.sight.things if path not in now.things]
        if not foreign and not gone:
            return now
        if any(now.things[one].mode == STRANGE or unfit(one) for one in foreign):
            return self._moved(loop, "the workspace held what no commit can hold", notes)
        ref = await self._kept_aside(loop, repository, kept, now)
        notes.append(f"{len(foreign) + len(gone)} paths were not as we left them: kept as {ref}")
        return now

    async def _kept_aside(self, loop: str, repository: Repository, kept: Kept, now: Sight) -> str:
        """A commit on what we left there of what stands there now."""
        tree, edits = await repository.tree(kept.base), []
        for path, thing in now.things.items():
            entry = tree.get(path)
            if thing.mode != STRANGE and not unfit(path) and (entry is None or entry != (thing.mode, thing.blob)):
                content = await asyncio.to_thread(inventory.content, self.path(loop), path, thing.mode)
                edits.append(Edit(path, thing.mode, await repository.write(content)))
        edits += [Edit(path, "", None) for path, one in tree.items() if path not in now.things and _is_shown(path, one)]
        made = await repository.write_tree(kept.base, edits)
        author = Author(*_KEEPER, datetime.fromtimestamp(int(kept.used), UTC))
        return await repository.aside(loop, await repository.commit([kept.base], made, f"Left in {loop}\n", author))

    def _moved(self, loop: str, why: str, notes: list[str]) -> Sight:
        """Everything that stands there, out of the way as it is."""
        path, aside = self.path(loop), self._root / _ASIDE
        aside.mkdir(parents=True, exist_ok=True, mode=0o700)
        free = next(place for number in count(1) if not _is_there(place := aside / f"{loop}-{number}"))
        with effect("rename", free):
            path.rename(free)
        path.mkdir()
        notes.append(f"{why}: moved to {free}")
        return NOTHING

    # --- what should stand there -------------------------------------------------------------------------------------

    def _wanted(self, tree: Mapping[str, Entry]) -> Mapping[str, Entry]:
        wanted = {name: entry for name, entry in tree.items() if _is_shown(name, entry)}
        if len(wanted) > self._quota.files:
            raise TooMuch(f"the repository has {len(wanted)} files, at most {self._quota.files} are taken")
        return wanted

    async def _filled(self, path: Path, repository: Repository, wanted: Mapping[str, Entry], now: Sight) -> Sight:
        things = {name: thing for name, thing in now.things.items() if thing[:2] == wanted.get(name)}
        missing: dict[str, list[str]] = {}
        for name in [name for name in wanted if name not in things]:
            entry, thing = wanted[name], now.things.get(name)
            if thing is None or thing.mode not in _PLAIN or thing.blob != entry.blob:
                missing.setdefault(entry.blob, []).append(name)
            else:
                things[name] = inventory.set_mode(path, name, thing._replace(mode=entry.mode))
        async with aclosing(repository.contents(missing)) as read:
            async for blob, content in read:
                for name in missing[blob]:
                    things[name] = inventory.put(path, name, wanted[name].mode, content)
        return Sight(things, inventory.folders_of(wanted))

    # --- what we know ------------------------------------------------------------------------------------------------

    def _known(self, loop: str) -> Kept | None:
        try:
            said = (self._root / _KEPT / f"{loop}.json").read_text(encoding="utf-8", errors="surrogatepass")
            return Kept.read(said)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return None  # then whatever stands there is nobody's that we know, and is kept

    def _keep(self, loop: str, left: Kept) -> None:
        file = self._root / _KEPT / f"{loop}.json"
        fresh = file.with_suffix(".new")
        fresh.write_text(left.written(), encoding="utf-8")
        with effect("rename", file):
            fresh.replace(file)

    @contextmanager
    def _alone(self, loop: str) -> Iterator[None]:
        """Alone with this workspace, among all processes of this machine."""
        folder = self._root / _KEPT
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(folder / f"{loop}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError as error:
            raise WorkspaceBusy(f"{self.path(loop)} is in use") from error
        finally:
            os.close(lock)

    # --- letting go --------------------------------------------------------------------------------------------------

    def loops(self) -> list[str]:
        """The loops that have a workspace."""
        return [file.stem for file in self._root.glob(f"{_KEPT}/*.json") if self.path(file.stem).is_dir()]

    def size(self) -> int:
        """How many bytes all of it takes, with what was moved out of the way."""
        return size_of(self._root)

    def collect(self, most: int, keep: Collection[str] = ()) -> list[str]:
        """Remove the workspaces that were used longest ago until all together have `most` bytes; answers with which.

        One that is in use, or not as we left it, stays: somebody may want what is in it.
        """
        known = {loop: kept for loop in self.loops() if (kept := self._known(loop))}
        sizes = {loop: sum(thing.print.size for thing in kept.sight.things.values()) for loop, kept in known.items()}
        total, removed = sum(sizes.values()), []
        for loop in sorted(known, key=lambda loop: known[loop].used):
            if total > most and loop not in keep and self._removed(loop, known[loop]):
                total -= sizes[loop]
                removed.append(loop)
        return removed

    def _removed(self, loop: str, kept: Kept) -> bool:
        path = self.path(loop)
        try:
            with self._alone(loop):
                if path.is_dir() and not path.is_symlink():
                    now = inventory.seen(path, kept.sight.things, self._quota)
                    known = kept.sight.things
                    if now.things.keys() != known.keys() or not all(
                        _same(now.things[one], known[one]) for one in known
                    ):
                        return False
                    shutil.rmtree(path)
                (self._root / _KEPT / f"{loop}.json").unlink()
        except (WorkspaceBusy, TooMuch, OSError):
            return False
        return True


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, T]) -> AsyncIterator[asyncio.Task[T]]:
    """Something that goes on during the block and ends with it, however that ends."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)


def _is_shown(path: str, entry: Entry) -> bool:
    """Whether it stands in the workspace: links and submodules do not, and stay in the commit as they are."""
    return entry.mode in _PLAIN and not unfit(path)


def _same(thing: Thing, other: Thing | None) -> bool:
    return other is not None and thing[:2] == other[:2]  # what it is, and not what it looks like
