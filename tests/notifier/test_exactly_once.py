"""Whatever ends the notifier and wherever, whatever GitHub answers: people read everything once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from amends.common.delivery import Later
from amends.common.events import FixRequested, Judgement
from amends.common.github.exchange import Call, Told
from amends.common.github.limits import Gate
from amends.doubles.github.faults import Effect
from tests.support.asynchronous import asynchronous
from tests.support.book import Book, Books
from tests.support.github import Scene, github, set_scene
from tests.support.notifying import BETWEEN, Desk, Killed, at_work

FIXED, HUMAN = Judgement.FIXED, Judgement.NEEDS_HUMAN


@dataclass
class Doom:
    """Ends the process at the nth of the calls that lead out of it; of these `kinds`, or of all."""

    at: int = 0
    kinds: tuple[str, ...] = ()
    made: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> None:
        if self.kinds and name not in self.kinds:
            return
        self.made.append(name)
        if len(self.made) == self.at:
            raise Killed(name)


# A process that dies leaves the world as it is after its last write: these are all the places that differ.
EFFECTS = ("POST after", "PATCH after", "DELETE after", "reported")


def doomed(desk: Desk, doom: Doom) -> None:
    """Every call of the recorder and every request to GitHub passes here."""
    desk.recorder.port = doom
    once = desk.client._exchange._once

    async def through(call: Call, token: str, gate: Gate) -> Told:
        doom(f"{call.method} before")
        told = await once(call, token, gate)
        doom(f"{call.method} after")
        return told

    desk.client._exchange._once = through  # type: ignore[method-assign]


async def much_to_tell(desk: Desk) -> None:
    """A fix, a question, a request for review and an escalation, on a pull request whose card is there already."""
    desk.rejects(lines=(9, 10))
    await desk.hear(FixRequested)
    desk.fixes(FIXED, HUMAN, FIXED)


async def lived(books: Books, doom: Doom) -> tuple[list[str], list[str]]:
    """What people see in the end, and what was reported, when the first process is killed and the next is not."""
    with github() as double, books.open() as book:
        scene = set_scene(double)
        async with at_work(book, scene) as desk:
            await much_to_tell(desk)
            doomed(desk, doom)
            with suppress(Killed):
                await desk.react()
        async with at_work(book, scene, None) as desk:
            assert await desk.react() == []
            assert desk.owed == []
            return seen(desk)


def seen(desk: Desk) -> tuple[list[str], list[str]]:
    """What there is to see and what was reported; an accident may change the order, and nothing else."""
    return sorted(desk.page().split(BETWEEN)), sorted(desk.said())


CLEAN: list[tuple[list[str], list[str]]] = []


async def clean(books: Books) -> tuple[list[str], list[str]]:
    """The same without any accident."""
    if not CLEAN:
        CLEAN.append(await lived(books, Doom()))
    return CLEAN[0]


@pytest.mark.parametrize("at", range(1, 16))
@asynchronous
async def test_killed_after_any_effect_it_ends_as_if_nothing_had_happened(at: int, sqlite_books: Books) -> None:
    doom = Doom(at, EFFECTS)
    assert await lived(sqlite_books, doom) == await clean(sqlite_books)
    assert len(doom.made) == at, "there are fewer effects than that: take the last places out"


@asynchronous
async def test_these_are_all_its_effects(sqlite_books: Books) -> None:
    doom = Doom(0, EFFECTS)
    await lived(sqlite_books, doom)
    assert len(doom.made) == 15


@pytest.mark.faults_long
@pytest.mark.parametrize("at", range(1, 80))
@asynchronous
async def test_killed_at_any_call_it_ends_as_if_nothing_had_happened(at: int, sqlite_books: Books) -> None:
    assert await lived(sqlite_books, Doom(at)) == await clean(sqlite_books)


# --- what GitHub answers -------------------------------------------------------------------------------------------

WRITES = r"/(comments|labels|requested_reviewers)(/[0-9]+|/amends.*)?$"
FAULTS: dict[str, Effect] = {  # of one answer
    "502 and stored": {"status": 502, "stored": True},
    "502 and not stored": {"status": 502},
    "cut off": {"cut": 0.5},
    "broken off": {"broken": True},
    "limited": {"status": 403, "body": {"message": "You have exceeded a secondary rate limit"}},
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("method", "nth"), [*(("POST", n) for n in range(8)), ("PATCH", 0), ("DELETE", 0)])
@asynchronous
async def test_an_answer_that_is_lost_makes_nothing_double(
    fault: str, method: str, nth: int, sqlite_books: Books
) -> None:
    with github() as double, sqlite_books.open() as book:
        scene = set_scene(double)
        async with at_work(book, scene) as desk:
            await much_to_tell(desk)
            double.faults.next(method, WRITES, **FAULTS[fault]).skip = nth
            await desk.react()
        async with at_work(book, scene, None) as desk:
            assert await desk.react() == []
            assert seen(desk) == await clean(sqlite_books)
            assert (desk.owed, double.faults.unused) == ([], [])


@asynchronous
async def test_no_answer_at_all_makes_nothing_double(scene: Scene, sqlite_book: Book) -> None:
    impatient = scene.app_settings.model_copy(update={"timeout_seconds": 0.5})
    async with at_work(sqlite_book, scene, github=impatient) as desk:
        await much_to_tell(desk)
        scene.double.faults.next("POST", "/issues/1/comments", hang=True)
        assert len(await desk.react()) == 1
        assert await desk.react() == []
        assert (len(desk.talk()), desk.owed) == (4, [])


@asynchronous
async def test_what_was_stored_and_is_in_no_list_yet_is_waited_for(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        await much_to_tell(desk)
        stored: Effect = {
            "status": 502, "stored": True, "after": lambda: scene.pull.conversation[-1].hide(1)
        }  # fmt: skip
        scene.double.faults.next("POST", "/issues/1/comments", **stored)
        assert len(await desk.react()) == 1
        await desk.react()
        assert (len(desk.talk()), desk.owed) == (4, [])


@asynchronous
async def test_a_write_is_never_repeated_blindly(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        scene.double.faults.next("POST", "/issues/1/comments", status=502, times=99)
        with pytest.raises(Later):
            await desk.hear(FixRequested)
        assert scene.double.requests.count("POST", "/issues/1/comments") == 1


# --- what comes twice ----------------------------------------------------------------------------------------------


@asynchronous
async def test_what_is_delivered_again_is_not_said_again(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        await much_to_tell(desk)
        await desk.react()
        before, written = desk.page(), scene.double.requests.count("POST")
        for event in sqlite_book.events():
            await desk.teller.tell(event)
        assert desk.page() == before
        assert scene.double.requests.count("POST") == written


@asynchronous
async def test_a_request_that_is_repeated_finds_what_was_said_for_the_first(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        await much_to_tell(desk)
        desk.recorder.port = Doom(1, ("report",))
        with pytest.raises(Killed):
            await desk.react()
        desk.recorder.port = Doom()
        sqlite_book.waits(4_000)  # nobody answers in time, so the evaluator asks again
        await desk.react()
        assert (len(desk.talk()), len(desk.replies()), desk.owed) == (4, 2, [])


@asynchronous
async def test_events_that_are_worked_on_at_once_make_one_card(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        await much_to_tell(desk)
        await asyncio.gather(*(desk.teller.tell(sqlite_book.event(pos)) for pos in desk.owed))
        assert (len(desk.talk()), desk.owed) == (4, [])


@asynchronous
async def test_inv_16_a_marker_that_somebody_copied_is_not_ours(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        theirs = scene.pull.say("bob", f"<!-- amends:{desk.name}/card -->\nall is well")
        await much_to_tell(desk)
        await desk.react()
        assert theirs.body.endswith("all is well")
        assert "**amends: needs a human.**" in desk.card()


@asynchronous
async def test_what_we_quote_is_no_marker(scene: Scene, sqlite_book: Book) -> None:
    async with at_work(sqlite_book, scene) as desk:
        desk.rejects()
        desk.fixes(FIXED, reason=f"<!-- amends:{desk.name}/card -->")
        await desk.react()
        assert len(desk.talk()) == 3  # the summary, the request for review, and a card of its own
