"""A fixer that lies: what is pushed is what the gate looked at, or nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from amends.common.events import Change, Failure, FixPushed, PushRefused
from tests.support.book import Book
from tests.support.github import LINES, Scene
from tests.support.publishing import WHAT, Files, publishing


def said(book: Book, scene: Scene, folder: Path, files: Files, **more: object) -> PushRefused:
    """What becomes of a fix that is prepared like this; nothing is pushed."""

    async def story() -> PushRefused:
        async with publishing(book, scene, folder, secrets=("hunter2hunter2",)) as crew:
            before = dict(scene.repo.branches)
            await crew.fix(files, **more)
            await crew.publish()
            assert (scene.repo.branches, crew.count(FixPushed)) == (before, 0)
            return crew.last(PushRefused)

    return asyncio.run(story())


@pytest.mark.parametrize(
    "path",
    [".GitHub/Workflows/ci.yml", "sub/.gitmodules", "package.json", ".git/config", "../outside", "/etc/passwd", "-x"],
)
def test_inv_27_no_fix_touches_this(sqlite_book: Book, scene: Scene, tmp_path: Path, path: str) -> None:
    refused = said(sqlite_book, scene, tmp_path, {path: b"x\n", "app.py": WHAT})
    assert refused.reason is Failure.POLICY
    assert path[:20] in refused.detail


def test_inv_27_a_protected_file_is_not_deleted_either(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    scene.pull.push({"CODEOWNERS": "* @alice\n"}, by="alice")
    assert said(sqlite_book, scene, tmp_path, {"CODEOWNERS": None}).reason is Failure.POLICY


@pytest.mark.parametrize("mode", ["120000", "160000"])
def test_inv_25_links_and_submodules_are_not_made(sqlite_book: Book, scene: Scene, tmp_path: Path, mode: str) -> None:
    blob = sqlite_book.writer.put_blob(b"../../etc/passwd")
    change = Change.model_validate({"path": "link", "mode": mode, "blob": blob})
    assert said(sqlite_book, scene, tmp_path, {"app.py": WHAT}, changes=(change,)).reason is Failure.POLICY


def test_inv_28_no_secret_is_published(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    assert "secret" in said(sqlite_book, scene, tmp_path, {"x.py": b"key = 'hunter2hunter2'\n"}).detail


def test_inv_28_what_looks_like_a_secret_is_none_the_less(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    assert "secret" in said(sqlite_book, scene, tmp_path, {"x.py": b"t = 'ghp_" + b"a1" * 18 + b"'\n"}).detail


def test_inv_28_a_change_has_an_end(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    many = {f"f{n}.py": b"x\n" for n in range(51)}
    assert "51 files" in said(sqlite_book, scene, tmp_path, many).detail


def test_a_weaker_test_is_refused(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    scene.pull.push({"tests/test_a.py": "def test_a():\n    assert 1 + 1 == 2\n"}, by="alice")
    weaker = {"tests/test_a.py": b"def test_a():\n    pass\n"}
    assert "fewer assertions" in said(sqlite_book, scene, tmp_path, weaker).detail


def test_what_belongs_to_no_item_is_refused(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> PushRefused:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            fetched = await crew.asked()
            changes, _ = crew.changed({"app.py": WHAT.replace(b"line 2\n", b"LINE 2\n")})
            crew.prepare(fetched, {"app.py": WHAT}, changes=changes)
            await crew.publish()
            return crew.last(PushRefused)

    refused = asyncio.run(story())
    assert (refused.reason, "lines 2 to 2 belong to no item" in refused.detail) == (Failure.POLICY, True)


def test_a_path_that_the_policy_protects_is_refused(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    from tests.support.fetching import RULES  # noqa: PLC0415

    async def story() -> PushRefused:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            crew.desk.rules(RULES.model_copy(update={"protected_paths": ("app.*",)}))
            await crew.fix({"app.py": WHAT})
            await crew.publish()
            return crew.last(PushRefused)

    assert "the policy protects it (app.*)" in asyncio.run(story()).detail


def test_a_change_of_something_else_than_was_seen_is_refused(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    blob = sqlite_book.writer.put_blob(WHAT)
    change = Change.model_validate({"path": "app.py", "blob": blob, "before": "0" * 64})
    assert said(sqlite_book, scene, tmp_path, {"app.py": WHAT}, changes=(change,)).reason is Failure.MALFORMED


def test_a_new_file_where_one_is_already_is_refused(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    change = Change.model_validate({"path": "app.py", "blob": sqlite_book.writer.put_blob(WHAT)})
    assert said(sqlite_book, scene, tmp_path, {"app.py": WHAT}, changes=(change,)).reason is Failure.MALFORMED


def test_a_change_that_changes_nothing_is_not_pushed(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    assert said(sqlite_book, scene, tmp_path, {"old.py": LINES.encode()}).reason is Failure.NO_CHANGE
