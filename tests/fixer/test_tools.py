"""The agent's tools on files as they are found in repositories, inside a real sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from amends.fixer.tools import Result, Toolbox
from tests.support.asynchronous import asynchronous
from tests.support.sandbox import sandbox


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


async def used(workspace: Path, name: str, **given: Any) -> Result:
    return await Toolbox(sandbox(), workspace).use(name, {"path": "a.txt", **given}, 30.0)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"one\r\ntwo\nthree\r\n", "two\n", "2\n", b"one\r\n2\nthree\r\n"),
        (b"one\r\ntwo\nthree\r\n", "one\n", "1\n1\n", b"1\r\n1\r\ntwo\nthree\r\n"),
        (b"one\r\ntwo\r\nthree", "one\ntwo\n", "1\n2\n2\n", b"1\r\n2\r\n2\r\nthree"),
        (b"one\r\ntwo\r\n", "two", "2\n3", b"one\r\n2\r\n3\r\n"),
        (b"one\ntwo", "two", "2\r\n3", b"one\n2\r\n3"),
        (b"one\r\ntwo\r\n", "one\r\ntwo\r\n", "1\r\n", b"1\r\n"),
        (b"caf\xe9\nx\n", "x", "y", b"caf\xe9\ny\n"),
    ],
)
@asynchronous
async def test_an_edit_keeps_the_ends_of_lines_and_every_byte_beside_it(
    workspace: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    (workspace / "a.txt").write_bytes(before)
    assert await used(workspace, "edit", old=old, new=new) == Result("edited")
    assert (workspace / "a.txt").read_bytes() == after


@pytest.mark.parametrize(
    ("before", "after"), [(b"a\r\nb\r\n", b"x\r\ny\r\n"), (b"a\n", b"x\ny\n"), (b"a\r\nb\n", b"x\ny\n")]
)
@asynchronous
async def test_a_file_that_is_written_anew_keeps_the_ends_of_its_lines(
    workspace: Path, before: bytes, after: bytes
) -> None:
    (workspace / "a.txt").write_bytes(before)
    assert await used(workspace, "create", content="x\ny\n") == Result("written")
    assert (workspace / "a.txt").read_bytes() == after


@asynchronous
async def test_of_a_line_of_any_length_the_beginning_is_shown(workspace: Path) -> None:
    (workspace / "a.txt").write_bytes(b"a\n" + b"x" * 1_500_000 + b"\nb\n")
    said = await used(workspace, "view", start=None, end=None)
    assert (said.wrong, said.text.startswith("     1  a\n     2  xxx"), "     3  b\n" in said.text) == (
        False,
        True,
        True,
    )
    assert "1499000 more characters]" in said.text
    assert len(said.text) < 2_000


@pytest.mark.parametrize("letter", ["x", "ß", "\U0001f600", "\x01"])
@asynchronous
async def test_of_many_long_lines_as_many_are_shown_as_have_room_and_the_rest_is_named(
    workspace: Path, letter: str
) -> None:
    (workspace / "a.txt").write_text(f"{letter * 900}\n" * 390, encoding="utf-8")
    said = await used(workspace, "view", start=2, end=None)
    assert (said.wrong, said.text.splitlines()[-1].endswith("to 391 are not shown]")) == (False, True)
    assert 20_000 < len(said.text) <= 30_100
    found = await used(workspace, "search", pattern=letter, path=None, files=None)
    assert (found.wrong, found.text.endswith("[there are more: search for less]")) == (False, True)


@asynchronous
async def test_names_that_are_no_text_are_listed(workspace: Path) -> None:
    Path(f"{workspace}/\udcff.txt").write_text("x\n")
    said = await used(workspace, "list", path=None)
    assert said == Result("\udcff.txt")
