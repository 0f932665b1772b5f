"""What is kept of a loop beside its state, and what `amends loops list` shows of it."""

from amends.evaluator.projections import project
from tests.support.facts import EVE, MARIA, command, comment, failed, fetched, item, prepared, started, verdict
from tests.support.given import Telling, fixing, given
from tests.support.policies import THREADS


def human(story: Telling) -> bool:
    return project(story.loop, story.policy, story.loop.version).row.human


def asked() -> Telling:
    """The fixer has a question about maria's thread."""
    story = (
        given(comment(), policy=THREADS)
        .after(30)
        .when(fetched(item("thread/5", "why so?"), strangers=(EVE.id,)), started())
    )
    return story.when(prepared(verdict("thread/5", "needs_human", "why so?"), changes=()))


def test_a_human_is_needed_as_long_as_a_question_is_open() -> None:
    story = asked()
    assert (human(story), story.status) == (True, "needs_human")


def test_no_human_is_needed_any_more_once_he_has_answered() -> None:
    story = asked().when(comment(reply=6, text="because", by=MARIA, seconds=99))
    assert (human(story), story.status) == (False, "settling")


def test_an_answer_by_somebody_whose_word_does_not_count_is_none() -> None:
    story = asked().when(comment(reply=6, text="because", by=EVE, seconds=99))
    assert (human(story), story.status) == (True, "needs_human")


def test_a_loop_that_was_stopped_needs_a_human_until_he_says_so() -> None:
    story = fixing().when(failed("policy"))
    assert human(story)
    assert not human(story.when(command("retry")))


def test_a_stuck_loop_needs_a_human() -> None:
    story = given()
    assert project(story.loop, story.policy, 9, stuck="0.1").row.human
