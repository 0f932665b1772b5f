"""What the evaluator answers from outside its process: here what an operator may have tried again."""

import pytest

from amends.common.standing import requests, timers
from amends.evaluator.desk import waits_of
from tests.support.facts import MARIA, command, fetched, item, rejected
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing


@pytest.mark.parametrize(
    "story",
    [
        given(rejected()),
        given(command("fix", by=MARIA)),
        collecting(),
        collecting().when(fetched(item())),
        fixing(),
        pushing(),
        awaiting_review(),
    ],
)
def test_whatever_a_service_owes_has_a_wait_that_can_be_cut_short(story: Telling) -> None:
    waiting = {timer.name for timer in timers(story.loop, story.policy)}
    asked = [event for event in story.events if event.pos in {owed.pos for owed in requests(story.loop, story.policy)}]
    assert asked
    assert all(waits_of(event.fact, event.pos) & waiting for event in asked)
