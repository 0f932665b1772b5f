"""`amends loops`: looking, watching, and saying something."""

from pathlib import Path

import pytest

from amends.cli.orders import ORDERS, WORDS
from amends.common.log import Log
from amends.common.loop import Loop
from amends.common.state import load
from tests.cli.conftest import HOSTILE, opened
from tests.support.command import called, lines, ran, started
from tests.support.facts import command, policy_changed
from tests.support.scribe import CHANGE, Scribe, tell_of_a_second_rejection, tell_of_approval


def test_a_list_has_a_line_for_each_loop_the_last_to_change_first(told: Scribe) -> None:
    found = lines(called("loops", "list", "--database", told.url).stdout)
    assert [(loop["name"], loop["status"]) for loop in found] == [
        ("octo/shop#7", "awaiting_review"), ("installation", "watching"),
    ]  # fmt: skip
    assert (found[0]["title"], found[0]["used"]) == (HOSTILE, 1)


def test_a_list_may_be_of_one_status_or_one_repository(told: Scribe) -> None:
    for arguments, names in (
        (("--status", "awaiting_review"), ["octo/shop#7"]), (("--repo", "OCTO/shop"), ["octo/shop#7"]),
        (("--status", "done"), []), (("-n", "1"), ["octo/shop#7"]),
    ):  # fmt: skip
        result = called("loops", "list", *arguments, "--database", told.url)
        assert [loop["name"] for loop in lines(result.stdout)] == names


def test_an_empty_list_says_on_stderr_how_loops_begin(sqlite_url: str) -> None:
    result = called("loops", "list", "-o", "text", "--database", sqlite_url)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No loops" in result.stderr


def test_a_table_is_aligned_and_says_who_is_needed(told: Scribe) -> None:
    told.tell(command("stop"))
    head, first, second = called("loops", "list", "-o", "text", "--database", told.url).stdout.splitlines()
    assert head.split() == ["LOOP", "STATUS", "CYCLE", "USED", "NEEDS", "CHANGED", "TITLE"]
    assert first.index("done") == second.index("watching") == head.index("STATUS")


@pytest.mark.parametrize(
    "reference", ["octo/shop#7", "OCTO/Shop#7", "https://github.com/octo/shop/pull/7/files", CHANGE]
)
def test_a_loop_goes_by_many_names(told: Scribe, reference: str) -> None:
    [loop] = lines(called("loops", "show", reference, "--database", told.url).stdout)
    assert loop["loop"] == CHANGE


def test_a_loop_that_nobody_knows_is_a_negative_result_that_says_how_to_name_one(told: Scribe) -> None:
    result = called("loops", "show", "octo/shop#8", "--database", told.url)
    assert (result.exit_code, "say owner/repo#42" in result.output) == (1, True)


def test_show_has_the_state_the_items_and_the_waits(told: Scribe) -> None:
    [loop] = lines(called("loops", "show", CHANGE, "--database", told.url).stdout)
    assert loop["state"]["items"]["review/1"]["verdicts"]
    assert {each["service"] for each in loop["outstanding"]} == {"notifier"}
    text = called("loops", "show", CHANGE, "-o", "text", "--database", told.url).stdout
    assert all(word in text for word in ("review/1", "fixed", "maria", "WAITS FOR", "notifier", "TIMER", "tell/"))


# --- watching ------------------------------------------------------------------------------------------------------


def test_watching_ends_when_the_loop_is_done(told: Scribe) -> None:
    with started(("loops", "watch", CHANGE, "--database", told.url, "--exit-status")) as watching:
        assert watching.stdout is not None
        assert lines(watching.stdout.readline())[0]["status"] == "awaiting_review"
        tell_of_approval(told)
        assert lines(watching.communicate(timeout=10)[0])[-1]["status"] == "done"
        assert watching.returncode == 0


def test_watching_can_end_with_the_loops_own_outcome(told: Scribe) -> None:
    told.tell(policy_changed("fewer", max_cycles=1))
    tell_of_a_second_rejection(told)
    result = called("loops", "watch", CHANGE, "--exit-status", "--database", told.url)
    assert (result.exit_code, lines(result.stdout)[-1]["status"]) == (1, "needs_human")


# --- saying something ----------------------------------------------------------------------------------------------


def state(directory: Path, loop: str) -> Loop:
    log = Log(f"sqlite:///{directory}/amends.db")
    row = log.loop(loop)
    log.close()
    assert row is not None
    return load(row.state)


@pytest.mark.connected
def test_a_command_is_recorded_with_its_reason_and_what_came_of_it(running: Path) -> None:
    loop = opened(running, 101)
    result = called("loops", "pause", loop, "a release is near", "--data-dir", str(running))
    [outcome] = lines(result.stdout)
    assert (result.exit_code, outcome["outcome"]) == (0, "accepted")
    assert state(running, loop).paused.startswith("command/cli-")
    [given] = lines(called("events", "show", str(outcome["pos"]), "--data-dir", str(running)).stdout)
    assert (given["data"]["text"], given["data"]["author"]["kind"]) == ("a release is near", "token")


@pytest.mark.connected
def test_a_command_that_the_loop_refuses_is_a_negative_result_with_the_reason(running: Path) -> None:
    loop = opened(running, 102)
    result = called("loops", "retry", loop, "--data-dir", str(running), "-o", "text")
    assert (result.exit_code, "nothing failed and no question is open" in result.output) == (1, True)


@pytest.mark.connected
def test_a_paused_loop_takes_a_command_when_it_is_resumed(running: Path) -> None:
    loop = opened(running, 103)
    called("loops", "pause", loop, "--data-dir", str(running))
    result = called("loops", "ready", loop, "--data-dir", str(running), "-o", "text")
    assert (result.exit_code, "when the loop is resumed" in result.stdout) == (0, True)


@pytest.mark.connected
def test_what_cannot_be_taken_back_is_asked_again_unless_yes_is_said(running: Path) -> None:
    loop = opened(running, 104)
    asked = ran("loops", "stop", loop, "--data-dir", str(running))
    assert (asked.returncode, "say --yes" in asked.stderr) == (2, True)
    assert ran("loops", "stop", loop, "--yes", "--data-dir", str(running)).returncode == 0
    assert state(running, loop).finished == "stopped"


@pytest.mark.connected
def test_refine_takes_the_text_to_work_on(running: Path) -> None:
    loop = opened(running, 105)
    called("loops", "refine", loop, "use a constant", "--data-dir", str(running))
    assert [item.text for item in state(running, loop).items.values()] == ["use a constant"]


@pytest.mark.connected
def test_who_does_not_wait_is_told_that_it_is_recorded_and_no_more(running: Path) -> None:
    loop = opened(running, 106)
    result = called("loops", "ready", loop, "--no-wait", "--data-dir", str(running))
    [outcome] = lines(result.stdout)
    assert (result.exit_code, outcome["outcome"], state(running, loop).finished) == (0, "waiting", "ready")


@pytest.mark.connected
def test_refine_without_a_text_is_asked_in_the_wrong_way(running: Path) -> None:
    loop = opened(running, 107)
    results = [called("loops", "refine", loop, *text, "--data-dir", str(running)) for text in ((), (" ",))]
    assert [result.exit_code for result in results] == [2, 2]
    assert state(running, loop).items == {}


@pytest.mark.parametrize("text", ["\udce4", "x" * 20_001])
def test_a_text_that_cannot_be_recorded_is_asked_in_the_wrong_way(told: Scribe, text: str) -> None:
    result = called("loops", "refine", "octo/shop#7", text, "--database", told.url)
    assert (result.exit_code, "Error: refine: the text: " in result.output) == (2, True)


@pytest.mark.connected
def test_the_whole_installation_is_paused_and_resumed_by_one_word(running: Path) -> None:
    loop = opened(running, 108)
    data = ("--data-dir", str(running))
    outcomes = [lines(called(word, "--all", *data).stdout)[0]["outcome"] for word in ("pause", "resume")]
    assert outcomes == ["accepted", "accepted"]
    again = called("resume", "--all", *data)
    assert (again.exit_code, "there is nothing to resume" in again.output) == (1, True)
    assert lines(called("pause", loop, *data).stdout)[0]["outcome"] == "accepted"


@pytest.mark.parametrize("arguments", [(), ("octo/shop#7", "--all")])
def test_to_pause_everything_and_to_pause_one_loop_are_two_things(arguments: tuple[str, ...], told: Scribe) -> None:
    result = called("pause", *arguments, "--database", told.url)
    assert (result.exit_code, "pause what?" in result.output) == (2, True)


def test_a_command_needs_a_running_evaluator(told: Scribe, tmp_path: Path) -> None:
    result = called("loops", "pause", CHANGE, "--database", told.url, "--data-dir", str(tmp_path))
    assert (result.exit_code, "start `amends up`" in result.output) == (3, True)


def test_every_word_of_a_human_has_a_command() -> None:
    assert {order.name for order in ORDERS} == set(WORDS)
