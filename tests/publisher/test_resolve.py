"""After a push: threads are resolved whose items are fixed, while the fix is in the live head."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from amends.common.events import Judgement, ResolveFinished
from amends.common.policy import Overrides
from tests.support.book import Book
from tests.support.fetching import RULES
from tests.support.github import Scene
from tests.support.publishing import WHAT, Crew, publishing, token_of

Between = Callable[[Crew], object]


def resolved(book: Book, scene: Scene, folder: Path, between: Between, rules: Overrides = RULES) -> int:
    """How many of the threads that were asked for are resolved; whoever was asked owes nothing any more."""

    async def story() -> int:
        async with publishing(book, scene, folder) as crew:
            crew.desk.rules(rules)
            await crew.fix({"app.py": WHAT})
            await crew.publish()
            between(crew)
            [answer] = await crew.resolve()
            assert isinstance(answer, ResolveFinished)
            assert book.log.outstanding("publisher") == []
            return len(answer.roots)

    return asyncio.run(story())


def nothing(_: Crew) -> None:
    pass


def test_what_is_fixed_is_resolved_and_told(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    assert resolved(sqlite_book, scene, tmp_path, nothing) == 1
    [thread] = scene.pull.threads
    loop = sqlite_book.loop(f"{scene.repo.id}-pr-{scene.pull.number}")
    assert (thread.resolved, loop.items[f"thread/{thread.of.comments[0].id}"].resolved) == (True, True)


def test_again_it_finds_them_resolved_and_does_nothing(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    assert resolved(sqlite_book, scene, tmp_path, lambda _: scene.pull.threads[0].resolve("bob")) == 1
    assert scene.pull.threads[0].resolved_by == "bob"


def test_not_where_the_policy_is_against_it(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    rules = RULES.model_copy(update={"resolve_threads": False})

    async def story() -> None:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            crew.desk.rules(rules)
            await crew.fix({"app.py": WHAT})
            await crew.publish()
            assert await crew.resolve() == []

    asyncio.run(story())
    assert not scene.pull.threads[0].resolved


def test_not_where_the_fix_is_not_in_the_head_any_more(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    def undone(crew: Crew) -> None:
        scene.pull.push({"app.py": "line\n"}, by="alice")

    assert resolved(sqlite_book, scene, tmp_path, undone) == 0
    assert not scene.pull.threads[0].resolved


def test_other_commits_on_top_do_not_matter(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    assert resolved(sqlite_book, scene, tmp_path, lambda _: scene.pull.push({"b": "b\n"})) == 1


def test_not_where_the_commit_was_taken_away(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    def away(crew: Crew) -> None:
        scene.repo.commit("feature", {"app.py": WHAT}, by="alice", onto=scene.repo.branches["main"])

    assert resolved(sqlite_book, scene, tmp_path, away) == 0


def test_not_in_a_pull_request_that_is_closed(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    assert resolved(sqlite_book, scene, tmp_path, lambda _: scene.pull.close()) == 0


def test_who_may_not_resolve_leaves_them_and_goes_on(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> list[object]:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            await crew.fix({"app.py": WHAT})
            await crew.publish()
        async with publishing(sqlite_book, scene, tmp_path, token_of(scene, "rita")) as crew:
            return list(await crew.resolve())

    assert (asyncio.run(story()), scene.pull.threads[0].resolved) == ([ResolveFinished(n=1)], False)


def test_what_is_not_fixed_stays_open(sqlite_book: Book, scene: Scene, tmp_path: Path) -> None:
    async def story() -> list[object]:
        async with publishing(sqlite_book, scene, tmp_path) as crew:
            scene.pull.comment("bob", "Why?", path="app.py", line=9)
            fetched = await crew.asked()
            request = crew.prepare(fetched, {"app.py": WHAT}, verdicts=_answered(crew, fetched))
            assert len(request.verdicts) == 2
            await crew.publish()
            return list(await crew.resolve())

    def _answered(crew: Crew, fetched: object) -> object:
        from amends.common.events import CommentsFetched, Verdict  # noqa: PLC0415

        assert isinstance(fetched, CommentsFetched)
        _, claims = crew.changed({"app.py": WHAT})
        judged = {9: Judgement.ANSWERED, 10: Judgement.FIXED}
        return tuple(
            Verdict(item=one.item, version=one.version, judgement=judged[one.anchor.line or 0], hunks=claims)
            for one in crew.desk.words(fetched)
            if one.anchor
        )

    [answer] = asyncio.run(story())
    assert isinstance(answer, ResolveFinished)
    assert len(answer.roots) == 1
    assert sorted(thread.resolved for thread in scene.pull.threads) == [False, True]
