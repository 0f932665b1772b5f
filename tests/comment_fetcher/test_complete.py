"""Nothing that anybody said is missing, at any size, whatever happens while it is read."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from amends.comment_fetcher.items import versioned
from amends.comment_fetcher.reading import Reader
from amends.common.events import CommentsFetched, CycleFinished
from amends.common.github.client import Client
from amends.common.github.text import body_hash
from amends.doubles.github.control.talk import ThreadHandle
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.fetching import Desk, at_work
from tests.support.github import Crowd, Scene, crowd, lengthen


@pytest.fixture
def crowded(scene: Scene) -> Scene:
    """250 inline comments, 40 reviews, 120 comments in the conversation, threads of 130 replies; a while ago."""
    scene.double.clock.advance(-3_600)
    pull = crowd(scene.repo)
    for thread in pull.threads[::125]:
        lengthen(thread, 130)
    scene.double.clock.advance(3_600)
    return replace(scene, pull=pull)


def spoken(scene: Scene) -> set[str]:
    """Every text on the pull request."""
    pull = scene.pull
    bodies = [body for thread in pull.threads for body in thread.bodies]
    return {*bodies, *(said.body for said in pull.conversation), *(one.body for one in pull.reviews if one.body)}


@asynchronous
async def test_a_crowd_is_collected_whole(crowded: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, crowded, seconds=25) as desk:
        fetched = await desk.cycle()
        texts = desk.texts(fetched)
    assert set(texts) == spoken(crowded)
    assert Counter(item.kind for item in fetched.items) == {"thread": 250, "review": 40, "comment": 120}


@asynchronous
async def test_a_crowd_takes_six_requests_and_three_the_next_time(scene: Scene) -> None:
    scene.double.clock.advance(-3_600)
    pull = crowd(scene.repo)
    scene.double.clock.advance(3_600)
    async with Client(scene.app_settings) as client:
        reach, reader = await client.repository(scene.repo.id), Reader()
        await reach.query("query($owner:String!,$name:String!){repository(owner:$owner,name:$name){id}}")
        began = client.requests
        await reader.read(reach, pull.number)
        first = client.requests
        pull.threads[200].reply("one more", "bob")
        pull.threads[3].root.edit("changed")
        again = await reader.read(reach, pull.number)
    assert first - began <= 6
    assert client.requests - first <= 3
    assert {"one more", "changed"} <= {said.comment.body for said in again.everything()}


@asynchronous
async def test_what_the_owner_of_a_token_drafts_is_not_said_before_he_sends_it_off(scene: Scene) -> None:
    scene.pull.comment("bob", "Why?", path="app.py", line=10).reply("Because.", "alice")
    draft = scene.pull.review("octocat", "pending", "", [{"path": "app.py", "line": 10, "body": "Hm."}])
    async with Client(scene.token_settings) as client:
        reach, reader = await client.repository(scene.repo.id), Reader()
        early = await reader.read(reach, scene.pull.number)
        draft.submit("REQUEST_CHANGES")
        late = await reader.read(reach, scene.pull.number)
    assert [[said.comment.body for said in thread.said] for thread in early.threads] == [["Why?", "Because."]]
    assert [thread.said[0].comment.body for thread in late.threads] == ["Why?", "Hm."]


@dataclass
class Meddler:
    """Says, edits, deletes or resolves something before each of the first requests."""

    scene: Scene
    acts: int
    dice: random.Random

    def __call__(self, _asked: object) -> None:
        if self.acts > 0:
            self.acts -= 1
            self.dice.choice(DEEDS)(self)

    def thread(self) -> ThreadHandle:
        return self.dice.choice([one for one in self.scene.pull.threads if one.of.comments])


def says(by: Meddler) -> None:
    by.scene.pull.say("carol", f"said {by.acts}")


def begins(by: Meddler) -> None:
    by.scene.pull.comment("bob", f"begun {by.acts}", path="crowd.py", line=by.dice.randrange(1, 30))


def replies(by: Meddler) -> None:
    by.thread().reply(f"replied {by.acts}", "carol")


def edits(by: Meddler) -> None:
    by.thread().root.edit(f"edited {by.acts}")


def edits_talk(by: Meddler) -> None:
    by.dice.choice(by.scene.pull.conversation).edit(f"edited talk {by.acts}")


def deletes(by: Meddler) -> None:
    if len(by.scene.pull.conversation) > 1:
        by.dice.choice(by.scene.pull.conversation).delete()


def deletes_reply(by: Meddler) -> None:
    by.thread().comments[-1].delete()


def resolves(by: Meddler) -> None:
    by.thread().resolve("alice")


def reviews(by: Meddler) -> None:
    by.scene.pull.review("bob", "changes_requested", f"reviewed {by.acts}")


DEEDS: list[Callable[[Meddler], None]] = [
    says, begins, replies, replies, edits, edits_talk, deletes, deletes_reply, resolves, reviews,
]  # fmt: skip


def standing(scene: Scene) -> dict[str, str]:
    """The version of every item as it is on GitHub now, for what is not resolved."""
    pull = scene.pull
    said = {f"thread/{one.root.id}": one.comments for one in pull.threads if one.comments and not one.resolved}
    said |= {f"comment/{one.id}": [one] for one in pull.conversation}
    found = {id_: versioned(f"{one.node_id} {body_hash(one.body)}" for one in all_) for id_, all_ in said.items()}
    bodies = {f"review/{one.id}": one for one in pull.reviews if one.body}
    return found | {id_: versioned([f"{one.node_id} {body_hash(one.body)}"]) for id_, one in bodies.items()}


async def settled(desk: Desk) -> None:
    """Cycle after cycle, until nothing counts any more."""
    for _ in range(20):
        begun = len(list(_cycles(desk)))
        await desk.ask()
        await desk.react()
        if desk.loop.cycle is None and len(list(_cycles(desk))) == begun:
            return
        if desk.loop.cycle is not None and desk.loop.cycle.fetched:
            desk.fix(desk.last(CommentsFetched))


def _cycles(desk: Desk) -> list[CycleFinished]:
    return [event.fact for event in desk.book.events() if isinstance(event.fact, CycleFinished)]


@pytest.mark.parametrize("seed", range(6))
@asynchronous
async def test_what_happens_between_any_two_requests_ends_in_the_ledger_once(
    seed: int, scene: Scene, sqlite_book: Book
) -> None:
    pull = crowd(scene.repo, Crowd(inline=30, reviews=4, talk=10))
    lengthen(pull.threads[0], 60)
    meddled = replace(scene, pull=pull)
    async with at_work(sqlite_book, meddled, seconds=20) as desk:
        meddler = Meddler(meddled, 25, random.Random(seed))
        scene.double.before_request = meddler
        await settled(desk)
        assert meddler.acts == 0
        scene.double.clock.advance(10)
        desk.reconciler.forget()
        pull.review("bob", "changes_requested", "and all the rest")
        await settled(desk)
        judged = Counter((one.item, one.version) for done in _cycles(desk) for one in done.verdicts)
    assert {one for one, times in judged.items() if times > 1} == set()
    assert set(standing(meddled).items()) - set(judged) == set()
