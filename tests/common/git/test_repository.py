"""Our own bare repositories: bytes out, bytes in, and pushes that overwrite nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from amends.common.git import Author, Edit, GitFailed, Moved, Pushed, Rejected, Remote, Repository, Unknown
from amends.common.git.remotely import NoRef, Renamed
from amends.common.github.errors import Denied, Down, Missing
from tests.support.github import LINES, Scene

WE = Author("amends", "amends@example.org", datetime(2026, 1, 1, tzinfo=UTC))


async def fetched(ours: Repository, remote: Remote, number: int = 1) -> str:
    await ours.fetch(remote, [f"+refs/pull/{number}/head:refs/amends/pull/{number}"])
    head = await ours.resolve(f"refs/amends/pull/{number}")
    assert head is not None
    return head


async def committed(ours: Repository, base: str, edits: Sequence[Edit], message: str = "Fix\n") -> str:
    return await ours.commit([base], await ours.write_tree(base, edits), message, WE)


async def fixed(ours: Repository, base: str, message: str = "Fix\n") -> str:
    return await committed(ours, base, [Edit("app.py", "100644", await ours.write(b"fixed\n"))], message)


def test_a_tree_comes_over_with_its_bytes(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def look() -> tuple[set[str], bytes]:
        tree = await ours.tree(await fetched(ours, remote))
        return set(tree), await ours.read(tree["old.py"].blob)

    assert asyncio.run(look()) == ({"app.py", "old.py"}, LINES.encode())


def test_the_last_tree_is_remembered_until_the_copy_is_made_anew(
    scene: Scene, ours: Repository, remote: Remote
) -> None:
    async def look() -> tuple[bool, bool]:
        base = await fetched(ours, remote)
        tree = await ours.tree(base)
        (ours.folder / "HEAD").write_text("nonsense\n")
        again = await ours.tree(base)
        await ours.renew("HEAD was nonsense")
        with pytest.raises(GitFailed):
            await ours.tree(base)
        return again == tree, "app.py" in tree

    assert asyncio.run(look()) == (True, True)


def test_what_a_ref_names_is_asked_for_each_time(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def look() -> list[bool]:
        base = await fetched(ours, remote)
        found = []
        for sha in (base, await committed(ours, base, [Edit("b", "100644", await ours.write(b"b"))])):
            await ours.name("refs/amends/x", sha)
            found.append("b" in await ours.tree("refs/amends/x"))
        return found

    assert asyncio.run(look()) == [False, True]


def test_a_commit_is_the_same_whenever_it_is_made(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def twice() -> set[str]:
        base = await fetched(ours, remote)
        return {await fixed(ours, base), await fixed(ours, base)}

    assert len(asyncio.run(twice())) == 1


def test_a_commit_changes_what_it_says_and_nothing_else(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def differences() -> dict[str, str]:
        base = await fetched(ours, remote)
        edits = [Edit("old.py", "100644", None), Edit("new/x.sh", "100755", await ours.write(b"\xff\r\n"))]
        changed = await ours.changed(base, await committed(ours, base, edits))
        return {path: after.mode if after else "gone" for path, (_, after) in changed.items()}

    assert asyncio.run(differences()) == {"old.py": "gone", "new/x.sh": "100755"}


def test_a_directory_may_take_the_place_of_a_file(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def differences() -> set[str]:
        base = await fetched(ours, remote)
        edits = [Edit("app.py/x", "100644", await ours.write(b"x")), Edit("app.py", "100644", None)]
        return set(await ours.changed(base, await committed(ours, base, edits)))

    assert asyncio.run(differences()) == {"app.py", "app.py/x"}


def test_a_push_moves_the_branch_and_again_changes_nothing(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def push() -> tuple[str, list[object]]:
        base = await fetched(ours, remote)
        sha = await fixed(ours, base)
        return sha, [await ours.push(remote, "feature", sha, base) for _ in range(2)]

    sha, outcomes = asyncio.run(push())
    assert (scene.pull.head, outcomes) == (sha, [Pushed(), Pushed()])


@pytest.mark.parametrize("how", ["forward", "back", "deleted"])
def test_inv_42_a_branch_that_moved_is_left_alone(scene: Scene, ours: Repository, remote: Remote, how: str) -> None:
    async def push() -> object:
        base = await fetched(ours, remote)
        sha = await fixed(ours, base)
        if how == "forward":
            scene.pull.push({"b.py": "b\n"}, by="bob")
        elif how == "back":
            scene.repo.point("feature", scene.repo.branches["main"], by="bob")
        else:
            scene.repo.delete_branch("feature")
        before.update(scene.repo.branches)
        return await ours.push(remote, "feature", sha, base)

    before: dict[str, str] = {}
    assert isinstance(asyncio.run(push()), Moved)
    assert scene.repo.branches == before


def test_inv_42_what_does_not_come_after_the_base_is_not_pushed(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def push() -> object:
        base = await fetched(ours, remote)
        return await ours.push(remote, "feature", await ours.commit([], f"{base}^{{tree}}", "x\n", WE), base)

    assert isinstance(asyncio.run(push()), Rejected)


def test_a_commit_comes_after_its_parents_and_those_before_them_and_nothing_else(
    scene: Scene, ours: Repository, remote: Remote
) -> None:
    async def look() -> list[bool]:
        base = await fetched(ours, remote)
        first = await fixed(ours, base)
        other = await ours.commit([], f"{base}^{{tree}}", "x\n", WE)
        last = await committed(ours, first, [Edit("b", "100644", await ours.write(b"b"))])
        return [await ours.is_ancestor(old, last) for old in (first, base, last, other)]

    assert asyncio.run(look()) == [True, True, True, False]


def test_a_protected_branch_says_why(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def push() -> object:
        base = await fetched(ours, remote)
        await ours.fetch(remote, ["+refs/heads/main:refs/amends/main"])
        main = await ours.resolve("refs/amends/main") or ""
        del base
        return await ours.push(remote, "main", await fixed(ours, main), main)

    scene.repo.protect(approvals=1)
    outcome = asyncio.run(push())
    assert isinstance(outcome, Rejected)
    assert "GH006" in outcome.detail


def test_an_answer_that_is_lost_is_not_taken_for_a_no(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def push() -> tuple[object, str | None]:
        base = await fetched(ours, remote)
        sha = await fixed(ours, base)
        scene.double.faults.next("POST", "git-receive-pack", status=502, stored=True)
        return await ours.push(remote, "feature", sha, base), (await ours.heads(remote, "feature")).get("feature")

    outcome, head = asyncio.run(push())
    assert (type(outcome), head) == (Unknown, scene.pull.head)


def test_a_key_is_found_in_what_came_after_the_base_only(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def look() -> tuple[str, str | None, str | None, str | None]:
        base = await fetched(ours, remote)
        sha = await fixed(ours, base, "Fix\n\nAmends-Key: 1-pr-1/cycle/1\n")
        later = await committed(ours, sha, [Edit("b", "100644", await ours.write(b"b"))])
        key = "1-pr-1/cycle/1"
        return (
            sha,
            await ours.find_trailer(base, later, key),
            await ours.find_trailer(sha, later, key),
            await ours.find_trailer(base, later, "1-pr-1/cycle/10"),
        )

    sha, found, after, other = asyncio.run(look())
    assert (found, after, other) == (sha, None, None)


@pytest.mark.parametrize(
    ("token", "url", "refs", "wrong"),
    [
        ("wrong", "", "main", Denied),
        (None, "/nothing.git", "main", Missing),
        (None, "", "nowhere", NoRef),
    ],
)
def test_what_a_remote_says_is_told_apart(  # noqa: PLR0913, PLR0917 - the table's columns
    scene: Scene, ours: Repository, remote: Remote, token: str | None, url: str, refs: str, wrong: type[Exception]
) -> None:
    where = remote.url.replace("/widget.git", url) if url else remote.url
    asked = Remote(where, remote.token if token is None else token)
    with pytest.raises(wrong):
        asyncio.run(ours.fetch(asked, [f"+refs/heads/{refs}:refs/amends/x"]))


def test_a_github_that_is_away_is_asked_later(ours: Repository) -> None:
    with pytest.raises(Down):
        asyncio.run(ours.fetch(Remote("http://127.0.0.1:9/acme/widget.git", "t"), ["+refs/heads/main:refs/amends/x"]))


def test_nothing_is_asked_for_twice(scene: Scene, ours: Repository, remote: Remote) -> None:
    asyncio.run(fetched(ours, remote))
    assert [(one.method, one.status) for one in scene.double.requests.find(path=".git/")] == [
        ("GET", 200),  # who asks is said at once, and not only when it is refused
        ("POST", 200),  # which refs there are
        ("POST", 200),
    ]


def test_git_follows_nobody(scene: Scene, ours: Repository, remote: Remote) -> None:
    scene.repo.rename("gadget")
    with pytest.raises(Renamed, match=r"is `github\.git_url` where the repositories are"):
        asyncio.run(fetched(ours, remote))
    assert [one.status for one in scene.double.requests.find(path=".git/")] == [301]


def test_conflicts_are_found_without_a_work_tree(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def look() -> Sequence[str]:
        base = await fetched(ours, remote)
        other = [Edit("app.py", "100644", await ours.write(b"other\n"))]
        return await ours.conflicts(await fixed(ours, base), await committed(ours, base, other))

    assert list(asyncio.run(look())) == ["app.py"]


def test_what_is_ignored_is_said_by_the_commit(scene: Scene, ours: Repository, remote: Remote) -> None:
    scene.pull.push({".gitignore": "*.pyc\n/build/\n", "sub/.gitignore": "local\n"})

    async def look() -> set[str]:
        base = await fetched(ours, remote)
        return await ours.ignored(base, ["a.pyc", "build/x/y", "sub/local", "local", "sub/build", ":odd", "-x"])

    assert asyncio.run(look()) == {"a.pyc", "build/x/y", "sub/local"}


def test_six_fetches_at_once_are_one_after_the_other(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def all_at_once() -> set[str]:
        return set(await asyncio.gather(*(fetched(ours, remote) for _ in range(6))))

    assert asyncio.run(all_at_once()) == {scene.pull.head}


def test_rel_22_a_broken_copy_is_made_anew(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def again() -> str:
        await fetched(ours, remote)
        (ours.folder / "HEAD").write_text("nonsense\n")
        await ours.renew("HEAD was nonsense")
        return await fetched(ours, remote)

    assert asyncio.run(again()) == scene.pull.head
    assert (ours.folder.with_suffix(".broken1") / "why.txt").exists()


def test_what_was_set_aside_outlives_every_break(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def thrice() -> None:
        await ours.aside("1-pr-1", await fetched(ours, remote))
        for _ in range(3):
            await ours.renew("once more")

    asyncio.run(thrice())
    assert (ours.folder.with_suffix(".broken1") / "refs/amends/aside/1-pr-1/1").exists()
    assert sorted(path.name for path in ours.folder.parent.glob("*.broken*")) == [
        f"{scene.repo.id}.broken{number}" for number in (1, 2)
    ]


def test_what_is_set_aside_is_never_overwritten(scene: Scene, ours: Repository, remote: Remote) -> None:
    async def aside() -> list[str]:
        base = await fetched(ours, remote)
        other = await fixed(ours, base)
        return [await ours.aside("1-pr-1", sha) for sha in (base, other, base)]

    assert asyncio.run(aside()) == [f"refs/amends/aside/1-pr-1/{number}" for number in (1, 2, 1)]
