"""What people and the model say in the one story that is told again and again, whatever happens to us meanwhile.

Bob rejects, with a suggestion, a wish and something that only a human can decide. The first two are fixed, the third
calls for a human, everywhere. He decides, rejects once more, and is asked again; then he approves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from amends.doubles.model import Asked
from amends.doubles.model.script import Says, Uses, calls
from tests.faults.support.house import House
from tests.support.fixing import edits, reports, suggests, triages

WISH, DOUBT, DECISION = "Louder, please.", "Ask legal first.", "Legal says: write it as a word."
_ROUNDS = (
    (triages(item_1="question", item_2="actionable", item_3="needs_human"), edits("app.py", "line 8\n", "LINE 8\n"),
     reports(item_1="answered: Thank you.", item_2=("app.py:8-8",), item_3="needs_human: Has legal agreed?")),
    (triages(item_1="actionable"), edits("app.py", "line 13\n", "line thirteen\n"),
     reports(item_1=("app.py:13-13",))),
)  # fmt: skip


def answer(asked: Asked) -> Says:
    """What the model says, however often it is asked from the beginning."""
    turn = sum(message["role"] == "assistant" for message in asked.messages)
    steps = _ROUNDS[DECISION in asked.words]
    return steps[turn] if turn < len(steps) else calls(Uses("changes"))


def begin(house: House) -> None:
    """The first review."""
    house.outside.model.always = answer
    house.outside.scene.pull.review(
        "bob", "changes_requested", "Almost.",
        [{"path": "app.py", "line": 10, "body": suggests("line X")}, {"path": "app.py", "line": 8, "body": WISH},
         {"path": "app.py", "line": 13, "body": DOUBT}],
    )  # fmt: skip


def decide(house: House) -> None:
    """The answer to our question, and the second review."""
    pull = house.outside.scene.pull
    next(one for one in pull.threads if one.root.body == DOUBT).reply(DECISION, "bob")
    pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 11, "body": suggests("line eleven")}])


def approve(house: House) -> None:
    """The third."""
    house.outside.scene.pull.review("bob", "approved")


CYCLE = ("fix.requested", "cycle.finished", "review.requested")
TALE: tuple[tuple[Callable[[House], None], tuple[str, ...]], ...] = (
    (begin, (*CYCLE, "escalated")),
    (decide, (*CYCLE, *CYCLE, "escalated")),
    (approve, ("loop.finished",)),
)


def tell(house: House) -> None:
    """The whole story; each part begins when all that comes of the one before has come."""
    for part, facts in TALE:
        part(house)
        house.until(partial(house.rests, *facts), f"what comes of {part.__name__}")
