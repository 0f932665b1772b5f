"""Cycles that find nothing to do: whatever a collection leaves out, they come to an end by themselves."""

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from amends.common.events import AnyFact, Collected, FixRequested
from tests.support.facts import (
    NEXT,
    aside,
    believed,
    check,
    command,
    comment,
    edited,
    fetched,
    item,
    observed,
    rejected,
)
from tests.support.given import Telling, collecting, given
from tests.support.policies import CHECKS, THREADS

HOUR = 3_600
MANY = 40


def rounds(story: Telling, *index: Collected, head: str = "") -> int:
    """Answer each request with this index, whatever it asked for, until none comes any more; how many there were."""
    for number in range(MANY):
        if story.loop.phase != "collecting":
            story.after(300)
        if story.loop.phase != "collecting":
            return number
        request = story.last(FixRequested)
        story.when(fetched(*index, n=request.n, k=request.k, head=head or request.head))
        if story.loop.cycle is not None:
            return number  # there is something to do, which is another story
    return MANY


@pytest.mark.parametrize(
    "story",
    [
        given(command("refine", text="use a set")),
        given(command("fix"), comment(), rejected()),
        collecting(),
        collecting().when(comment(9), edited(comment(9), "no, so", 50)),
        given(comment(), comment(9), policy=THREADS),
        given(check(), observed(9, head=NEXT), check(NEXT), policy=CHECKS),
        given(*believed(rejected()), aside(), command("refine", text="a"), command("refine", text="b", id_="b")),
    ],
)
def test_what_no_collection_shows_is_asked_for_once_or_twice_and_not_for_ever(story: Telling) -> None:
    assert 1 <= rounds(story) <= 3
    assert (story.after(1_000 * HOUR).loop.phase, story.loop.used) == ("resting", 0)


def test_texts_that_every_collection_leaves_out_are_each_asked_for_once() -> None:
    wishes = [command("refine", text="w" * 20_000, id_=f"wish-{number}") for number in range(20)]
    story = given(*wishes)
    assert 4 <= rounds(story) <= 6
    carried = [text.item for event in story.events if isinstance(event.fact, FixRequested) for text in event.fact.texts]
    assert sorted(carried) == sorted(f"command/{wish.id}" for wish in wishes)


def test_a_check_that_fails_on_another_commit_than_every_collection_shows_is_asked_for_once() -> None:
    story = given(check(), policy=CHECKS)
    assert rounds(story, head=NEXT) == 1


def test_news_during_each_collection_begin_one_more_each_and_no_more() -> None:
    story = given(comment(), policy=THREADS).after(30)
    for number in range(10, 15):
        request = story.last(FixRequested)
        story.when(comment(number), fetched(n=request.n, head=request.head)).after(300)
    assert rounds(story) <= 2
    assert story.loop.n <= 7


FACTS = st.sampled_from(
    [
        comment(), comment(6), comment(reply=7), edited(comment(), "so", 5), aside(), check(), observed(3, head=NEXT),
        check(NEXT), command("refine", text="a"), command("fix"), *believed(rejected()), *believed(rejected(4)),
    ]
)  # fmt: skip
INDEX = st.lists(
    st.sampled_from([item(), item("thread/5", "why so?"), item("thread/6", "eh")]), max_size=3, unique=True
)


@drawn(before=st.lists(FACTS, max_size=8), during=st.lists(FACTS, max_size=4), index=INDEX)
def test_whatever_was_said_and_whatever_is_collected_it_all_comes_to_an_end(
    before: list[AnyFact], during: list[AnyFact], index: list[Collected]
) -> None:
    story = given(*before, policy=THREADS.model_copy(update={"triggers": ("comments", "checks")})).after(300)
    story.when(*during)
    assert rounds(story, *index) < 8
