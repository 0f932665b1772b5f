"""Copies of repositories within their bounds: packed, let go of, and never under somebody's hands."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from amends.common.git import Author, Edit, Repositories, Repository
from amends.common.git.repositories import size_of
from amends.common.git.tidying import Shelf, Tidying

LONG_AGO, NOW = datetime(2020, 1, 1, tzinfo=UTC), datetime.now(UTC)


async def committed(repository: Repository, ref: str, when: datetime, content: bytes = b"x") -> str:
    await repository.ensure()
    blob = await repository.write(content + ref.encode())
    tree = await repository.write_tree(None, [Edit("a", "100644", blob)])
    sha = await repository.commit([], tree, "x\n", Author("a", "a@example.org", when))
    await repository.name(ref, sha)
    return sha


@pytest.fixture
def copies(tmp_path: Path) -> Repositories:
    return Repositories(tmp_path)


def told(repository: Repository, act: Callable[[], Awaitable[object]]) -> set[str]:
    """Which refs are there after that."""

    async def both() -> set[str]:
        names = ("refs/amends/pull/1/a", "refs/amends/pull/2/a", "refs/amends/heads/3")
        for name, when in zip(names, (LONG_AGO, LONG_AGO, NOW), strict=True):
            await committed(repository, name, when)
        await repository.aside("7-pr-9", await committed(repository, "refs/amends/made/4", LONG_AGO))
        await act()
        every = (*names, "refs/amends/made/4", "refs/amends/aside/7-pr-9/1")
        return {name for name in every if await repository.resolve(name)}

    return asyncio.run(both())


def test_what_nobody_touched_for_a_month_is_let_go_but_for_what_is_kept(copies: Repositories) -> None:
    repository = copies.of(7)
    left = told(repository, lambda: repository.tidy(["refs/amends/pull/1/"]))
    assert left == {"refs/amends/pull/1/a", "refs/amends/heads/3", "refs/amends/aside/7-pr-9/1"}


def test_tidying_packs_and_is_not_done_twice_for_nothing(copies: Repositories) -> None:
    async def story() -> list[bool]:
        await committed(copies.of(7), "refs/amends/heads/1", NOW)
        done = [await copies.of(7).tidy(), await copies.of(7).tidy()]
        os.utime(copies.of(7).folder.with_suffix(".use"), (4_000_000_000, 4_000_000_000))
        return [*done, await copies.of(7).tidy()]

    assert asyncio.run(story()) == [True, False, True]
    assert list((copies.of(7).folder / "objects/pack").glob("*.pack"))


def test_what_somebody_uses_is_neither_tidied_nor_removed(copies: Repositories) -> None:
    async def story() -> tuple[bool, list[int]]:
        await committed(copies.of(7), "refs/amends/heads/1", NOW)
        async with copies.of(7).used():
            return await Repositories(copies.of(7).folder.parent).of(7).tidy(), await copies.collect(0)

    assert asyncio.run(story()) == (False, [])


def test_who_comes_while_it_is_tidied_waits_and_finds_it_whole(copies: Repositories) -> None:
    async def story() -> bool:
        sha = await committed(copies.of(7), "refs/amends/heads/1", NOW)
        tidying = asyncio.create_task(copies.of(7).tidy())
        async with copies.of(7).used():
            return await copies.of(7).has(sha) and (tidying.done() or not await tidying)

    assert asyncio.run(story())


def test_the_copy_that_was_used_longest_ago_goes_first_and_what_is_aside_stays(copies: Repositories) -> None:
    async def story() -> list[int]:
        for repo in (1, 2, 3):
            sha = await committed(copies.of(repo), "refs/amends/heads/1", NOW, os.urandom(100_000))
            async with copies.of(repo).used():
                pass
            os.utime(copies.of(repo).folder.with_suffix(".use"), (repo, repo))
            if repo == 1:
                await copies.of(repo).aside("1-pr-1", sha)
        return await copies.collect(size_of(copies.of(1).folder) + size_of(copies.of(3).folder) + 1_000)

    assert asyncio.run(story()) == [2]
    assert (copies.of(1).folder.exists(), copies.of(3).folder.exists()) == (True, True)


def test_a_copy_that_is_broken_does_not_keep_the_others_from_being_tidied(copies: Repositories) -> None:
    async def story() -> None:
        for repo in (1, 2):
            await committed(copies.of(repo), "refs/amends/heads/1", NOW)
        (copies.of(1).folder / "HEAD").write_text("nonsense")
        await Tidying("publisher", copies, (), 60).once()

    asyncio.run(story())
    assert list((copies.of(2).folder / "objects/pack").glob("*.pack"))


def test_a_round_removes_what_is_too_much(copies: Repositories) -> None:
    async def story() -> None:
        await committed(copies.of(7), "refs/amends/heads/1", NOW)
        await committed(copies.of(8), "refs/amends/heads/1", NOW)
        shelf = Shelf("repositories", 1, copies.size, copies.collect)
        await Tidying("publisher", copies, (shelf,), 60).once()

    asyncio.run(story())
    assert copies.all() == {}
