"""Trees made of what changes: the same as git's own index makes, whatever is there and whatever is asked for."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.git import Edit, GitFailed, Repository
from amends.common.git.process import Call, run
from amends.common.git.trees import parsed
from tests.support.walks import examples

ZERO, NOTHING = "0" * 40, "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
USUAL = ("a", "b", "a.b", "a-", "a0", "é", "\udcff", "x\ty", "x\n", "...", ".gitignore")
ODD = ("", ".", "..", ".git", ".GiT", "git~1", "GIT~1 .", ".g\u200cit", ".git ", ".git.", ".git::$x", ".git\\x",
       ".gitx", "git~12")  # fmt: skip
MODULES = (".gitmodules", ".GITMODULES .", ".gitmodules::$x", "gitmod~1", "GI7EBA~1", ".gitm\u200codules")
MODES = st.sampled_from(("100644", "100644", "100755", "120000", "160000"))
NUMBERS = st.integers(0, 3)


def paths(*parts: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), min_size=1, max_size=3).map("/".join)


def edits(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, str, int]]]:
    return st.lists(st.tuples(strategy, MODES, NUMBERS), max_size=12)


class Place:
    """A repository with a few blobs, and an index, which is how trees were made before."""

    def __init__(self, folder: Path) -> None:
        self.repository = Repository(folder / "1.git")
        self.blobs = asyncio.run(self._begun())

    async def _begun(self) -> list[str]:
        await self.repository.ensure()
        return [await self.repository.write(b"%d\n" % number) for number in range(4)]

    def edits(self, drawn: Iterable[tuple[str, str, int]]) -> list[Edit]:
        """Those with the number zero are removals; a submodule's commits are elsewhere."""
        named = [(path, mode, f"{number}" * 40 if mode == "160000" else self.blobs[number], number)
                 for path, mode, number in drawn]  # fmt: skip
        return [Edit(path, mode, blob if number else None) for path, mode, blob, number in named]

    async def by_index(self, base: str | None, edits_: Iterable[Edit]) -> str:
        lines = [
            os.fsencode(f"{one.mode} {one.blob}\t{one.path}\0" if one.blob else f"0 {ZERO}\t{one.path}\0")
            for one in sorted(edits_, key=lambda one: one.blob is not None)
        ]
        with tempfile.TemporaryDirectory(dir=self.repository.folder) as folder:
            index = {"GIT_INDEX_FILE": f"{folder}/index"}
            calls = [Call(self.repository.folder, ("update-index", "-z", "--index-info"), b"".join(lines))]
            calls += [Call(self.repository.folder, ("write-tree",))]
            if base is not None:
                calls.insert(0, Call(self.repository.folder, ("read-tree", base)))
            return [(await run(call._replace(environment=index))).out for call in calls][-1].decode().strip()

    def both(self, base: Iterable[Edit], edits_: Iterable[Edit]) -> tuple[str, str]:
        async def made() -> tuple[str, str]:
            begin = await self.by_index(None, base)
            return await self.repository.write_tree(begin, edits_), await self.by_index(begin, edits_)

        return asyncio.run(made())

    def tree(self, *edits_: tuple[str, str, int], base: str | None = None) -> str:
        return asyncio.run(self.repository.write_tree(base, self.edits(edits_)))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("trees"))


@examples(60)
@given(edits(paths(*USUAL)), edits(paths(*USUAL)))
def test_it_is_the_tree_that_an_index_makes(
    place: Place, before: list[tuple[str, str, int]], drawn: list[tuple[str, str, int]]
) -> None:
    made, expected = place.both(place.edits(before), place.edits(drawn))
    assert made == expected


@examples(60)
@given(edits(paths("a", "b")), edits(paths("a", "b", *ODD)))
def test_what_is_gits_own_is_passed_over_as_an_index_does_it(
    place: Place, before: list[tuple[str, str, int]], drawn: list[tuple[str, str, int]]
) -> None:
    made, expected = place.both(place.edits(before), place.edits(drawn))
    assert made == expected


@pytest.mark.parametrize("name", MODULES)
def test_where_submodules_are_said_to_be_no_link_is_passed_on(place: Place, name: str) -> None:
    made, expected = place.both([], place.edits([(f"a/{name}", "120000", 1), ("b", "120000", 1)]))
    assert (made, expected) == (place.tree(("b", "120000", 1)), made)


def test_a_name_that_would_end_a_line_of_the_list_is_passed_over(place: Place) -> None:
    assert place.tree(("a\x00100644 blob b", "100644", 1)) == place.tree()


def test_nothing_at_all_is_the_empty_tree(place: Place) -> None:
    assert place.tree() == NOTHING


def test_what_nobody_changes_stays_as_strange_as_it_is(place: Place) -> None:
    """Modes of old gits, and empty folders: an index would change them on the way."""

    async def story() -> bytes:
        folder = place.repository.folder
        listed = f"100664 blob {place.blobs[1]}\told\x00040000 tree {NOTHING}\tnone\0"
        made = await run(Call(folder, ("mktree", "-z"), listed.encode()))
        edit = Edit("new", "100644", place.blobs[2])
        after = await place.repository.write_tree(made.out.decode().strip(), [edit])
        return (await run(Call(folder, ("cat-file", "tree", after)))).out

    after = {name: entry.mode for name, entry in parsed(asyncio.run(story())).items()}
    assert after == {b"new": "100644", b"none": "40000", b"old": "100664"}


@pytest.mark.parametrize("base", ["1" * 40, "refs/heads/none"])
def test_a_base_that_is_not_here_is_said(place: Place, base: str) -> None:
    with pytest.raises(GitFailed, match="bad object"):
        place.tree(base=base)


def test_a_blob_that_is_not_here_gets_into_no_tree(place: Place) -> None:
    with pytest.raises(GitFailed, match="mktree"):
        asyncio.run(place.repository.write_tree(None, [Edit("a", "100644", "1" * 40)]))
