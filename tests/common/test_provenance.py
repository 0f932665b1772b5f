"""Where each value of a policy comes from: the layer, the event, whose it is, and what the file may not have."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from amends.common.events import PolicyChanged
from amends.common.policy import Overrides
from amends.common.provenance import Layers, Setting
from tests.support.facts import FULL_NAME, policy_changed, policy_observed
from tests.support.given import Telling, given


def own(repository: str = FULL_NAME, **values: Any) -> PolicyChanged:
    """A change for one repository."""
    return PolicyChanged(request=f"own-{repository}", values=Overrides.model_validate(values), repository=repository)


def told(story: Telling) -> dict[str, Setting]:
    return Layers(FULL_NAME).tell(story.events).settings()


@pytest.mark.parametrize(
    ("story", "name", "value", "layer"),
    [
        (given(), "max_cycles", 2, "default"),
        (given(policy_changed(max_cycles=5)), "max_cycles", 5, "installation"),
        (given(policy_changed(max_cycles=5), policy_observed(max_cycles=1)), "max_cycles", 1, "file"),
        (given(policy_changed(max_cycles=5), policy_observed(max_cycles=9)), "max_cycles", 5, "installation"),
        (given(policy_observed(budget={"usd": 3})), "budget.usd", 3.0, "file"),
        (given(policy_observed(budget={"usd": 3})), "budget.turns", 200, "default"),
        (given(policy_observed(protected_paths=["a"])), "protected_paths", ("a",), "file"),
        (given(), "enabled", True, "installation"),
        (given(policy_observed(enabled=False)), "enabled", False, "file"),
        (given(policy_changed(enabled=False)), "enabled", False, "installation"),
    ],
)
def test_each_value_says_which_layer_it_is_of(story: Telling, name: str, value: object, layer: str) -> None:
    setting = told(story)[name]
    assert (setting.value, setting.source.layer) == (value, layer)


def test_a_value_says_which_event_set_it() -> None:
    story = given(policy_changed("one", max_cycles=5), policy_changed("two", settle_seconds=3))
    settings = told(story)
    positions = [event.pos for event in story.events if event.key in {"policy/one", "policy/two"}]
    assert [settings[name].source.pos for name in ("max_cycles", "settle_seconds")] == positions
    assert settings["max_cycles"].source.said == f"installation, event {positions[0]} by test"


def test_what_a_file_asks_for_and_may_not_have_is_said() -> None:
    source = told(given(policy_observed(reviewers="anyone")))["reviewers"].source
    assert (source.layer, source.asked) == ("default", "anyone")
    assert source.said == "default; .github/amends.yml asks for anyone, which would widen it"


def test_a_bad_file_leaves_the_last_good_one_in_force_and_is_named() -> None:
    bad = policy_observed("c" * 40).model_copy(update={"values": None, "error": "max_cycles: no number", "line": 3})
    layers = Layers(FULL_NAME).tell(given(policy_observed(max_cycles=1), bad).events)
    assert (layers.settings()["max_cycles"].value, layers.error[:29]) == (1, "line 3: max_cycles: no number")


@pytest.mark.parametrize(
    "facts",
    [
        (),
        (policy_changed(max_cycles=7, triggers=["comments"], budget={"usd": 50}),),
        (own(max_cycles=4, reviewers="anyone"), policy_observed(max_cycles=3, reviewers=[1])),
        (policy_changed(max_cycles=7), own(max_cycles=4), own("octo/other", max_cycles=1)),
    ],
)
def test_what_is_shown_is_what_is_decided_under(facts: tuple[PolicyChanged, ...]) -> None:
    story = given(*facts)
    assert Layers(FULL_NAME).tell(story.events).policy == story.policy.model_copy(update={"versions": ""})


# --- one repository of the installation ----------------------------------------------------------------------------


def test_the_installation_may_set_a_value_for_one_repository_alone() -> None:
    story = given(policy_changed(max_cycles=5), own("OCTO/Shop", max_cycles=3), own("octo/other", max_cycles=9))
    assert (story.policy.max_cycles, told(story)["max_cycles"].source.layer) == (3, "installation")


def test_the_repositorys_file_may_tighten_that_and_not_widen_it() -> None:
    story = given(own(max_cycles=5, reviewers="anyone"), policy_observed(max_cycles=9, reviewers="write"))
    assert (story.policy.max_cycles, story.policy.reviewers) == (5, "write")


@pytest.mark.parametrize("values", [{"repositories": ["a/b"]}, {"max_fixers": 1}, {"budget": {"day_usd": 1}}])
def test_what_is_the_whole_installations_is_not_set_for_one_repository(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="of the whole installation"):
        own(**values)
