"""From a prepared fix to one commit on the branch, whatever happens to the branch, the process or GitHub meanwhile."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from amends.common.answers import Report
from amends.common.events import (
    Author,
    CommandGiven,
    CommandName,
    CycleFinished,
    Escalated,
    Failure,
    FixPushed,
    FixRequested,
    PushRefused,
    PushRequested,
)
from amends.common.github.auth import PUBLISHING
from amends.common.github.client import Client
from amends.common.identity import About
from amends.evaluator.batch import Said
from tests.support.book import Book
from tests.support.command import called
from tests.support.github import LINES, Scene
from tests.support.publishing import WHAT, Crew, crew_of, publishing, token_of

Story = Callable[[Crew], Awaitable[object]]


def tell(book: Book, scene: Scene, folder: Path, story: Story) -> Crew:
    async def all_of_it() -> Crew:
        async with publishing(book, scene, folder) as crew:
            await story(crew)
            return crew

    return asyncio.run(all_of_it())


def refused(book: Book, scene: Scene, folder: Path, story: Story) -> PushRefused:
    crew = tell(book, scene, folder, story)
    assert (crew.count(FixPushed), crew.keys) == (0, [])
    said = [fact for fact in crew.recorder.said if isinstance(fact, PushRefused)]
    assert len(said) == 1
    return said[0]


async def pushed(crew: Crew) -> None:
    await crew.fix({"app.py": WHAT})
    await crew.publish()


def test_a_fix_is_one_commit_with_exactly_its_changes(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    base = scene.pull.head
    crew = tell(sqlite_book, scene, tmp_path, pushed)
    commit = scene.repo.log("feature")[0]
    assert (scene.pull.head, commit.parents) == (crew.last(FixPushed).sha, (base,))
    assert (scene.repo.read("app.py", "feature"), scene.repo.read("old.py", "feature")) == (WHAT, LINES.encode())
    assert (crew.keys, crew.last(CycleFinished).outcome) == ([f"{crew.loop}/cycle/1"], "pushed")


def test_a_branchs_name_may_hold_what_an_address_may_not(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    changed = {"app.py": LINES.replace("line 10\n", "line ten\n")}
    odd = replace(scene, pull=scene.repo.pull("fix/#12_100%25", by="alice", files=changed))
    crew = tell(sqlite_book, odd, tmp_path, pushed)
    assert odd.pull.head == crew.last(FixPushed).sha


def test_the_message_names_the_review_and_whom_to_thank(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def thankful(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT}, credits=(Author(id=7, login="bob"), Author(id=8, login="x>\nEvil: yes")))
        await crew.publish()

    crew = tell(sqlite_book, scene, tmp_path, thankful)
    message, review = scene.repo.log("feature")[0].message, scene.pull.reviews[0].id
    assert f"/acme/widget/pull/{scene.pull.number}#pullrequestreview-{review}" in message
    assert "Co-authored-by: bob <7+bob@users.noreply.127.0.0.1>" in message
    assert ("Evil" in message, crew.last(PushRequested).reviews) == (False, (review,))


def test_new_deleted_and_executable_files_arrive_as_they_are(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"new/run.sh*": b"#!/bin/sh\n\xff\r\n", "old.py": None, "app.py": WHAT})
        await crew.publish()

    tell(sqlite_book, scene, tmp_path, story)
    assert scene.repo.read("new/run.sh", "feature") == b"#!/bin/sh\n\xff\r\n"
    assert scene.repo.read("old.py", "feature") is None


def moved(crew: Crew) -> None:
    crew.scene.pull.push({"b.py": "b\n"}, by="alice")


def rewound(crew: Crew) -> None:
    crew.scene.repo.point("feature", crew.scene.repo.log("feature")[1].sha, by="alice")


def rewritten(crew: Crew) -> None:
    crew.scene.repo.commit("feature", {"app.py": "else\n"}, by="alice", onto=crew.scene.repo.branches["main"])


@pytest.mark.parametrize("how", [moved, rewound, rewritten])
def test_rel_20_a_branch_that_moved_is_left_alone(
    sqlite_book: Book, scene: Scene, tmp_path: Path, how: Callable[[Crew], None]
) -> None:
    async def story(crew: Crew) -> None:
        scene.pull.push({"a.py": "a\n"}, by="alice")
        await crew.fix({"app.py": WHAT})
        how(crew)
        heads.append(scene.repo.branches["feature"])
        await crew.publish()

    heads: list[str] = []
    assert refused(sqlite_book, scene, tmp_path, story).reason is Failure.MOVED
    assert scene.repo.branches["feature"] == heads[0]


@pytest.mark.parametrize("how", [moved, rewound, rewritten])
def test_inv_42_a_branch_that_moves_right_before_the_push_is_left_alone(
    sqlite_book: Book, scene: Scene, tmp_path: Path, how: Callable[[Crew], None]
) -> None:
    async def story(crew: Crew) -> None:
        scene.pull.push({"a.py": "a\n"}, by="alice")
        await crew.fix({"app.py": WHAT})
        scene.double.before_request = lambda asked: act(crew) if "git-receive-pack" in asked.path and not heads else 0
        await crew.publish()

    def act(crew: Crew) -> bool:
        heads.append("")
        how(crew)
        heads[0] = scene.repo.branches["feature"]
        return True

    heads: list[str] = []
    assert refused(sqlite_book, scene, tmp_path, story).reason is Failure.MOVED
    assert scene.repo.branches["feature"] == heads[0]


def test_rel_21_a_branch_that_is_gone_is_not_made_again(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT})
        scene.double.before_request = lambda asked: act() if "/branches/feature" in asked.path else 0
        await crew.publish()

    def act() -> bool:
        if "feature" in scene.repo.branches:
            scene.repo.delete_branch("feature")
        return True

    assert refused(sqlite_book, scene, tmp_path, story).reason is Failure.BRANCH_GONE
    assert "feature" not in scene.repo.branches


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (lambda scene: scene.pull.close(), Failure.CLOSED),
        (lambda scene: scene.pull.merge(), Failure.CLOSED),
        (lambda scene: scene.pull.draft(), Failure.DRAFT),
        (lambda scene: scene.pull.label("amends: off"), Failure.CANCELLED),
        (lambda scene: scene.repo.protect(branch="feature", approvals=1), Failure.POLICY),
        (lambda scene: scene.installation.suspend(), Failure.ACCESS_LOST),
        (lambda scene: scene.repo.delete(), Failure.ACCESS_LOST),
    ],
    ids=["closed", "merged", "draft", "opted_out", "protected", "suspended", "deleted"],
)
def test_rel_19_the_live_pull_request_decides(
    sqlite_book: Book, scene: Scene, tmp_path: Path, act: Callable[[Scene], object], reason: Failure
) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT})
        act(scene)
        after.update(scene.repo.branches)
        await crew.publish()

    after: dict[str, str] = {}
    assert refused(sqlite_book, scene, tmp_path, story).reason is reason
    assert scene.repo.branches == after


def test_inv_43_a_fork_is_never_pushed_to(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT})
        fork = scene.repo.fork("stranger")
        scene.pull.of.head_repo = fork.of
        heads.update(fork.branches)
        await crew.publish()
        assert fork.branches == heads

    heads: dict[str, str] = {}
    assert refused(sqlite_book, scene, tmp_path, story).reason is Failure.FORK


def as_fork(scene: Scene) -> None:
    scene.pull.of.head_repo = scene.repo.fork("stranger").of


def as_protected(scene: Scene) -> None:
    scene.repo.protect(branch="feature", approvals=1)


@pytest.mark.parametrize(("act", "reason"), [(as_fork, "fork"), (as_protected, "policy")])
def test_a_fix_for_a_branch_that_is_not_ours_is_handed_over_as_a_patch_that_applies(
    sqlite_book: Book, scene: Scene, tmp_path: Path, act: Callable[[Scene], None], reason: str
) -> None:
    files = {"app.py": WHAT, "old.py": None, "new/run.sh*": b"#!/bin/sh\r\n\xff\x00", "no end": b"no newline `````"}

    async def story(crew: Crew) -> None:
        await crew.fix(files)
        act(scene)
        await crew.publish()

    crew = tell(sqlite_book, scene, tmp_path, story)
    escalated = crew.last(Escalated)
    assert (escalated.reason, escalated.patch, crew.last(CycleFinished).outcome) == (
        reason, crew.last(PushRefused).patch, "failed",
    )  # fmt: skip
    printed = called("loops", "patch", crew.loop, "--database", crew.book.url).stdout_bytes
    assert applied(scene, tmp_path, printed) == {path.rstrip("*"): content for path, content in files.items()}


def git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    """As people run it."""
    home = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    return subprocess.run(["git", *arguments], cwd=folder, env=home, input=data, check=True, capture_output=True).stdout


def applied(scene: Scene, folder: Path, patch: bytes) -> dict[str, bytes | None]:
    """The files that differ from the head after `git apply` on it, in an ordinary clone."""
    clone = folder / "clone"
    git(folder, "clone", "-q", "-b", "feature", str(scene.repo.of.folder), "clone")
    git(clone, "apply", "-", data=patch)
    said = git(clone, "status", "--porcelain", "-z", "--untracked-files=all")
    paths = [line[3:].decode() for line in said.split(b"\0") if line]
    assert os.access(clone / "new/run.sh", os.X_OK)
    return {path: (clone / path).read_bytes() if (clone / path).exists() else None for path in paths}


def test_a_fix_that_the_gate_refuses_is_no_patch_either(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": b"token = 'ghp_0123456789abcdefghijABCDEFGHIJ456789'\n"})
        as_fork(scene)
        await crew.publish()

    assert refused(sqlite_book, scene, tmp_path, story).patch is None


def test_who_may_not_write_is_told_so(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> Crew:
        async with publishing(sqlite_book, scene, tmp_path, token_of(scene, "rita")) as crew:
            await pushed(crew)
            return crew

    crew = asyncio.run(story())
    assert (crew.last(PushRefused).reason, crew.keys) == (Failure.ACCESS_LOST, [])


def test_the_same_change_by_a_human_is_as_good(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT})
        scene.pull.push({"app.py": WHAT, "more.py": "x\n"}, by="alice")
        await crew.publish()

    crew = tell(sqlite_book, scene, tmp_path, story)
    assert (crew.last(FixPushed).sha, crew.last(FixPushed).adopted, crew.keys) == (scene.pull.head, True, [])


def test_a_key_that_somebody_copied_is_not_taken_for_the_fix(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT})
        scene.pull.push({"b.py": "b\n"}, by="alice", message=f"Mine\n\nAmends-Key: {crew.loop}/cycle/1")
        await crew.publish()

    crew = tell(sqlite_book, scene, tmp_path, story)
    assert (crew.last(PushRefused).reason, crew.count(FixPushed)) == (Failure.MOVED, 0)


def test_rel_22_a_copy_that_is_broken_is_made_anew(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT})
        folder = tmp_path / "publisher" / f"{scene.repo.id}.git"
        folder.mkdir(parents=True)
        (folder / "HEAD").write_text("nonsense")
        await crew.publish()

    crew = tell(sqlite_book, scene, tmp_path, story)
    assert crew.last(FixPushed).sha == scene.pull.head


def test_a_token_that_was_revoked_is_replaced(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story(crew: Crew) -> None:
        await crew.fix({"app.py": WHAT})
        reach = await crew.answers.publisher.client.repository(scene.repo.id)
        scene.double.revoke(await reach.token((("contents", "write"), ("metadata", "read"))))
        await crew.publish()

    assert tell(sqlite_book, scene, tmp_path, story).last(FixPushed).sha == scene.pull.head


# --- crashes -------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """As a process that is killed: nothing is caught, nothing is said."""


class Fuse:
    """Ends everything before or after the n-th call of a port."""

    def __init__(self, nth: int, *, after: bool) -> None:
        self.left = nth
        self.after = after
        self.calls = 0

    def on(self, thing: object, *names: str) -> None:
        for name in names:
            setattr(thing, name, self._mortal(getattr(thing, name)))

    def _mortal(self, act: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
        async def acting(*args: object, **kwargs: object) -> object:
            self.calls += 1
            self.left -= 1
            if self.left == 0 and not self.after:
                raise Killed
            answer = await act(*args, **kwargs)
            if self.left == 0:
                raise Killed
            return answer

        return acting


PORTS = ("ensure", "fetch", "heads", "resolve", "write", "write_tree", "commit", "name", "push", "find_trailer")


async def lit(crew: Crew, fuse: Fuse) -> None:
    """Publish until the fuse burns down; then again, by a process that knows nothing of the first."""
    publisher = crew.answers.publisher
    repository = publisher.repositories.of(crew.scene.repo.id)
    fuse.on(repository, *PORTS)
    fuse.on(crew.recorder, "report", "may", "get")
    setattr(publisher.repositories, "of", lambda _: repository)  # noqa: B010 - the one with the fuse
    await crew.publish()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("nth", range(1, 18))
def test_rel_04_killed_anywhere_there_is_one_commit_and_the_same_end(
    sqlite_book: Book, scene: Scene, tmp_path: Path, nth: int, after: bool
) -> None:
    async def story() -> tuple[Crew, Fuse]:
        fuse = Fuse(nth, after=after)
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await crew.fix({"app.py": WHAT})
            try:
                await lit(crew, fuse)
            except Killed:
                async with Client(scene.app_settings, PUBLISHING) as client:
                    await crew_of(crew.desk, client, tmp_path / "publisher").publish()
            return crew, fuse

    crew, fuse = asyncio.run(story())
    assert (len(crew.keys), crew.count(FixPushed), crew.count(CycleFinished)) == (1, 1, 1)
    assert (crew.last(FixPushed).sha, crew.owed(PushRequested)) == (scene.pull.head, [])
    assert fuse.calls >= min(nth, 16)  # a push has sixteen calls: it ended in each of them, and once not at all


def ordered(crew: Crew, word: CommandName) -> None:
    """Somebody at the machine says so."""
    said = CommandGiven(id=f"{word}-{len(crew.book.rows())}", name=word, author=Author(id=0, login="op", kind="token"))
    crew.book.record(Said("cli", Report(fact=said, about=About(loop=crew.loop))))


async def landed_and_lost(crew: Crew) -> None:
    """The push lands, and the publisher dies before it says so."""
    fuse = Fuse(1, after=True)
    publisher = crew.answers.publisher
    repository = publisher.repositories.of(crew.scene.repo.id)
    fuse.on(repository, "push")
    setattr(publisher.repositories, "of", lambda _: repository)  # noqa: B010 - the one with the fuse
    await crew.fix({"app.py": WHAT})
    with pytest.raises(Killed):
        await crew.publish()


@pytest.mark.parametrize("words", [("pause", "resume"), ("pause", "reset", "resume"), ("stop", "reset")])
def test_rel_04_a_push_that_landed_unheard_is_adopted_whatever_a_human_said_meanwhile(
    sqlite_book: Book, scene: Scene, tmp_path: Path, words: tuple[CommandName, ...]
) -> None:
    async def story() -> Crew:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await landed_and_lost(crew)
            event = next(one for one in reversed(crew.book.events()) if isinstance(one.fact, PushRequested))
            ordered(crew, words[0])
            async with Client(scene.app_settings, PUBLISHING) as client:
                later = crew_of(crew.desk, client, tmp_path / "publisher")
                await later.answer(event)  # NATS gives it to the next publisher
                for word in words[1:]:
                    ordered(crew, word)
                await later.publish()
            return crew

    crew = asyncio.run(story())
    assert (crew.count(FixPushed), crew.keys, crew.count(PushRefused)) == (1, [f"{crew.loop}/cycle/1"], 0)
    assert crew.last(FixPushed).sha == scene.pull.head
    assert [
        event.fact for event in crew.book.events() if isinstance(event.fact, FixRequested) and event.fact.k > 1
    ] == []


def test_rel_04_a_push_that_landed_unheard_is_told_even_if_the_pull_request_is_merged(
    sqlite_book: Book, scene: Scene, tmp_path: Path
) -> None:
    async def story(crew: Crew) -> None:
        await landed_and_lost(crew)
        scene.pull.merge()
        async with Client(scene.app_settings, PUBLISHING) as client:
            await crew_of(crew.desk, client, tmp_path / "publisher").publish()

    crew = tell(sqlite_book, scene, tmp_path, story)
    assert (crew.count(FixPushed), crew.count(PushRefused)) == (1, 0)
