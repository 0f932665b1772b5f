"""What keeps a cycle from starting although something counts, and what takes the obstacle away."""

from collections.abc import Callable

import pytest

from amends.common.events import AccessChanged, AnyFact, PrObserved
from amends.common.standing import obstacles
from tests.support.facts import (
    NEXT,
    approved,
    at,
    believed,
    closed,
    command,
    failed,
    fetched,
    item,
    not_fetched,
    observed,
    policy_changed,
    policy_observed,
    prepared,
    pushed,
    rejected,
    started,
)
from tests.support.given import Telling, awaiting_review, collecting, fixing, given, pushing, settling
from tests.support.policies import DRAFTS

OFF = ("amends: off",)


def access(to: str, seconds: float) -> AnyFact:
    return AccessChanged.model_validate({"access": to, "updated_at": at(seconds)})


HINDERED = [
    (observed(draft=True), observed(9)),
    (observed(labels=OFF), observed(9)),
    (observed(head_repo=77), observed(9)),
    (observed(full_name="octo/other"), policy_changed(repositories=("octo/other",))),
]
NAMES = ["draft", "opted out", "fork", "not enabled"]


@pytest.mark.parametrize(("pull", "freed"), HINDERED, ids=NAMES)
def test_it_starts_nothing_until_the_obstacle_is_gone(pull: PrObserved, freed: AnyFact) -> None:
    story = given(*believed(rejected()), pull=pull).after(300).then()
    assert story.status == "watching"
    story.when(freed).after(30).then("fix.requested 1/1")


@pytest.mark.parametrize(("pull", "freed"), HINDERED, ids=NAMES)
def test_the_obstacle_is_named(pull: PrObserved, freed: AnyFact, request: pytest.FixtureRequest) -> None:
    story = given(pull=pull)
    names = [obstacle.name for obstacle in obstacles(story.loop, story.policy)]
    assert names == [request.node.callspec.id]


def test_access_that_is_lost_is_one_obstacle_with_the_remedy_that_helps() -> None:
    story = collecting().when(access("lost", 1), not_fetched("access_lost")).so_far()
    (found,) = obstacles(story.loop, story.policy)
    assert (found.name, found.remedy) == ("on hold (access_lost)", "give amends its access to the repository back")


@pytest.mark.parametrize(("pull", "freed"), HINDERED[:3], ids=NAMES[:3])
def test_a_fix_that_is_prepared_behind_an_obstacle_is_not_pushed(pull: PrObserved, freed: AnyFact) -> None:
    changed = pull.model_copy(update={"updated_at": at(5)})
    story = fixing().when(changed, prepared())
    assert story.decided == [f"cycle.finished 1 cancelled {obstacles(story.loop, story.policy)[0].name}"]
    story.so_far().when(freed).after(30).then("fix.requested 2/1")


def test_a_repository_that_is_taken_off_the_list_is_not_pushed_to() -> None:
    story = fixing().when(policy_changed(repositories=()), prepared())
    story.then("cycle.finished 1 cancelled not enabled")


def test_drafts_may_be_allowed() -> None:
    given(*believed(rejected()), pull=observed(draft=True), policy=DRAFTS).after(30).then("fix.requested 1/1")


def test_a_draft_that_is_allowed_after_it_was_not_is_no_obstacle_any_more() -> None:
    story = given(*believed(rejected()), pull=observed(draft=True), policy=DRAFTS).after(30)
    story.when(policy_changed("no", drafts=False), fetched(item()), started(), prepared())
    story.so_far().when(policy_changed("yes", drafts=True), *believed(rejected(4))).after(30).then("fix.requested 2/1")


def test_the_label_to_opt_out_has_the_name_that_the_policy_gives_it() -> None:
    story = given(*believed(rejected()), pull=observed(labels=("hands off",)))
    story.when(policy_changed(opt_out_label="hands off")).after(300).then()


def test_the_repository_itself_may_switch_it_off() -> None:
    story = settling().when(policy_observed(enabled=False)).after(300).then()
    story.when(policy_observed(enabled=True)).after(30).then("fix.requested 1/1")


def test_the_repository_cannot_switch_it_on() -> None:
    story = given(*believed(rejected()), pull=observed(full_name="octo/other"))
    story.when(policy_observed(enabled=True)).after(300).then()


def test_without_any_list_no_repository_is_enabled() -> None:
    Telling().when(observed(), *believed(rejected())).so_far().after(300).then()


def test_a_pull_request_that_nobody_wants_looked_after_is_not_even_finished_by_approval() -> None:
    given(pull=observed(labels=OFF)).when(*believed(approved())).then()
    given(pull=observed(full_name="octo/other")).when(*believed(approved())).then()


def test_nothing_is_decided_before_the_pull_request_was_seen() -> None:
    story = Telling().when(policy_changed(repositories=("octo/shop",)), *believed(rejected()), closed())
    story.so_far().after(300).then()
    story.when(observed(90)).after(30).then("fix.requested 1/1")


def test_lost_access_holds_the_loop_until_it_is_granted() -> None:
    story = settling().when(access("lost", 1)).after(300).then()
    story.when(access("granted", 2)).after(30).then("fix.requested 1/1")


def test_a_cycle_that_fails_behind_an_obstacle_is_cancelled_and_not_begun_again() -> None:
    story = fixing().when(observed(5, draft=True), failed("crashed"))
    story.then("cycle.finished 1 cancelled draft")
    assert story.loop.used == 0


# --- closing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("stage", [given, settling, collecting, fixing, pushing, awaiting_review])
def test_closing_finishes_from_anywhere(stage: Callable[[], Telling], merged: bool) -> None:
    story = stage()
    story.when(closed(90, merged=merged))
    assert story.decided[-1] == f"loop.finished {'merged' if merged else 'closed'}"
    story.so_far().after(300).then()
    assert story.status == "done"


def test_a_finished_loop_is_finished_again_by_merging() -> None:
    given(*believed(approved())).so_far().when(closed(merged=True)).then("loop.finished merged")


def test_feedback_on_a_closed_pull_request_starts_nothing() -> None:
    given(closed()).so_far().when(*believed(rejected())).after(300).then()


def test_a_push_that_arrives_after_closing_is_recorded_and_starts_nothing() -> None:
    pushing().when(closed(90)).so_far().when(pushed()).after(300).then()


def test_a_command_that_nobody_carried_out_is_forgotten_at_the_end() -> None:
    story = given(command("fix"), pull=observed(draft=True)).when(closed(60), observed(90)).so_far()
    story.after(300).then()


def test_reopening_keeps_what_was_used() -> None:
    story = awaiting_review().when(closed(60), observed(90, head=NEXT)).so_far()
    story.when(*believed(rejected(4))).after(30).when(fetched(item("review/4"), n=2, head=NEXT), started(n=2))
    assert (story.loop.n, story.loop.used) == (2, 1)
