"""Real bare repositories on disk, and the questions GitHub asks them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from amends.doubles.github.diff import FileDiff, parse

ZERO = "0" * 40
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
# Nothing of this machine's configuration may change what the double does.
_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": os.devnull,
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}
# Any commit may be fetched, as on GitHub; where new commits are written first is nobody's business.
_CONFIG = """[core]
    repositoryformatversion = 0
    bare = true
[gc]
    auto = 0
[http]
    receivepack = true
[receive]
    advertisePushOptions = true
[transfer]
    hideRefs = refs/double
[uploadpack]
    allowAnySHA1InWant = true
"""
# What a push may not do is decided before it starts; this only says so, for each ref.
_HOOK = """#!/bin/sh
[ -z "$AMENDS_DOUBLE_REFUSALS$AMENDS_DOUBLE_NO_WORKFLOWS" ] && exit 0
zero=0000000000000000000000000000000000000000
tab=$(printf '\\t')
reason=$(printf '%s\\n' "$AMENDS_DOUBLE_REFUSALS" | sed -n "s|^$1$tab||p")
if [ -n "$reason" ]; then
    printf 'error: %s\\n' "$reason" >&2
    exit 1
fi
if [ -n "$AMENDS_DOUBLE_NO_WORKFLOWS" ] && [ "$3" != $zero ]; then
    old=$2
    [ "$old" = $zero ] && old=$AMENDS_DOUBLE_NO_WORKFLOWS
    file=$(git diff-tree -r --name-only --no-commit-id "$old" "$3" -- .github/workflows | head -n 1)
    if [ -n "$file" ]; then
        printf 'refusing to allow a GitHub App to create or update workflow `%s` without `workflows` permission\\n' \
            "$file" >&2
        exit 1
    fi
fi
exit 0
"""


class GitFailed(Exception):
    """git refused; the message is what it printed."""


@dataclass(frozen=True)
class Person:
    name: str
    email: str
    at: datetime


@dataclass(frozen=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str


@dataclass(frozen=True)
class Entry:
    mode: str
    kind: str
    sha: str
    path: str
    size: int


@dataclass(frozen=True)
class Writing:
    """A commit to make: contents by path, None deletes; a path that ends in `*` is made executable."""

    files: Mapping[str, str | bytes | None]
    message: str
    who: Person
    parents: Sequence[str] = ()


class Git:
    """All repositories below one folder. What depends only on objects is remembered, for objects never change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.diff = lru_cache(maxsize=4_096)(self._diff)
        self.merge_base = lru_cache(maxsize=4_096)(self._merge_base)
        self.conflicts = lru_cache(maxsize=1_024)(self._conflicts)
        self.commit = lru_cache(maxsize=8_192)(self._commit)
        self.log = lru_cache(maxsize=1_024)(self._log)

    def create(self, folder: Path, branch: str) -> None:
        """A bare repository is three things on disk; asking git for it takes longer than a test should."""
        for name in ("objects", "refs/heads", "hooks"):
            (folder / name).mkdir(parents=True)
        (folder / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
        (folder / "config").write_text(_CONFIG, encoding="utf-8")
        hook = folder / "hooks" / "update"
        hook.write_text(_HOOK, encoding="utf-8")
        hook.chmod(0o755)

    def branches(self, folder: Path) -> dict[str, str]:
        said = self._run(folder, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads").decode()
        return {name: sha for sha, _, name in (line.partition(" ") for line in said.splitlines())}

    def resolve(self, folder: Path, name: str) -> str | None:
        """The commit that a branch, a tag, a ref or an abbreviated sha names."""
        for candidate in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            try:
                return self._run(folder, "rev-parse", "--verify", "--quiet", f"{candidate}^{{commit}}").decode().strip()
            except GitFailed:
                continue
        return None

    def set_ref(self, folder: Path, ref: str, sha: str) -> None:
        self._run(folder, "update-ref", ref, sha)

    def delete_ref(self, folder: Path, ref: str) -> None:
        self._run(folder, "update-ref", "-d", ref)

    def write(self, folder: Path, writing: Writing) -> str:
        """Make a commit; no ref moves."""
        stream = bytearray(b"feature done\ncommit refs/double/new\nmark :1\n")
        who = f"{writing.who.name} <{writing.who.email}> {int(writing.who.at.timestamp())} +0000"
        stream += f"author {who}\ncommitter {who}\n".encode() + _sized(writing.message.encode())
        for word, parent in zip(["from", *["merge"] * 8], writing.parents, strict=False):
            stream += f"{word} {parent}\n".encode()
        for path, content in writing.files.items():
            stream += _change(path, content)
        stream += b"get-mark :1\ndone\n"
        return self._run(folder, "fast-import", "--quiet", "--force", "--done", data=bytes(stream)).decode().strip()

    def fetch(self, folder: Path, source: Path, sha: str) -> None:
        """Bring a commit over from a fork."""
        self._run(folder, "-c", "protocol.file.allow=always", "fetch", "--quiet", "--no-tags", str(source), sha)

    def copy(self, source: Path, folder: Path) -> None:
        """A fork: all branches, none of the pull requests."""
        for name, sha in self.branches(source).items():
            self.fetch(folder, source, sha)
            self.set_ref(folder, f"refs/heads/{name}", sha)

    def is_ancestor(self, folder: Path, old: str, new: str) -> bool:
        return self.merge_base(folder, old, new) == old

    def show(self, folder: Path, commit: str, path: str) -> bytes | None:
        try:
            return self._run(folder, "cat-file", "blob", f"{commit}:{path}")
        except GitFailed:
            return None

    def blob(self, folder: Path, sha: str) -> bytes | None:
        try:
            return self._run(folder, "cat-file", "blob", sha)
        except GitFailed:
            return None

    def tree(self, folder: Path, treeish: str, *, deep: bool = False) -> list[Entry]:
        options = ["-r", "-t"] if deep else []
        said = self._run(folder, "ls-tree", "-z", "-l", *options, treeish).decode("utf-8", "replace")
        rows = [row.partition("\t") for row in said.split("\0") if row]
        return [_entry(head, path) for head, _, path in rows]

    def _diff(self, folder: Path, old: str, new: str, context: int = 3) -> tuple[FileDiff, ...]:
        options = ["--raw", "-z", "-p", "--full-index", "--no-abbrev", "-M", f"-U{context}", "--no-ext-diff"]
        return parse(self._run(folder, "diff", *options, old, new))

    def patch(self, folder: Path, old: str, new: str) -> bytes:
        return self._run(folder, "diff", "-M", "--no-ext-diff", old, new)

    def _merge_base(self, folder: Path, one: str, other: str) -> str | None:
        try:
            return self._run(folder, "merge-base", one, other).decode().strip()
        except GitFailed:
            return None

    def _conflicts(self, folder: Path, base: str, head: str) -> bool:
        try:
            self._run(folder, "merge-tree", "--write-tree", "--name-only", base, head)
        except GitFailed:
            return True
        return False

    def merged_tree(self, folder: Path, base: str, head: str) -> str:
        return self._run(folder, "merge-tree", "--write-tree", base, head).decode().split("\n", 1)[0]

    def commit_tree(self, folder: Path, tree: str, writing: Writing) -> str:
        """A commit of a tree that is there already."""
        parents = [option for parent in writing.parents for option in ("-p", parent)]
        when = f"{int(writing.who.at.timestamp())} +0000"
        names = {"NAME": writing.who.name, "EMAIL": writing.who.email, "DATE": when}
        people = {f"GIT_{role}_{part}": value for role in ("AUTHOR", "COMMITTER") for part, value in names.items()}
        said = self._run(folder, "commit-tree", tree, *parents, data=writing.message.encode(), extra=people)
        return said.decode().strip()

    def _log(self, folder: Path, base: str | None, head: str) -> tuple[str, ...]:
        """Commits of head that base lacks, oldest first."""
        span = [head] if base is None else [f"{base}..{head}"]
        return tuple(self._run(folder, "rev-list", "--reverse", "--topo-order", *span).decode().split())

    def _commit(self, folder: Path, sha: str) -> Commit:
        form = "%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"
        said = self._run(folder, "show", "--no-patch", f"--format=tformat:{form}", sha).decode("utf-8", "replace")
        tree, parents, an, ae, at, cn, ce, ct, message = said.split("\0", 8)
        author, committer = Person(an, ae, _moment(at)), Person(cn, ce, _moment(ct))
        return Commit(sha, tree, tuple(parents.split()), author, committer, message.rstrip("\n"))

    def _run(
        self, folder: Path, *arguments: str, data: bytes | None = None, extra: Mapping[str, str] | None = None
    ) -> bytes:
        done = subprocess.run(  # noqa: S603 - arguments only, no shell
            ["git", *arguments],  # noqa: S607 - the git of this machine
            cwd=folder,
            env={**_ENVIRONMENT, **(extra or {})},
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            check=False,
            timeout=120,
        )
        if done.returncode:
            raise GitFailed(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout


def http_environment() -> dict[str, str]:
    """What `git http-backend` is started with, before what the request adds."""
    return dict(_ENVIRONMENT)


def _moment(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def _entry(head: str, path: str) -> Entry:
    mode, kind, sha, size = head.split()
    return Entry(mode, kind, sha, path, 0 if size == "-" else int(size))


def _sized(data: bytes) -> bytes:
    return b"data %d\n" % len(data) + data + b"\n"


def _change(path: str, content: str | bytes | None) -> bytes:
    mode, name = ("100755", path[:-1]) if path.endswith("*") else ("100644", path)
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if content is None:
        return f"D {quoted}\n".encode()
    raw = content.encode() if isinstance(content, str) else content
    return f"M {mode} inline {quoted}\n".encode() + _sized(raw)
