"""Workspaces: brought to a commit in place, safe from whoever worked in them, and nothing of a human's is lost."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree

import pytest

from amends.common import effects
from amends.common.gate import Altered
from amends.common.git import Author, Edit, GitFailed, Repository
from amends.fixer.inventory import Quota, TooMuch
from amends.fixer.sandbox import Command, Ended, Ran, shell
from amends.fixer.workspaces import Within, Workspace, WorkspaceBusy, WorkspaceLost, Workspaces

LOOP = "1-pr-7"
FILES = {"app.py": b"one\ntwo\n", "src/a.py": b"a\n", "src/deep/b.py": b"b\n", "run.sh*": b"#!/bin/sh\n"}


@dataclass
class Bench:
    """A repository with commits, and a place for workspaces."""

    folder: Path
    shas: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.repository = Repository(self.folder / "1.git")
        self.workspaces = Workspaces(self.folder / "ws", Quota(files=1_000, size=1_000_000))
        self.path = self.workspaces.path(LOOP)

    async def commit(self, files: Mapping[str, bytes], links: Mapping[str, bytes] | None = None) -> str:
        await self.repository.ensure()
        edits = [
            Edit(path.rstrip("*"), "100755" if path.endswith("*") else "100644", await self.repository.write(content))
            for path, content in files.items()
        ]
        for path, target in (links or {}).items():
            edits.append(Edit(path, "120000", await self.repository.write(target)))
        tree = await self.repository.write_tree(None, edits)
        author = Author("t", "t@example.org", datetime(2026, 1, 1, tzinfo=UTC))
        self.shas.append(await self.repository.commit([], tree, "t\n", author))
        return self.shas[-1]

    async def work(self, base: str, act: Callable[[Path], object] = lambda _: None) -> tuple[Workspace, list[Altered]]:
        async with self.workspaces.ready(LOOP, self.repository, base) as workspace:
            act(workspace.path)
            return workspace, await workspace.changes()

    def begin(self, act: Callable[[Path], object] = lambda _: None) -> tuple[Workspace, list[Altered]]:
        """Work on the usual files."""

        async def both() -> tuple[Workspace, list[Altered]]:
            return await self.work(await self.commit(FILES), act)

        return asyncio.run(both())

    def again(self, act: Callable[[Path], object] = lambda _: None) -> tuple[Workspace, list[Altered]]:
        return asyncio.run(self.work(self.shas[-1], act))

    def aside(self, path: str) -> bytes:
        async def look() -> bytes:
            tree = await self.repository.tree(f"refs/amends/aside/{LOOP}/1")
            return await self.repository.read(tree[path].blob)

        return asyncio.run(look())

    def files(self) -> dict[str, bytes]:
        found = [path for path in self.path.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.path)): path.read_bytes() for path in found}


class Unwalled:
    """Runs our own lines without walls."""

    async def prove(self) -> None:
        pass

    async def run(self, workspace: Path, command: Command) -> Ran:
        process = await asyncio.create_subprocess_exec(*command.argv, cwd=workspace)
        return Ran(await process.wait(), b"", 0, Ended.ITSELF, 0.0)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def plain(files: Mapping[str, bytes]) -> dict[str, bytes]:
    return {path.rstrip("*"): content for path, content in files.items()}


def test_a_workspace_has_the_files_of_the_commit_and_nothing_else(bench: Bench) -> None:
    workspace, changes = bench.begin()
    assert (bench.files(), changes, workspace.notes) == (plain(FILES), [], ())
    assert os.access(bench.path / "run.sh", os.X_OK)


def test_what_was_done_in_it_is_told_with_the_bytes_before_and_after(bench: Bench) -> None:
    def act(path: Path) -> None:
        (path / "app.py").write_bytes(b"one\n2\n")
        (path / "src/a.py").unlink()
        (path / "new").mkdir()
        (path / "new/x.sh").write_bytes(b"x")
        (path / "new/x.sh").chmod(0o755)

    _, changes = bench.begin(act)
    assert changes == [
        Altered("app.py", "100644", b"one\ntwo\n", "100644", b"one\n2\n"),
        Altered("new/x.sh", None, None, "100755", b"x"),
        Altered("src/a.py", "100644", b"a\n", None, None),
    ]


def test_it_is_brought_to_the_next_head_in_place(bench: Bench) -> None:
    bench.begin(lambda path: (path / "src/a.py").write_bytes(b"ours"))
    untouched = (bench.path / "app.py").stat().st_ino
    other = {"app.py": b"one\ntwo\n", "src": b"now a file\n", "run.sh": b"#!/bin/sh\n"}
    workspace, changes = asyncio.run(bench.work(asyncio.run(bench.commit(other))))
    assert (bench.files(), changes, workspace.notes) == (other, [], ())
    assert (bench.path / "app.py").stat().st_ino == untouched
    assert not os.access(bench.path / "run.sh", os.X_OK)


def test_a_file_becomes_a_folder(bench: Bench) -> None:
    bench.begin()
    other = {"app.py/x": b"x"}
    asyncio.run(bench.work(asyncio.run(bench.commit(other))))
    assert bench.files() == other


def test_what_a_human_changed_there_is_kept_under_a_ref(bench: Bench) -> None:
    bench.begin()
    (bench.path / "app.py").write_bytes(b"mine\n")
    (bench.path / "notes.txt").write_bytes(b"mine, too\n")
    workspace, _ = bench.again()
    assert (bench.aside("app.py"), bench.aside("notes.txt")) == (b"mine\n", b"mine, too\n")
    assert f"refs/amends/aside/{LOOP}/1" in workspace.notes[0]
    assert bench.files() == plain(FILES)


def test_what_is_kept_is_on_disk_before_anything_else_takes_its_place(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power loss right afterwards leaves one or the other."""
    seen: list[str] = []

    def watch(kind: str, what: object, when: effects.When) -> None:
        seen.append(f"{kind} {getattr(what, 'arguments', [''])[0]}".strip() if when == "after" else "")

    bench.begin()
    (bench.path / "app.py").write_bytes(b"mine\n")
    (bench.path / "notes.txt").write_bytes(b"mine, too\n")
    monkeypatch.setattr(effects, "watching", watch)
    bench.again()
    order = [seen.index(one) for one in ("git commit-tree", "sync", "git update-ref", "remove", "rename")]
    assert order == sorted(order)


def test_what_the_last_run_left_there_is_ours_and_no_news(bench: Bench) -> None:
    bench.begin(lambda path: (path / "junk").write_bytes(b"agent's"))
    workspace, changes = bench.again()
    assert (workspace.notes, changes, bench.files()) == ((), [], plain(FILES))


def test_what_a_killed_run_left_there_is_kept(bench: Bench) -> None:
    bench.begin()
    kept = bench.folder / f"ws/.kept/{LOOP}.json"
    before = kept.read_bytes()
    bench.again(lambda path: (path / "app.py").write_bytes(b"half done\n"))
    kept.write_bytes(before)  # as if the power had gone
    bench.again()
    assert bench.aside("app.py") == b"half done\n"


def test_what_a_run_before_an_upgrade_left_there_is_ours(bench: Bench) -> None:
    """Then each path had a list of its own."""
    bench.begin(lambda path: (path / "junk").write_bytes(b"agent's"))
    file = bench.folder / f"ws/.kept/{LOOP}.json"
    said = json.loads(file.read_bytes())
    columns = [said.pop(name) for name in ("paths", "modes", "blobs", "sizes", "changed", "inodes")]
    things = {path: looks for path, *looks in zip(*columns, strict=True)}
    file.write_text(json.dumps({**said, "things": things}))
    workspace, changes = bench.again()
    assert (workspace.notes, changes, bench.files()) == ((), [], plain(FILES))


def test_what_a_human_wrote_after_the_last_look_is_kept(bench: Bench) -> None:
    async def story(base: str) -> None:
        async with bench.workspaces.ready(LOOP, bench.repository, base) as workspace:
            (workspace.path / "app.py").write_bytes(b"agent's\n")
            await workspace.changes()
            (workspace.path / "notes.txt").write_bytes(b"mine\n")

    bench.begin()
    asyncio.run(story(bench.shas[-1]))
    workspace, _ = bench.again()
    assert (len(workspace.notes), bench.aside("notes.txt"), bench.files()) == (1, b"mine\n", plain(FILES))


def test_what_a_check_left_there_after_the_last_look_is_ours(bench: Bench) -> None:
    async def story(base: str) -> None:
        async with bench.workspaces.ready(LOOP, bench.repository, base) as workspace:
            await workspace.changes()
            await Within(workspace, Unwalled()).run(workspace.path, shell("echo junk > junk; echo x >> app.py"))

    bench.begin()
    asyncio.run(story(bench.shas[-1]))
    workspace, changes = bench.again()
    assert (workspace.notes, changes, bench.files()) == ((), [], plain(FILES))


def test_a_program_that_nobody_may_read_is_left_as_it_was(bench: Bench) -> None:
    def act(path: Path) -> None:
        (path / "hidden.sh").write_bytes(b"x")
        (path / "hidden.sh").chmod(0o100)

    _, changes = bench.begin(act)
    workspace, _ = bench.again()
    assert ([one.mode for one in changes], workspace.notes) == (["100755"], ())


def test_a_directory_of_somebody_else_is_moved_out_of_the_way_whole(bench: Bench) -> None:
    bench.path.mkdir(parents=True)
    (bench.path / "thesis.tex").write_bytes(b"years of work")
    workspace, _ = bench.begin()
    assert (bench.folder / f"ws/.aside/{LOOP}-1/thesis.tex").read_bytes() == b"years of work"
    assert ".aside" in workspace.notes[0]


def test_a_repository_that_a_human_made_there_is_moved_out_of_the_way_whole(bench: Bench) -> None:
    bench.begin()
    (bench.path / "sub/.git").mkdir(parents=True)
    (bench.path / "sub/.git/config").write_text("[core]\n")
    bench.again()
    assert (bench.folder / f"ws/.aside/{LOOP}-1/sub/.git/config").exists()
    assert bench.files() == plain(FILES)


def test_a_workspace_that_is_gone_is_made_anew_and_that_is_said(bench: Bench) -> None:
    bench.begin()
    bench.path.rename(bench.folder / "elsewhere")
    workspace, _ = bench.again()
    assert workspace.notes == ("the workspace was gone and has been made anew",)
    assert bench.files() == plain(FILES)


def test_a_workspace_that_is_gone_is_not_made_anew_where_that_is_forbidden(bench: Bench) -> None:
    async def ready() -> None:
        async with bench.workspaces.ready(LOOP, bench.repository, bench.shas[-1], "fail"):
            pass

    bench.begin()
    bench.path.rename(bench.folder / "elsewhere")
    with pytest.raises(WorkspaceLost):
        asyncio.run(ready())


def test_a_large_file_is_there(bench: Bench) -> None:
    bench.workspaces, large = Workspaces(bench.folder / "ws"), bytes(65 << 20)
    base = asyncio.run(bench.commit({"large.bin": large}))
    _, changes = asyncio.run(bench.work(base, lambda path: (path / "more").write_text("x\n")))
    assert ([one.path for one in changes], bench.files()["large.bin"] == large) == (["more"], True)


def test_inv_32_a_file_without_end_is_not_read(bench: Bench) -> None:
    def act(path: Path) -> None:
        (path / "core").touch()
        os.truncate(path / "core", (128 << 20) + 1)

    bench.workspaces = Workspaces(bench.folder / "ws")
    with pytest.raises(TooMuch, match="'core' has 134217729 bytes"):
        bench.begin(act)


def test_what_is_read_meanwhile_ends_with_the_look(bench: Bench) -> None:
    async def ready() -> int:
        with pytest.raises(WorkspaceLost):
            await lost(bench)
        return len(asyncio.all_tasks())

    bench.begin()
    bench.path.rename(bench.folder / "elsewhere")
    assert asyncio.run(ready()) == 1


def test_a_base_that_is_not_there_is_said_after_what_a_human_left_was_kept(bench: Bench) -> None:
    bench.begin()
    (bench.path / "app.py").write_bytes(b"mine\n")
    with pytest.raises(GitFailed):
        asyncio.run(bench.work("1" * 40))
    assert bench.aside("app.py") == b"mine\n"


def test_two_do_not_work_in_one(bench: Bench) -> None:
    async def both() -> None:
        base = await bench.commit(FILES)
        async with bench.workspaces.ready(LOOP, bench.repository, base):
            await bench.work(base)

    with pytest.raises(WorkspaceBusy):
        asyncio.run(both())


def test_inv_25_no_link_is_followed_out_of_it(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_bytes(b"precious")

    def act(path: Path) -> None:
        (path / "src/a.py").unlink()
        (path / "src/deep/b.py").unlink()
        (path / "src/deep").rmdir()
        (path / "src").rmdir()
        (path / "src").symlink_to(outside)

    _, changes = bench.begin(act)
    bench.again()
    assert [(one.path, one.mode) for one in changes] == [("src", "120000"), ("src/a.py", None), ("src/deep/b.py", None)]
    assert (outside / "a.py").read_bytes() == b"precious"
    assert (bench.files(), (bench.path / "src").is_symlink()) == (plain(FILES), False)


def test_inv_25_a_link_in_the_place_of_the_workspace_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    bench.begin()
    outside = tmp_path / "outside"
    bench.path.rename(outside)
    bench.path.symlink_to(outside)
    (outside / "app.py").write_bytes(b"precious")
    bench.again()
    assert (outside / "app.py").read_bytes() == b"precious"
    assert not bench.path.is_symlink()


def test_inv_25_another_name_of_a_file_keeps_its_bytes(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"precious")

    def act(path: Path) -> None:
        (path / "app.py").unlink()
        (path / "app.py").hardlink_to(outside)

    bench.begin(act)
    bench.again()
    assert (outside.read_bytes(), (bench.path / "app.py").read_bytes()) == (b"precious", FILES["app.py"])


def test_inv_25_what_is_no_file_is_neither_opened_nor_left_there(bench: Bench) -> None:
    _, changes = bench.begin(lambda path: os.mkfifo(path / "pipe"))
    bench.again()
    assert [(one.path, one.mode, one.new) for one in changes] == [("pipe", "000000", b"")]
    assert not (bench.path / "pipe").exists()


def test_inv_25_a_repository_within_is_seen_and_not_entered(bench: Bench) -> None:
    def act(path: Path) -> None:
        for git in (path / ".git", path / "src/.git"):
            git.mkdir()
            (git / "config").write_text("[core]\n\tfsmonitor = touch /tmp/owned\n")

    _, changes = bench.begin(act)
    assert [one.path for one in changes] == ["src/.git"]


def test_links_of_the_repository_are_not_shown_and_not_missed(bench: Bench) -> None:
    base = asyncio.run(bench.commit(FILES, {"link": b"../../etc/passwd"}))
    _, changes = asyncio.run(bench.work(base))
    assert (changes, "link" in bench.files()) == ([], False)


def test_what_the_base_ignores_is_no_change_whatever_the_workspace_says(bench: Bench) -> None:
    def act(path: Path) -> None:
        (path / ".gitignore").write_bytes(b"*\n")
        (path / "build").mkdir()
        (path / "build/x").write_bytes(b"x")
        (path / "src/__pycache__").mkdir()
        (path / "src/__pycache__/a.pyc").write_bytes(b"x")
        (path / "new.py").write_bytes(b"x")

    base = asyncio.run(bench.commit({**FILES, ".gitignore": b"build/\n"}))
    _, changes = asyncio.run(bench.work(base, act))
    assert [one.path for one in changes] == [".gitignore", "new.py"]


def test_folders_that_nobody_may_enter_are_entered(bench: Bench) -> None:
    def act(path: Path) -> None:
        (path / "src/a.py").chmod(0)
        (path / "src").chmod(0)

    _, changes = bench.begin(act)
    assert changes == []


def test_folders_that_nobody_may_write_in_are_cleared(bench: Bench) -> None:
    def act(path: Path) -> None:
        (path / "cache").mkdir()
        (path / "cache/module").write_text("x\n")
        (path / "cache").chmod(0o555)
        path.chmod(0o555)

    bench.begin(act)
    modes = [place.stat().st_mode & 0o777 for place in (bench.path, bench.path / "cache")]
    assert modes == [0o755, 0o755]  # root, as which tests may run, would be kept out by nothing
    bench.again()
    assert bench.files() == plain(FILES)


def test_inv_32_names_too_long_to_be_taken_away_are_moved_out_of_the_way(bench: Bench) -> None:
    def act(path: Path) -> None:
        folder = os.open(path, os.O_RDONLY)
        for _ in range(20):
            os.mkdir("d" * 240, dir_fd=folder)
            folder, above = os.open("d" * 240, os.O_RDONLY, dir_fd=folder), folder
            os.close(above)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
        os.close(folder)

    bench.begin(act)
    workspace, _ = bench.again()
    assert "cannot be cleared" in workspace.notes[0]
    assert bench.files() == plain(FILES)


def test_inv_32_folders_without_end_are_moved_out_of_the_way(bench: Bench) -> None:
    def act(path: Path) -> None:
        inner = path
        for _ in range(130):
            inner = inner / "d"
            inner.mkdir()

    bench.begin()
    act(bench.path)
    workspace, _ = bench.again()
    assert "deep" in workspace.notes[0]
    assert bench.files() == plain(FILES)


def test_a_change_that_hides_behind_its_date_is_seen(bench: Bench) -> None:
    bench.begin()
    file = bench.path / "app.py"
    before = file.stat()
    file.write_bytes(b"one\nTWO\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    bench.again()
    assert bench.aside("app.py") == b"one\nTWO\n"


def test_the_one_that_was_used_longest_ago_goes_first(bench: Bench) -> None:
    async def three() -> None:
        base = await bench.commit(FILES)
        for number in (1, 2, 3):
            async with bench.workspaces.ready(f"1-pr-{number}", bench.repository, base):
                pass

    asyncio.run(three())
    (bench.workspaces.path("1-pr-1") / "mine").write_bytes(b"work in progress")
    assert bench.workspaces.collect(sum(map(len, FILES.values())), keep={"1-pr-3"}) == ["1-pr-2"]
    assert (bench.workspaces.path("1-pr-1") / "mine").exists()


def test_what_is_in_use_is_not_collected(bench: Bench) -> None:
    async def during() -> list[str]:
        base = await bench.commit(FILES)
        async with bench.workspaces.ready(LOOP, bench.repository, base):
            return bench.workspaces.collect(0)

    assert asyncio.run(during()) == []
    assert bench.files() == plain(FILES)


def test_a_workspace_that_somebody_removed_is_remembered_as_such_after_tidying(bench: Bench) -> None:
    bench.begin()
    rmtree(bench.path)
    assert (bench.workspaces.collect(0), bench.workspaces.loops()) == ([], [])
    with pytest.raises(WorkspaceLost):
        asyncio.run(lost(bench))


async def lost(bench: Bench) -> None:
    async with bench.workspaces.ready(LOOP, bench.repository, bench.shas[-1], "fail"):
        pass
