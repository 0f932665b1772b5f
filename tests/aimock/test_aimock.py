"""The agent with a model double that is not of our making, so that ours is not wrong in the same way as our client."""

from pathlib import Path
from typing import Any

import pytest

from amends.common.events import Failure, FixFailed, FixPrepared
from amends.doubles.model import Denies, text
from tests.support.aimock import Aimock, Cut, aimock
from tests.support.asynchronous import asynchronous
from tests.support.book import Book
from tests.support.commanding import installed, one, report
from tests.support.fixing import edits, fixing, reports, triages
from tests.support.github import LINES, Scene
from tests.support.others import MISSING

pytestmark = [pytest.mark.aimock, pytest.mark.skipif(bool(MISSING), reason=f"aimock is {MISSING}")]
FIXED = LINES.replace("line 10\n", "line X\n").encode()
WORK = triages(item_1="actionable"), edits("app.py", "line ten", "line X"), reports(item_1=("app.py:10-10",))
COMMANDED = edits("app.py", "line ten", "line X"), text(report(one()))


class Place:
    """A pull request with one comment of prose on it."""

    def __init__(self, book: Book, scene: Scene, folder: Path) -> None:
        self.book, self.scene, self.folder = book, scene, folder
        self.files: dict[str, bytes | None] = {}
        scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Better."}])

    async def ended(self, model: Aimock, **settings: Any) -> FixPrepared | FixFailed:
        """How an attempt with this model ends."""
        async with fixing(self.book, self.scene, self.folder, None, model=model.settings, **settings) as bench:
            fact = await bench.fixed()
            self.files = bench.files(fact) if isinstance(fact, FixPrepared) else {}
            return fact


@pytest.fixture
def place(sqlite_book: Book, scene: Scene, tmp_path: Path) -> Place:
    return Place(sqlite_book, scene, tmp_path)


@asynchronous
async def test_a_fix_from_triage_to_report(place: Place) -> None:
    with aimock(place.folder, *WORK) as model:
        fact = await place.ended(model)
        asked = [entry["body"] for entry in model.asked()]
    assert place.files == {"app.py": FIXED}
    assert (fact.usage.turns, fact.usage.tokens) == (3, 3 * 120)
    assert [len(body["messages"]) for body in asked] == sorted(len(body["messages"]) for body in asked)


@asynchronous
async def test_rel_10_a_limit_an_overload_a_fault_and_a_cut_stream_are_asked_again(place: Place) -> None:
    limited = Denies(429, "rate_limit_error", headers={"retry-after": "1"})
    overloaded, faulty = Denies(529, "overloaded_error"), Denies(500, "api_error")
    with aimock(place.folder, limited, WORK[0], overloaded, faulty, WORK[1], Cut(WORK[2]), WORK[2]) as model:
        fact = await place.ended(model)
    assert place.files == {"app.py": FIXED}
    assert fact.usage.turns == 3


@pytest.mark.parametrize(
    ("denied", "reason"),
    [
        (Denies(401, "authentication_error"), Failure.MODEL_AUTH),
        (Denies(404, "not_found_error"), Failure.MODEL_UNKNOWN),
        (Denies(402, "billing_error"), Failure.MODEL_SPEND),
        (Denies(529, "overloaded_error"), Failure.MODEL_OVERLOADED),
    ],
)
@asynchronous
async def test_rel_10_what_does_not_pass_has_its_reason(place: Place, denied: Denies, reason: Failure) -> None:
    with aimock(place.folder, denied, denied, denied) as model:
        assert getattr(await place.ended(model), "reason", None) is reason


@asynchronous
async def test_somebody_elses_agent_through_the_broker(place: Place) -> None:
    with aimock(place.folder, *COMMANDED) as model:
        fact = await place.ended(model, **installed(place.folder))
        headers = [entry["headers"] for entry in model.asked()]
    assert place.files == {"app.py": FIXED}
    assert (fact.usage.turns, fact.usage.tokens) == (2, 2 * 120)
    assert len(headers) == 2


@asynchronous
async def test_a_stream_that_is_cut_on_its_way_to_somebody_elses_agent_is_an_outage(place: Place) -> None:
    with aimock(place.folder, Cut(COMMANDED[0])) as model:
        fact = await place.ended(model, **installed(place.folder))
    assert isinstance(fact, FixFailed)
    assert fact.reason is Failure.MODEL_OVERLOADED
