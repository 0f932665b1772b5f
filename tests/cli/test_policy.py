"""`amends policy`: what is in force and why, changes, and a file's check."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import opened
from tests.support.command import called, lines
from tests.support.facts import policy_changed
from tests.support.github import Scene
from tests.support.scribe import Scribe

REPO = ("--repo", "octo/shop")


def values(*arguments: str) -> dict[str, Any]:
    [shown] = lines(called("policy", "show", *REPO, *arguments).stdout)
    found = shown["values"]
    assert isinstance(found, dict)
    return found


def test_it_shows_every_value_with_its_layer_and_event(told: Scribe) -> None:
    told.tell(policy_changed("more", max_cycles=4))
    shown = values("--database", told.url)
    assert (shown["max_cycles"]["value"], shown["max_cycles"]["layer"]) == (4, "installation")
    assert shown["max_cycles"]["pos"] == told.log.head().pos
    assert (shown["budget.usd"]["value"], shown["budget.usd"]["layer"]) == (10.0, "default")


def test_it_explains_in_a_line_for_each_value(told: Scribe) -> None:
    text = called("policy", "show", *REPO, "--explain", "-o", "text", "--database", told.url).stdout
    said = {line.partition(" = ")[0]: line.partition("# ")[2] for line in text.splitlines()}
    assert said["max_cycles"] == "default"
    assert said["enabled"].startswith("installation, event ")
    plain = called("policy", "show", *REPO, "-o", "text", "--database", told.url).stdout
    assert "max_cycles = 2" in plain.splitlines()


@pytest.mark.connected
def test_a_change_is_recorded_in_the_operators_name_and_shown_as_a_difference(running: Path) -> None:
    opened(running, 201)
    data = ("--data-dir", str(running))
    text = called("policy", "set", "max_reraises=5", "budget.turns=150", "-o", "text", *data).stdout
    assert "max_reraises: (not set) -> 5" in text
    shown = values(*data)
    assert (shown["max_reraises"]["value"], shown["budget.turns"]["value"]) == (5, 150)
    assert f"recorded as event {shown['max_reraises']['pos']}" in text
    assert shown["max_reraises"]["actor"] not in {"", "cli"}


@pytest.mark.connected
def test_the_same_change_again_changes_nothing(running: Path) -> None:
    opened(running, 202)
    data = ("--data-dir", str(running))
    outcomes = [lines(called("policy", "set", "max_attempts=4", *data).stdout)[0] for _ in range(2)]
    assert (outcomes[0]["pos"] > 0, outcomes[1]["pos"], outcomes[1]["changed"]) == (True, 0, {})


@pytest.mark.connected
def test_a_change_for_one_repository_leaves_the_others(running: Path) -> None:
    opened(running, 203)
    data = ("--data-dir", str(running))
    called("policy", "set", "triggers=[comments]", *REPO, *data)
    [other] = lines(called("policy", "show", "--repo", "octo/other", *data).stdout)
    assert (values(*data)["triggers"]["value"], other["values"]["triggers"]["value"]) == (["comments"], [])


@pytest.mark.connected
def test_lists_grow_and_shrink_by_what_is_named(running: Path) -> None:
    opened(running, 204)
    data = ("--data-dir", str(running))
    for change in ("bots=[1,2]", "bots+=3", "bots-=[1]"):
        assert called("policy", "set", change, *data).exit_code == 0
    assert values(*data)["bots"]["value"] == [2, 3]


@pytest.mark.connected
def test_what_is_unset_comes_from_the_layer_below_again(running: Path) -> None:
    opened(running, 206)
    data = ("--data-dir", str(running))
    called("policy", "set", "max_iterations=7", "budget.tokens=5", *data)
    called("policy", "set", "max_iterations=9", *REPO, *data)
    assert (
        "max_iterations: 9 -> (not set)"
        in called("policy", "unset", "max_iterations", *REPO, "-o", "text", *data).stdout
    )
    assert values(*data)["max_iterations"]["value"] == 7
    [told] = lines(called("policy", "unset", "max_iterations", "budget.tokens", *data).stdout)
    assert told["changed"]["budget.tokens"] == {"before": 5, "after": None}
    shown = values(*data)
    assert (shown["max_iterations"]["layer"], shown["budget.tokens"]["layer"]) == ("default", "default")


def test_what_there_is_not_cannot_be_unset(told: Scribe) -> None:
    refused = called("policy", "unset", "max_cycle", "--database", told.url)
    assert (refused.exit_code, "there is no max_cycle" in refused.stderr) == (2, True)


@pytest.mark.connected
def test_a_trial_shows_the_difference_and_records_nothing(running: Path) -> None:
    opened(running, 205)
    data = ("--data-dir", str(running))
    [trial] = lines(called("policy", "set", "settle_seconds=77", "--dry-run", *data).stdout)
    assert (trial["pos"], trial["changed"]["settle_seconds"]["after"]) == (0, 77)
    assert values(*data)["settle_seconds"]["value"] != 77


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("max_cycles=0",), "max_cycles: "),
        (("max_cycels=3",), "max_cycels: there is no such value; did you mean max_cycles?"),
        (("repositories=octo/shop",), "repositories: Input should be a list"),
        (("repositories=[shop]",), "repositories: each is owner/repo"),
        (("reviewers=everyone",), "reviewers"),
        (("budget.usd=lots",), "budget.usd: "),
        (("max_cycles",), "say KEY=VALUE"),
        (("max_cycles+=1",), "only a list"),
        (("killed=true",), "killed: "),
        (("checks=[",), "checks: its value cannot be read"),
        (("custom_prompt=2026-02-30",), "custom_prompt: its value cannot be read"),
        (("budget=little", "budget.usd=3"), "budget: "),
        (("max_fixers=1", *REPO), "of the whole installation"),
        (("max_cycles=1", "--repo", "shop"), "say owner/repo"),
    ],
)
def test_what_means_nothing_is_refused_by_its_name_before_anything_is_sent(
    told: Scribe, arguments: tuple[str, ...], words: str
) -> None:
    result = called("policy", "set", *arguments, "--database", told.url)
    assert (result.exit_code, words in result.output) == (2, True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("reviewers=[bob, carol]", ("bob", "carol")),
        ("reviewers=[rita]", "rita may read there"),
        ("reviewers=[nobody-here]", "nobody is called nobody-here"),
        ("reviewers=['a b']", "no login and no number"),
        ("reviewers=['renovate[bot]']", "renovate[bot] is a bot"),
        ("bots=['renovate[bot]']", ("renovate[bot]",)),
        ("bots=[bob]", "bob is no bot"),
    ],
)
def test_logins_become_numbers_and_must_have_a_say(
    told: Scribe, scene: Scene, monkeypatch: pytest.MonkeyPatch, change: str, expected: str | tuple[str, ...]
) -> None:
    scene.double.bot("renovate")
    told.tell(policy_changed("there", repositories=("acme/widget",)))
    monkeypatch.setenv("AMENDS_GITHUB_API_URL", scene.double.api_url)
    monkeypatch.setenv("AMENDS_GITHUB_GRAPHQL_URL", scene.double.graphql_url)
    monkeypatch.setenv("AMENDS_GITHUB_TOKEN", scene.double.token("octocat"))
    result = called("policy", "set", change, "--dry-run", "--database", told.url)
    if isinstance(expected, str):
        assert (result.exit_code, expected in result.output) == (2, True)
    else:
        [changed] = lines(result.stdout)
        numbers = [scene.double.user(login).id for login in expected]
        assert changed["changed"][change.partition("=")[0]]["after"] == numbers


def test_without_github_logins_are_refused_with_the_remedy(told: Scribe) -> None:
    result = called("policy", "set", "reviewers=[bob]", "--dry-run", "--database", told.url)
    assert (result.exit_code, "give numbers" in result.output) == (2, True)


def test_a_good_file_is_good(tmp_path: Path) -> None:
    file = tmp_path / "amends.yml"
    file.write_text("max_cycles: 1\nbudget:\n  usd: 3\n")
    result = called("policy", "validate", str(file), "-o", "text")
    assert (result.exit_code, "2 values, all of them good" in result.stdout) == (0, True)


@pytest.mark.parametrize(
    ("content", "line"),
    [(b"max_cycles: 1\nmax_cycle: 2\n", 2), (b"repositories: [a/b]\n", 1), (b"a: [\n", 2), (b"\xff\xfe", 1)],
)
def test_a_bad_file_is_a_negative_result_with_its_line(tmp_path: Path, content: bytes, line: int) -> None:
    file = tmp_path / "amends.yml"
    file.write_bytes(content)
    result = called("policy", "validate", str(file), "-o", "text")
    assert (result.exit_code, f"amends.yml:{line}: " in result.output) == (1, True)
