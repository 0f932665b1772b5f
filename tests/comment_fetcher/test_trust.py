"""Whose words count: known people who may write, and bots that are listed by number. Everybody else is nobody."""

from __future__ import annotations

import pytest

from amends.common.events import AuthorChecked, CommentsFetched
from amends.common.policy import Overrides
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fetching import RULES, Desk, at_work
from tests.support.github import Scene

SECRET = "the stranger's words"


async def heard(desk: Desk) -> str:
    """Everything that a cycle passes on, after somebody who may has asked for changes."""
    desk.scene.pull.review("bob", "changes_requested", "please")
    fetched = await desk.cycle()
    return f"{fetched.model_dump_json()}\n" + "\n".join(desk.texts(fetched))


@pytest.mark.parametrize("who", ["rita", "eve", "boob", "b0b", "renovate[bot]"])
@asynchronous
async def test_inv_11_the_words_of_strangers_and_unlisted_bots_do_not_pass(
    who: str, scene: Scene, sqlite_book: Book
) -> None:
    thread = scene.pull.comment("bob", "why?", path="app.py", line=10)
    thread.reply(SECRET, who)
    scene.pull.say(who, SECRET)
    scene.pull.comment(who, SECRET, path="app.py", line=10)
    async with at_work(sqlite_book, scene) as desk:
        passed = await heard(desk)
        assert "why?" in passed
        assert SECRET not in passed
        assert desk.last(CommentsFetched).left_out.model_dump(exclude_defaults=True) in ({"untrusted": 3}, {"bots": 3})


@asynchronous
async def test_inv_11_a_login_that_is_somebody_elses_today_is_no_proof(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.say("eve", SECRET)
    scene.double.delete_user("carol")
    scene.double.world.account("eve").login = "carol"
    async with at_work(sqlite_book, scene) as desk:
        assert SECRET not in await heard(desk)


@asynchronous
async def test_who_was_renamed_is_still_the_same(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.review("carol", "changes_requested", "as carol")
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        scene.double.world.account("carol").login = "caroline"
        await desk.react()
        assert desk.last(AuthorChecked).permission == "write"


@asynchronous
async def test_inv_11_the_words_of_a_deleted_account_do_not_pass(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.say("carol", SECRET)
    scene.double.delete_user("carol")
    async with at_work(sqlite_book, scene) as desk:
        assert SECRET not in await heard(desk)


@asynchronous
async def test_inv_13_an_edit_counts_by_its_editor(scene: Scene, sqlite_book: Book) -> None:
    said = scene.pull.say("bob", "harmless")
    scene.repo.collaborator("mallory", "write")
    said.edit(SECRET, by="mallory")
    scene.repo.collaborator("mallory", "none")
    async with at_work(sqlite_book, scene) as desk:
        passed = await heard(desk)
        assert SECRET not in passed
        assert "harmless" not in passed


@asynchronous
async def test_inv_13_an_edit_after_the_verdict_is_a_new_version(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.review("bob", "changes_requested", "No.", [{"path": "app.py", "line": 10, "body": "Why?"}])
    async with at_work(sqlite_book, scene) as desk:
        first = await desk.cycle()
        desk.fix(first)
        scene.double.clock.advance(5)
        scene.pull.threads[0].root.edit("Why not?")
        second = await desk.cycle()
        [before], [after] = ([one for one in fetched.items if one.kind == "thread"] for fetched in (first, second))
        assert before.version != after.version
        assert desk.texts(second) == ["Why not?"]


@asynchronous
async def test_inv_16_our_own_words_bring_no_new_version(scene: Scene, sqlite_book: Book) -> None:
    thread = scene.pull.comment("bob", "why?", path="app.py", line=10)
    async with at_work(sqlite_book, scene) as desk:
        first = await desk.cycle()
        thread.reply("done", scene.app.login)
        scene.pull.review("bob", "changes_requested", "again")
        desk.fix(first)
        second = await desk.cycle()
        [before], [after] = ([one for one in fetched.items if one.kind == "thread"] for fetched in (first, second))
        assert before.version == after.version
        assert second.left_out.own == 1


@pytest.mark.parametrize(("reviewers", "passes"), [("write", True), ((), False), ("anyone", True)])
@asynchronous
async def test_the_list_of_reviewers_narrows(reviewers: str, *, passes: bool, scene: Scene, sqlite_book: Book) -> None:
    scene.pull.say("carol", SECRET)
    rules = RULES.model_copy(update={"reviewers": reviewers})
    async with at_work(sqlite_book, scene, rules) as desk:
        scene.pull.review("bob", "changes_requested", "please")
        await desk.ask()
        await desk.react()
        fetched = [event.fact for event in sqlite_book.events() if isinstance(event.fact, CommentsFetched)]
        assert any(SECRET in desk.texts(one) for one in fetched) is passes


@asynchronous
async def test_a_bot_is_heard_when_it_is_listed_by_its_number(scene: Scene, sqlite_book: Book) -> None:
    robot = scene.double.bot("robot")
    scene.pull.comment("robot[bot]", "unused import", path="app.py", line=10)
    async with at_work(sqlite_book, scene, RULES.model_copy(update={"bots": (robot.id,)})) as desk:
        assert "unused import" in await heard(desk)


@pytest.mark.parametrize(
    ("who", "permission"), [("bob", "write"), ("rita", "read"), ("eve", "none"), ("octocat", "admin")]
)
@asynchronous
async def test_every_review_has_its_author_checked(who: str, permission: str, scene: Scene, sqlite_book: Book) -> None:
    scene.pull.review(who, "changes_requested", "no")
    async with at_work(sqlite_book, scene) as desk:
        await desk.reconciler.look()
        await desk.react()
        checked = desk.last(AuthorChecked)
        assert (checked.permission, checked.of.split("/")[0]) == (permission, "review")


@asynchronous
async def test_inv_29_a_command_has_its_author_checked(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.say("rita", "/amends fix")
    async with at_work(sqlite_book, scene, Overrides(repositories=("acme/widget",))) as desk:
        await desk.reconciler.look()
        await desk.react()
        checked = desk.last(AuthorChecked)
        assert (checked.permission, checked.of.split("/")[0]) == ("read", "command")
        assert desk.loop.cycle is None


@asynchronous
async def test_inv_11_what_nobody_may_look_up_is_not_believed(scene: Scene, sqlite_book: Book) -> None:
    scene.pull.review("bob", "changes_requested", SECRET)
    async with at_work(sqlite_book, scene, seconds=2) as desk:
        await desk.ask()
        scene.double.faults.next("GET", "/permission", status=403, body={"message": "Forbidden"}, times=9)
        await desk.react()
        assert not any(isinstance(event.fact, CommentsFetched) for event in sqlite_book.events())
