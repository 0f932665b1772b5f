"""One cycle's git on a large repository: with a warm workspace and bare repositories, or with a clone each time."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from amends.common.git import Author, Edit, Pushed, Remote, Repositories
from amends.doubles.github.control.pulls import PullHandle
from amends.fixer.workspaces import Workspaces
from tests.support.github import Scene, github, set_scene

# The tenths of the sources in this project's own environment (11,800 files): half are short, the mean is 8 kB.
SIZES = (300, 600, 800, 1_100, 1_600, 2_400, 3_600, 6_900, 16_600, 45_000)
WORDS = [f"{letter}{number:x}".encode() for number in range(0, 60_000, 700) for letter in ("return", "self.", "not_")]
WE = Author("amends", "amends@example.org", datetime(2026, 1, 1, tzinfo=UTC))


@dataclass(frozen=True)
class Big:
    """A pull request of a large repository."""

    scene: Scene
    pull: PullHandle
    remote: Remote


@contextmanager
def big(files: int, commits: int) -> Iterator[Big]:
    """So many files and commits on a GitHub of its own, which lies in memory where it can."""
    with github() as double:
        scene = set_scene(double)
        folder = scene.repo.of.folder
        subprocess.run(
            ["git", "fast-import", "--quiet", "--force"], cwd=folder, input=_history(files, commits), check=True
        )
        sha = subprocess.run(
            ["git", "rev-parse", "refs/heads/big"], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()
        scene.repo.point("main", sha)
        pull = scene.repo.pull("change", by="alice", files={"d0/f0.py": "begun\n"})
        yield Big(scene, pull, Remote(scene.repo.clone_url, double.token("octocat")))


def _history(files: int, commits: int) -> bytes:
    """All files at first, then a line of one of them in each commit."""
    chance = Random(1)
    texts = [_text(SIZES[number % len(SIZES)], chance) for number in range(files)]
    lines = []
    for number in range(commits):
        lines += [b"commit refs/heads/big", b"committer a <a@b> %d +0000" % (1_600_000_000 + number), b"data 2\nc\n"]
        one = number % files
        texts[one][chance.randrange(len(texts[one]))] = b"changed = %d\n" % number
        for each in range(files) if number == 0 else [one]:
            content = b"".join(texts[each])
            lines.append(b"M 100644 inline d%d/f%d.py\ndata %d\n%s" % (each % 97, each, len(content), content))
    return b"\n".join(lines) + b"\n"


def _text(size: int, chance: Random) -> list[bytes]:
    """Lines that are to a packer what code is: words that come again, in an order of their own."""
    lines: list[bytes] = []
    while size > 0:
        said = b" ".join(chance.choices(WORDS, k=chance.randrange(2, 10)))
        lines.append(b"    " * chance.randrange(4) + said + b"\n")
        size -= len(lines[-1])
    return lines


async def warm(big_: Big, folder: Path, rounds: int) -> list[float]:
    """Seconds of each cycle after the first: fetch, workspace, changes; fetch, commit, push."""
    fixer, publisher = (Repositories(folder / name).of(1) for name in ("fixer", "publisher"))
    workspaces = Workspaces(folder / "workspaces")
    seconds = []
    for number in range(rounds + 1):
        big_.pull.push({f"d{number % 97}/f{number}.py": f"pushed {number}\n"}, by="alice")
        began = time.perf_counter()
        base = big_.pull.head
        await fixer.fetch(big_.remote, [f"+{base}:refs/amends/pull/1/{base}"])  # as the fixer does it
        async with workspaces.ready("1-pr-1", fixer, base) as workspace:
            (workspace.path / "d1/f1.py").write_text(f"fixed {number}\n")
            changes = await workspace.changes()
        await publisher.fetch(big_.remote, ["+refs/heads/change:refs/amends/heads/1"])
        edits = [Edit(one.path, one.mode or "", await publisher.write(one.new or b"")) for one in changes]
        sha = await publisher.commit([base], await publisher.write_tree(base, edits), "Fix\n", WE)
        outcome = await publisher.push(big_.remote, "change", sha, base)
        seconds.append(time.perf_counter() - began)
        if outcome != Pushed() or big_.pull.head != sha:
            raise AssertionError(outcome)
        await asyncio.sleep(0.3)  # what was written just now is read again: a cycle that begins at once is not the rule
    return seconds[1:]


def by_clone(big_: Big, folder: Path, options: Sequence[str]) -> float:
    """Seconds of the same as most do it."""
    big_.pull.push({"d2/f2.py": f"pushed {time.monotonic_ns()}\n"}, by="alice")
    shutil.rmtree(folder, ignore_errors=True)
    url = big_.remote.url.replace("://", f"://x-access-token:{big_.remote.token}@")
    people = {f"GIT_{role}_{part}": "a@b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    environment = {**os.environ, **people, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}

    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], env=environment, check=True, capture_output=True)

    began = time.perf_counter()
    git("clone", "--quiet", "--single-branch", "--branch", "change", *options, url, str(folder))
    (folder / "d1/f1.py").write_text(f"cloned {time.monotonic_ns()}\n")
    git("-C", str(folder), "commit", "--quiet", "--all", "--message", "Fix")
    git("-C", str(folder), "push", "--quiet", "origin", "HEAD:change")
    return time.perf_counter() - began
