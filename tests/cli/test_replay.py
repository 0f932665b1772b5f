"""`amends replay`."""

from pathlib import Path

import pytest

from tests.support.command import called, lines
from tests.support.scribe import CHANGE, Scribe, tamper, tell_of_a_second_rejection


def exported(one: Scribe, directory: Path) -> Path:
    file = directory / "log.jsonl"
    file.write_text(called("events", "tail", "--from-pos", "1", "--database", one.url).stdout)
    return file


def test_a_summary_counts_and_has_a_digest(told: Scribe) -> None:
    [summary] = lines(called("replay", "--database", told.url).stdout)
    assert (summary["events"], summary["loops"]) == (told.log.head().pos, 2)
    assert summary["statuses"] == {"watching": 1, "awaiting_review": 1}
    assert len(summary["digest"]) == 64


def test_a_sound_log_is_verified(told: Scribe) -> None:
    result = called("replay", "--verify", "-o", "text", "--database", told.url)
    assert (result.exit_code, "verified:" in result.stdout) == (0, True)


def test_drift_is_shown_and_is_a_negative_result(told: Scribe) -> None:
    tamper(told.url, "UPDATE loops SET used = 5 WHERE kind = 'change'")
    result = called("replay", "--verify", "-o", "text", "--database", told.url)
    assert result.exit_code == 1
    assert f"differs: {CHANGE}: used is 5, and the log says 1" in result.stdout


def test_a_loop_is_shown_as_it_was(told: Scribe) -> None:
    [loop] = lines(called("replay", "--to-pos", "8", "--loop", "octo/shop#7", "--database", told.url).stdout)
    assert (loop["status"], loop["state"]["pos"]) == ("collecting", 8)


def test_a_time_ends_the_replay(told: Scribe) -> None:
    [summary] = lines(called("replay", "--to-time", "2020-01-01", "--database", told.url).stdout)
    assert (summary["events"], summary["time"]) == (0, None)


def test_a_file_of_events_is_replayed_to_the_same_digest(told: Scribe, tmp_path: Path) -> None:
    [from_file] = lines(called("replay", "--file", str(exported(told, tmp_path))).stdout)
    [from_log] = lines(called("replay", "--database", told.url).stdout)
    assert from_file["digest"] == from_log["digest"]


@pytest.mark.parametrize("line", ["nonsense", "{}", '{"pos": 1}', '["data"]', pytest.param("[" * 100_000, id="deep")])
def test_a_file_of_something_else_is_a_usage_error_that_names_the_line(tmp_path: Path, line: str) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(f"{line}\n")
    result = called("replay", "--file", str(file))
    assert (result.exit_code, f"line 1 of {file}" in result.output) == (2, True)


def test_another_policy_shows_what_it_would_have_decided(told: Scribe, tmp_path: Path) -> None:
    tell_of_a_second_rejection(told)
    (tmp_path / "stricter.toml").write_text("max_cycles = 1\n")
    result = called("replay", "--policy", str(tmp_path / "stricter.toml"), "-o", "text", "--database", told.url)
    assert (result.exit_code, result.stdout.splitlines()[0].startswith(CHANGE)) == (1, True)
    assert "  - fix.requested cycle/2/1/requested" in result.stdout
    assert "escalated/max_cycles" in result.stdout.splitlines()[-1]


def test_a_policy_that_changes_nothing_is_no_difference(told: Scribe, tmp_path: Path) -> None:
    (tmp_path / "same.json").write_text('{"max_cycles": 3}')
    result = called("replay", "--policy", str(tmp_path / "same.json"), "--database", told.url)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "0 loops would have gone another way" in result.stderr


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("max_cycles = 0", "max_cycles"),
        ("max_cycels = 1", "max_cycels"),
        ("=", ""),
        pytest.param(f"x = {'[' * 100_000}", "", id="deep"),
    ],
)
def test_a_wrong_policy_is_a_usage_error_that_names_the_field(
    told: Scribe, tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "policy.toml").write_text(text)
    result = called("replay", "--policy", str(tmp_path / "policy.toml"), "--database", told.url)
    assert (result.exit_code, why in result.output) == (2, True)


@pytest.mark.parametrize("cut", [("--to-pos", "3"), ("--loop", "octo/shop#7")])
def test_verify_goes_with_nothing_that_cuts_the_log(told: Scribe, cut: tuple[str, ...]) -> None:
    tamper(told.url, "UPDATE loops SET used = 5 WHERE kind = 'change'")
    assert called("replay", "--verify", *cut, "--database", told.url).exit_code == 2


def test_another_policy_is_tried_on_every_loop_and_not_on_one(told: Scribe, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("max_cycles = 1")
    policy = ("--policy", str(tmp_path / "policy.toml"))
    assert called("replay", *policy, "--loop", "octo/shop#7", "--database", told.url).exit_code == 2


def test_a_loop_of_a_file_goes_by_its_pull_request_too(told: Scribe, tmp_path: Path) -> None:
    file = str(exported(told, tmp_path))
    [by_name], [by_pull] = (
        lines(called("replay", "--file", file, "--loop", one).stdout) for one in (CHANGE, "Octo/shop#7")
    )
    assert by_name == by_pull


@pytest.mark.parametrize(
    "order", [slice(5, None), slice(None, None, -1), slice(0, None, 2)], ids=["end", "back", "half"]
)
def test_a_file_without_all_of_a_loop_is_not_folded_into_what_it_never_was(
    told: Scribe, tmp_path: Path, order: slice
) -> None:
    file = exported(told, tmp_path)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[order]))
    result = called("replay", "--file", str(file))
    assert (result.exit_code, "it takes all of a loop" in result.output) == (2, True)
