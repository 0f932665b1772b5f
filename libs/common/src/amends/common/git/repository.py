"""A bare repository of our own for each repository on GitHub: bytes in, bytes out, commits made of bytes.

It lies out of reach of every sandbox. Nothing that anybody else wrote is ever read as configuration, and no work tree
is attached to it: trees leave it blob by blob, and commits are made from a base and the bytes that change.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from amends.common.effects import effect
from amends.common.git import token, trees
from amends.common.git.objects import Author, Commit, Edit, Entry
from amends.common.git.process import SECONDS, Call, Done, GitFailed, run
from amends.common.git.pushing import Push, Rejected, Unknown, outcome
from amends.common.git.remotely import meant
from amends.common.git.talking import Talk, talking
from amends.common.git.token import Remote
from amends.common.github.errors import Down

_ZERO = "0" * 40
_OBJECTS = ("cat-file", "--batch")
_REMOTE_SECONDS = 300.0
_PAUSE = 0.02
_SHA = re.compile(r"[0-9a-f]{40}")
_ENTRY = partial(tuple.__new__, Entry)  # for thousands: without a step of Python for each
_BUNCH = 512  # names that are asked for at once
_MONTH = 30 * 86_400
_FETCHED = ("refs/amends/heads", "refs/amends/bases", "refs/amends/made", "refs/amends/pull")


class Repository:
    """One bare repository. Everything raises GitFailed when git does not do what it should."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._forget()

    def _forget(self) -> None:
        """What is remembered would be true for ever, if what it is about stayed here."""
        self._tree: tuple[str, Mapping[str, Entry]] = "", {}
        self._made: tuple[str, Sequence[str]] = "", ()

    # --- the folder --------------------------------------------------------------------------------------------------

    async def ensure(self) -> None:
        """Make it, if it is not there."""
        if (self.folder / "HEAD").exists():
            return
        async with self.locked():
            if not (self.folder / "HEAD").exists():
                self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                await self._git("init", "--bare", "--quiet", "--template=", "--initial-branch=amends")

    async def renew(self, why: str) -> None:
        """Begin anew beside what is broken: the latest is kept, and every one in which something was set aside."""
        async with self.locked():
            places = (self.folder.with_suffix(f".broken{number}") for number in count(1))
            broken = next(place for place in places if not _holds_aside(place))
            await asyncio.to_thread(shutil.rmtree, broken, ignore_errors=True)
            with effect("rename", broken):
                await asyncio.to_thread(os.replace, self.folder, broken)
            self._forget()
            (broken / "why.txt").write_text(f"{why[:1000]}\n", encoding="utf-8")
        await self.ensure()

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Alone with it, among all processes of this machine."""
        with self._lock(".lock") as lock:
            while not _taken(lock):  # noqa: ASYNC110 - another process cannot set an event of ours
                await asyncio.sleep(_PAUSE)
            token.forget(self.folder)
            yield

    @asynccontextmanager
    async def used(self) -> AsyncIterator[None]:
        """At work with it, beside others: meanwhile nobody tidies it or takes it away."""
        with self._lock(".use") as lock:
            while not _taken(lock, fcntl.LOCK_SH):  # noqa: ASYNC110 - as above
                await asyncio.sleep(_PAUSE)
            os.utime(lock)
            yield

    @contextmanager
    def _lock(self, suffix: str) -> Iterator[int]:
        self.folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(self.folder.with_suffix(suffix), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            yield lock
        finally:
            os.close(lock)

    # --- letting go --------------------------------------------------------------------------------------------------

    @property
    def last_used(self) -> float:
        """When somebody was at work with it; long ago, if that is not known."""
        used = self.folder.with_suffix(".use")
        return used.stat().st_mtime if used.exists() else 0.0

    async def tidy(self, keep: Collection[str] = ()) -> bool:
        """Pack it, and let go of what nothing names any more; whether it was not in use, and worth it.

        What was fetched for pull requests that nobody touched for a month is not named any more, but for the newest and
        for what begins with one of `keep`. What was set aside for a human is.
        """
        with self._lock(".use") as lock:
            tidied = self.folder.with_suffix(".tidied")
            worth = (self.folder / "HEAD").exists() and (not tidied.exists() or tidied.stat().st_mtime < self.last_used)
            if not worth or not _taken(lock):
                return False
            async with self.locked():
                for stale in ("gc.pid", "packed-refs.lock"):
                    (self.folder / stale).unlink(missing_ok=True)
                await self._let_go(tuple(keep))
                await self._git("gc", "--quiet", "--prune=2.weeks.ago", seconds=1_800)
            tidied.touch()
            return True

    async def _let_go(self, keep: tuple[str, ...]) -> None:
        form = "--format=%(refname) %(committerdate:unix)"
        done = await self._git("for-each-ref", "--sort=-committerdate", form, *_FETCHED)
        old = [line.split(" ") for line in done.out.decode(errors="replace").splitlines()[1:]]
        until = time.time() - _MONTH
        gone = [ref for ref, date in old if date and int(date) < until and not ref.startswith(keep)]
        await self._git("update-ref", "--stdin", data="".join(f"delete {ref}\n" for ref in gone).encode())

    async def remove(self) -> bool:
        """Take it away, if nobody uses it and nothing is in it that is nowhere else; whether that was done."""
        with self._lock(".use") as lock:
            if not _taken(lock) or _holds_aside(self.folder):
                return False
            async with self.locked():
                await asyncio.to_thread(shutil.rmtree, self.folder)
        return True

    # --- reading -----------------------------------------------------------------------------------------------------

    async def has(self, commit: str) -> bool:
        """Whether the commit is here."""
        done = await self._git("cat-file", "-e", f"{commit}^{{commit}}", expected=(0, 1, 128))
        return done.code == 0

    async def tree(self, commit: str) -> Mapping[str, Entry]:
        """Everything that the commit has, by path. Paths that are not UTF-8 hold surrogates."""
        known, tree = self._tree
        if commit == known:
            return tree
        done = await self._git("ls-tree", "-r", "-z", "--full-tree", commit)
        tree = _tree(os.fsdecode(done.out))
        if _SHA.fullmatch(commit):  # it will never have another; the last is asked for again and again
            self._tree = commit, tree
        return tree

    async def read(self, blob: str) -> bytes:
        """The bytes of a blob."""
        async with aclosing(self.contents([blob])) as contents:
            _, content = await anext(contents)
            return content

    async def contents(self, blobs: Iterable[str]) -> AsyncGenerator[tuple[str, bytes], None]:
        """Blobs with their bytes, in the order in which they are asked for, one in memory at a time."""
        names = list(blobs)
        if not names:
            return
        async with talking(Call(self.folder, _OBJECTS, seconds=SECONDS + len(names) / 100)) as objects:
            for start in range(0, len(names), _BUNCH):
                bunch = names[start : start + _BUNCH]
                objects.ask("".join(f"{name}\n" for name in bunch).encode("ascii"))
                for name in bunch:
                    yield name, await objects.content(name, "blob")

    async def changed(self, old: str, new: str) -> Mapping[str, tuple[Entry | None, Entry | None]]:
        """What differs between two trees or commits, by path: before and after, renames not guessed."""
        done = await self._git(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", "--no-ext-diff", "--no-textconv", old, new
        )
        parts = done.out.split(b"\0")
        found = {}
        for meta, path in zip(parts[0:-1:2], parts[1::2], strict=True):
            before_mode, after_mode, before, after, _ = meta.decode("ascii").lstrip(":").split(" ")
            found[os.fsdecode(path)] = (_entry(before_mode, before), _entry(after_mode, after))
        return found

    async def patch(self, old: str, new: str) -> bytes:
        """What `git apply` makes the second of two trees or commits of the first with, whatever is in the files."""
        options = ("-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
        return (await self._git("diff-tree", *options, old, new)).out

    async def is_ancestor(self, old: str, new: str) -> bool:
        """Whether `new` holds everything that `old` has."""
        made, parents = self._made
        if new == made and old in parents:
            return True
        done = await self._git("merge-base", "--is-ancestor", old, new, expected=(0, 1))
        return done.code == 0

    async def parting(self, one: str, other: str) -> str | None:
        """The last commit that both have, if they have any."""
        done = await self._git("merge-base", one, other, expected=(0, 1))
        return done.out.decode().strip() or None

    async def trailed(self, base: str, head: str) -> Sequence[Commit]:
        """The commits of `head` that `base` lacks, newest first, with the keys in their trailers."""
        form = "%H%x00%P%x00%(trailers:key=Amends-Key,valueonly,separator=%x01)%x00"
        done = await self._git("log", "-z", f"--format=tformat:{form}", f"{base}..{head}", "--")
        parts = done.out.decode(errors="replace").split("\0")
        lines = zip(parts[0::4], parts[1::4], parts[2::4], strict=False)
        return [
            Commit(sha.strip(), tuple(parents.split()), tuple(one.strip() for one in said.split("\x01") if one.strip()))
            for sha, parents, said in lines
            if sha.strip()
        ]

    async def find_trailer(self, base: str, head: str, key: str) -> str | None:
        """The commit of `head`, and not of `base`, that carries this key."""
        return next((one.sha for one in await self.trailed(base, head) if key in one.trailers), None)

    async def conflicts(self, ours: str, theirs: str) -> Sequence[str]:
        """The paths that would conflict if the two were merged."""
        options = ("--write-tree", "--name-only", "--no-messages", "-z")
        done = await self._git("merge-tree", *options, ours, theirs, expected=(0, 1))
        return [os.fsdecode(path) for path in done.out.split(b"\0")[1:] if path] if done.code else []

    async def resolve(self, name: str) -> str | None:
        """The commit that a ref of ours names."""
        done = await self._git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", expected=(0, 1))
        return done.out.decode().strip() or None

    async def ignored(self, base: str, paths: Iterable[str], always: Iterable[str] = ()) -> set[str]:
        """Which of these paths the `.gitignore` files of a commit leave out, or the patterns that hold `always`.

        Git sees nothing but those files.
        """
        asked = [path for path in paths if path and not path.startswith("/")]
        if not asked:
            return set()
        names = [(path, entry) for path, entry in (await self.tree(base)).items() if _ignores(path, entry)]
        with tempfile.TemporaryDirectory(prefix="ignores-", dir=self.folder) as place:
            folder, excludes = f"{place}/tree", f"{place}/always"
            rules = {f"tree/{path}": await self.read(entry.blob) for path, entry in names}
            _write_all(place, {**rules, "tree/.none": b"", "always": "\n".join([*always, ""]).encode()})
            done = await self._git(
                f"--work-tree={folder}", "-C", folder, "check-ignore", "--no-index", "-z", "--stdin",
                data=b"".join(os.fsencode(path) + b"\0" for path in asked), expected=(0, 1),
                settings=("core.bare=false", f"core.excludesFile={excludes}"),
                environment={"GIT_LITERAL_PATHSPECS": "0"},
            )  # fmt: skip
        return {os.fsdecode(path) for path in done.out.split(b"\0") if path}

    # --- writing -----------------------------------------------------------------------------------------------------

    async def write(self, content: bytes) -> str:
        """Keep these bytes, as they are; answers with the blob."""
        done = await self._git("hash-object", "-w", "--no-filters", "--stdin", data=content)
        return done.out.decode("ascii").strip()

    async def write_tree(self, base: str | None, edits: Iterable[Edit]) -> str:
        """The tree of a commit with some paths changed."""
        changes = [(os.fsencode(path), Entry(mode, blob) if blob is not None else None) for path, mode, blob in edits]
        folders, made = trees.Folders(), dict[bytes, str]()
        makes = Call(self.folder, ("mktree", "-z", "--batch"))
        async with talking(Call(self.folder, _OBJECTS)) as objects, talking(makes) as making:
            folders[trees.TOP] = await _folder(objects, f"{base}^{{tree}}") if base is not None else {}
            for path in trees.ways(changes):
                if tree := trees.inner(folders, path):
                    folders[path] = await _folder(objects, tree)
            trees.change(folders, changes)
            for path in trees.standing(folders):
                made[path] = await _made(making, path, trees.listed(folders, path, made))
        return made[trees.TOP]

    async def commit(self, parents: Sequence[str], tree: str, message: str, author: Author) -> str:
        """A commit of a tree; the same for the same words, whenever it is made."""
        when = f"@{int(author.when.timestamp())} +0000"
        said = {"NAME": author.name, "EMAIL": author.email, "DATE": when}
        people = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in said.items()}
        options = [part for parent in parents for part in ("-p", parent)]
        done = await self._git("commit-tree", *options, tree, data=message.encode(), environment=people)
        sha = done.out.decode("ascii").strip()
        self._made = sha, [parent for parent in parents if _SHA.fullmatch(parent)]
        return sha

    async def name(self, ref: str, sha: str) -> None:
        """Let a ref of ours name a commit, so that nothing lets go of it."""
        await self._git("update-ref", ref, sha)

    async def aside(self, loop: str, sha: str) -> str:
        """Keep a commit that nobody asked for under a ref that nobody takes away, and that outlives a power loss."""
        with effect("sync", self.folder):
            await asyncio.to_thread(os.sync)  # it, and the base it stands on, which was fetched without
        for number in count(1):
            ref = f"refs/amends/aside/{loop}/{number}"
            known = await self.resolve(ref)
            if known == sha:
                return ref
            if known is None:
                await self._git("update-ref", ref, sha, _ZERO, settings=("core.fsync=all",))
                return ref
        raise AssertionError("numbers do not end")

    # --- elsewhere ---------------------------------------------------------------------------------------------------

    async def fetch(self, remote: Remote, refs: Sequence[str]) -> None:
        """Bring refs over: `+refs/pull/1/head:refs/amends/pull/1`. A whole sha is as good as a ref."""
        await self.ensure()
        options = (
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--quiet",
            "--no-auto-gc",
            "--force",
        )
        # What is fetched can be fetched again: after a power loss a copy that is broken is made anew.
        await self._remotely(remote, "fetch", *options, remote.url, *refs, settings=("core.fsync=none",))

    async def heads(self, remote: Remote, *branches: str) -> Mapping[str, str]:
        """Where these branches are now; those that are not there are not in it."""
        await self.ensure()
        done = await self._remotely(
            remote, "ls-remote", "--heads", remote.url, *(f"refs/heads/{one}" for one in branches)
        )
        lines = (line.partition("\t") for line in done.out.decode(errors="replace").splitlines())
        return {ref.removeprefix("refs/heads/"): sha for sha, _, ref in lines}

    async def push(self, remote: Remote, branch: str, sha: str, expected: str) -> Push:
        """Move one branch from where it is expected to a commit that comes after that, and nothing else."""
        if not await self.is_ancestor(expected, sha):
            return Rejected(f"{sha} does not come after {expected}")
        lease = f"--force-with-lease=refs/heads/{branch}:{expected}"
        options = ("--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", lease)
        try:
            done = await self._remotely(
                remote, "push", *options, remote.url, f"{sha}:refs/heads/{branch}", expected=(0, 1)
            )
        except Down as down:
            return Unknown(str(down))
        return outcome(done)

    async def _remotely(
        self, remote: Remote, *arguments: str, expected: Sequence[int] = (0,), settings: Sequence[str] = ()
    ) -> Done:
        async with self.locked():
            with token.told(self.folder, remote) as told:
                try:
                    return await self._git(
                        *arguments, settings=(f"protocol.{remote.scheme}.allow=always", *told, *settings),
                        seconds=_REMOTE_SECONDS, expected=expected,
                    )  # fmt: skip
                except GitFailed as failed:
                    raise meant(failed) from failed

    async def _git(
        self,
        *arguments: str,
        data: bytes | None = None,
        settings: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        seconds: float = SECONDS,
        expected: Sequence[int] = (0,),
    ) -> Done:
        return await run(Call(self.folder, arguments, data, settings, environment, seconds, expected))


def _holds_aside(folder: Path) -> bool:
    packed = folder / "packed-refs"
    named = packed.read_bytes() if packed.exists() else b""
    return (folder / "refs/amends/aside").exists() or b" refs/amends/aside/" in named


def _taken(lock: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _folder(objects: Talk, tree: str) -> dict[bytes, Entry]:
    objects.ask(f"{tree}\n".encode())
    return trees.parsed(await objects.content(tree, "tree"))


async def _made(making: Talk, path: bytes, listed: bytes) -> str:
    """The tree of a folder; none of one that is empty, unless it is the top."""
    if not listed and path != trees.TOP:
        return ""
    making.ask(listed + b"\0")
    return (await making.line()).decode("ascii")


def _tree(listed: str) -> dict[str, Entry]:
    found = {}
    for line in listed.split("\0")[:-1]:
        meta, _, path = line.partition("\t")
        found[path] = _ENTRY((meta[:6], meta[-40:]))
    return found


def _entry(mode: str, blob: str) -> Entry | None:
    return None if set(mode) == {"0"} else Entry(mode, blob)


def _ignores(path: str, entry: Entry) -> bool:
    plain = not any(part in {"", ".", ".."} or part.casefold() == ".git" for part in path.split("/"))
    return path.rpartition("/")[2] == ".gitignore" and entry.mode in {"100644", "100755"} and plain


def _write_all(folder: str, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        file = Path(folder, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
