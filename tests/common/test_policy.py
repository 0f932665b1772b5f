"""Three layers of settings: what each may do, and what becomes of a cycle when they change under it."""

import pytest
from pydantic import ValidationError

from amends.common.events import FixRequested
from amends.common.policy import Budget, BudgetOverrides, Overrides, Policy, WaitsOverrides, effective, merged, tightest
from tests.support.facts import TOM, believed, failed, fetched, item, policy_changed, policy_observed, rejected, started
from tests.support.given import Telling, collecting, fixing, given

LISTED = Overrides(repositories=("octo/shop",))


def both(installation: Overrides, repository: Overrides) -> Policy:
    return effective(merged(LISTED, installation), repository, "octo/shop")


# --- defaults ------------------------------------------------------------------------------------------------------


def test_the_defaults_are_those_of_the_design() -> None:
    policy = both(Overrides(), Overrides())
    assert (policy.enabled, policy.triggers, policy.reviewers, policy.bots) == (True, (), "write", ())
    assert (policy.max_cycles, policy.max_iterations, policy.max_fixers) == (2, 3, 2)
    assert (policy.settle_seconds, policy.budget.agent_seconds, policy.severity_threshold) == (30, 600, "medium")


def test_no_repository_is_enabled_unless_it_is_listed() -> None:
    assert not effective(Overrides(), Overrides(), "octo/shop").enabled
    assert not effective(LISTED, Overrides(), "octo/other").enabled
    assert not effective(Overrides(repositories=()), Overrides(), "octo/shop").enabled


def test_a_repository_is_listed_in_any_case() -> None:
    assert effective(LISTED, Overrides(), "Octo/Shop").enabled


# --- the installation ----------------------------------------------------------------------------------------------


def test_a_change_of_the_installation_sets_what_it_names_and_leaves_the_rest() -> None:
    story = given().when(policy_changed("one", max_cycles=5), policy_changed("two", settle_seconds=3))
    assert (story.policy.max_cycles, story.policy.settle_seconds) == (5, 3)


def test_parts_of_a_part_are_set_one_by_one() -> None:
    older = Overrides(budget=BudgetOverrides(usd=5.0, turns=7), waits=WaitsOverrides(push_seconds=9))
    newer = merged(older, Overrides(budget=BudgetOverrides(usd=3.0)))
    assert newer.budget == BudgetOverrides(usd=3.0, turns=7)
    assert newer.waits == older.waits


def test_the_installation_may_set_any_value() -> None:
    policy = both(Overrides(max_cycles=9, reviewers="anyone", bots=(1, 2), drafts=True), Overrides())
    assert (policy.max_cycles, policy.reviewers, policy.bots, policy.drafts) == (9, "anyone", (1, 2), True)


# --- the repository may tighten and never widen --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("installation", "repository", "name", "expected"),
    [
        (Overrides(max_cycles=3), Overrides(max_cycles=9), "max_cycles", 3),
        (Overrides(max_cycles=3), Overrides(max_cycles=1), "max_cycles", 1),
        (Overrides(enabled=False), Overrides(enabled=True), "enabled", False),
        (Overrides(), Overrides(enabled=False), "enabled", False),
        (Overrides(), Overrides(reviewers="anyone"), "reviewers", "write"),
        (Overrides(reviewers="anyone"), Overrides(reviewers="write"), "reviewers", "write"),
        (Overrides(), Overrides(reviewers=(1, 2)), "reviewers", (1, 2)),
        (Overrides(reviewers=(1, 2)), Overrides(reviewers=(2, 3)), "reviewers", (2,)),
        (Overrides(reviewers=(1, 2)), Overrides(reviewers="write"), "reviewers", (1, 2)),
        (Overrides(reviewers=()), Overrides(reviewers="anyone"), "reviewers", ()),
        (Overrides(bots=(1, 2)), Overrides(bots=(2, 3)), "bots", (2,)),
        (Overrides(max_fixers=2), Overrides(max_fixers=9), "max_fixers", 2),
        (Overrides(max_attempts=2), Overrides(max_attempts=9), "max_attempts", 2),
        (Overrides(protected_paths=("a",)), Overrides(protected_paths=("b",)), "protected_paths", ("a", "b")),
        (Overrides(notify=("github",)), Overrides(notify=("github", "slack")), "notify", ("github",)),
        (Overrides(), Overrides(triggers=("comments",)), "triggers", ("comments",)),
        (Overrides(), Overrides(settle_seconds=90), "settle_seconds", 90),
    ],
)
def test_a_repositorys_value_meets_the_installations(
    installation: Overrides, repository: Overrides, name: str, expected: object
) -> None:
    assert getattr(both(installation, repository), name) == expected


def test_a_repository_may_spend_less_and_never_more() -> None:
    policy = both(Overrides(), Overrides(budget=BudgetOverrides(usd=99.0, turns=5)))
    assert (policy.budget.usd, policy.budget.turns) == (10.0, 5)


def test_a_repository_does_not_choose_how_long_others_may_take() -> None:
    assert both(Overrides(), Overrides(waits=WaitsOverrides(push_seconds=1))).waits.push_seconds == 600


def test_a_repository_lists_no_repositories() -> None:
    policy = effective(Overrides(), Overrides(repositories=("octo/shop",), enabled=True), "octo/shop")
    assert not policy.enabled


# --- the repository's file -----------------------------------------------------------------------------------------


def test_a_bad_file_leaves_the_last_good_one_in_force() -> None:
    story = given(policy_observed(max_cycles=1)).when(
        policy_observed("c" * 40).model_copy(update={"values": None, "error": "max_cycles: not a number", "line": 3})
    )
    assert story.policy.max_cycles == 1
    assert story.loops["1-policy"].rules_error == "line 3: max_cycles: not a number"


def test_a_good_file_takes_the_error_away_and_replaces_the_one_before() -> None:
    story = given(policy_observed(max_cycles=1)).when(
        policy_observed("c" * 40).model_copy(update={"values": None, "error": "x"}),
        policy_observed("d" * 40, settle_seconds=7),
    )
    assert (story.policy.max_cycles, story.policy.settle_seconds) == (2, 7)
    assert story.loops["1-policy"].rules_error == ""


def test_a_policy_says_which_versions_it_was_folded_from() -> None:
    story = given(policy_observed(max_cycles=1))
    installation, repository = story.loops["installation"], story.loops["1-policy"]
    assert story.policy.versions == f"{installation.version}.{repository.version}"


@pytest.mark.parametrize(
    "values", [{"max_cycles": 0}, {"reviewers": "everyone"}, {"budget": {"usd": -1}}, {"surprise": 1}, {"bots": ["x"]}]
)
def test_values_that_mean_nothing_are_no_policy(values: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Overrides.model_validate(values)


# --- under a running cycle -----------------------------------------------------------------------------------------


def attempt(story: Telling) -> FixRequested:
    """What the second attempt of the running cycle is told."""
    return story.when(failed("crashed")).last(FixRequested)


def test_a_request_carries_the_rules_of_the_whole_cycle() -> None:
    story = collecting(Overrides(max_cycles=7))
    assert story.last(FixRequested).rules == story.policy


def test_a_change_applies_from_the_next_cycle() -> None:
    story = fixing().when(policy_changed(max_cycles=9, custom_prompt="be kind", severity_threshold="low"))
    rules = attempt(story).rules
    assert (rules.max_cycles, rules.custom_prompt, rules.severity_threshold) == (2, "", "medium")


def test_what_is_tighter_applies_at_once() -> None:
    story = fixing().when(policy_changed(protected_paths=("deploy/**",), budget={"turns": 3}, reviewers=(12,)))
    rules = attempt(story).rules
    assert (rules.protected_paths, rules.budget.turns, rules.reviewers) == (("deploy/**",), 3, (12,))


def test_what_is_wider_waits_for_the_next_cycle() -> None:
    story = fixing().when(policy_changed(budget={"turns": 999}, reviewers="anyone", bots=(1,)))
    rules = attempt(story).rules
    assert (rules.budget.turns, rules.reviewers, rules.bots) == (200, "write", ())


def test_tightest_is_never_wider_than_either() -> None:
    one = Policy(enabled=True, triggers=("comments", "checks"), budget=Budget(usd=1.0, turns=9))
    other = Policy(enabled=True, triggers=("checks",), budget=Budget(usd=5.0, turns=1))
    rules = tightest(one, other)
    assert (rules.triggers, rules.budget.usd, rules.budget.turns) == (("checks",), 1.0, 1)


def test_the_next_cycle_has_the_changed_rules() -> None:
    story = collecting().when(policy_changed(max_cycles=9), fetched(item()), started()).when(failed("no_change"))
    story.when(*believed(rejected(4, TOM)))
    assert story.policy.max_cycles == 9
