"""`amends doctor`."""

from pathlib import Path

import pytest

from amends.evaluator.migrate import migrate
from tests.cli.conftest import opened
from tests.support.command import called, lines
from tests.support.scribe import Scribe, tamper


def checked(*arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    result = called("doctor", *arguments)
    return result.exit_code, {check["name"]: check for check in lines(result.stdout)}


def test_a_sound_log_is_healthy_although_nothing_runs(told: Scribe, tmp_path: Path) -> None:
    code, checks = checked("--database", told.url, "--data-dir", str(tmp_path))
    assert (code, checks["log"]["status"], checks["guards"]["status"]) == (0, "ok", "ok")
    assert checks["evaluator"]["status"] == "warn"


def test_the_whole_log_is_audited_when_asked(told: Scribe, tmp_path: Path) -> None:
    code, checks = checked("--log", "--deep", "--database", told.url, "--data-dir", str(tmp_path))
    assert (code, checks["audit"]["status"]) == (0, "ok")
    assert checks["audit"]["found"].startswith("I1 to I8 hold: 17 events, 2 loops, 1 blobs")


def test_a_violation_is_named_with_position_and_remedy_and_exit_code_1(told: Scribe, tmp_path: Path) -> None:
    tamper(told.url, "UPDATE events SET data = replace(data, 'maria', 'carla') WHERE pos = 5")
    code, checks = checked("--log", "--database", told.url, "--data-dir", str(tmp_path))
    assert (code, checks["I8"]["status"]) == (1, "fail")
    assert checks["I8"]["found"].startswith("at position 5: its hash")
    assert "restore a backup" in checks["I8"]["remedy"]
    assert checks["guards"]["status"] == "fail"


def test_text_names_the_remedy_below_what_is_wrong(told: Scribe, tmp_path: Path) -> None:
    tamper(told.url)
    text = called("doctor", "-o", "text", "--database", told.url, "--data-dir", str(tmp_path)).stdout
    assert "fail  guards" in text
    assert "-> compare with a backup" in text


def test_where_nothing_ever_ran_all_the_rest_is_looked_at(tmp_path: Path) -> None:
    code, checks = checked("--data-dir", str(tmp_path))
    assert (code, {"git", "sandbox", "disk", "github", "model"} <= checks.keys()) == (0, True)
    assert (checks["log"]["status"], "`amends up` makes one" in checks["log"]["remedy"]) == ("warn", True)
    assert all(check["remedy"] for check in checks.values() if check["status"] != "ok")


def test_a_log_that_is_to_be_audited_has_to_be_there(tmp_path: Path) -> None:
    code, checks = checked("--log", "--data-dir", str(tmp_path))
    assert (code, {"git", "sandbox", "disk", "github", "model"} <= checks.keys()) == (3, True)


def test_a_log_of_another_version_says_so(tmp_path: Path) -> None:
    (tmp_path / "amends.db").write_bytes(b"")
    result = called("doctor", "--data-dir", str(tmp_path))
    assert (result.exit_code, "migrate" in result.output) == (3, True)


def test_an_empty_log_is_healthy(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path}/amends.db")
    assert checked("--log", "--data-dir", str(tmp_path))[0] == 0


@pytest.mark.connected
def test_a_running_evaluator_answers_and_its_mirror_is_compared(running: Path) -> None:
    opened(running, 401)
    code, checks = checked("--log", "--data-dir", str(running))
    assert (code, checks["evaluator"]["status"], checks["mirror"]["status"]) == (0, "ok", "ok")
    assert "0 mirrored messages" not in checks["audit"]["found"]


def test_a_command_that_is_not_there_is_named_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(f"sqlite:///{tmp_path}/amends.db")
    monkeypatch.setenv("AMENDS_AGENT_COMMAND", "no-such-agent -p")
    code, checks = checked("--data-dir", str(tmp_path))
    assert (code, checks["agent"]["status"]) == (0, "warn")
    assert "no 'no-such-agent' inside the sandbox" in checks["agent"]["found"]
    assert "sandbox.readable" in checks["agent"]["remedy"]


def test_a_command_that_is_there_still_needs_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(f"sqlite:///{tmp_path}/amends.db")
    monkeypatch.setenv("AMENDS_AGENT_COMMAND", "cat")
    assert "model.api_key" in checked("--data-dir", str(tmp_path))[1]["agent"]["remedy"]
    monkeypatch.setenv("AMENDS_MODEL_API_KEY", "x")
    assert checked("--data-dir", str(tmp_path))[1]["agent"]["status"] == "ok"


def test_what_takes_more_of_the_disk_than_it_may_is_told_with_the_setting(
    told: Scribe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "fixer/workspaces/.aside/1-pr-1"
    place.mkdir(parents=True)
    (place / "mine").write_bytes(bytes(2_000_000))
    monkeypatch.setenv("AMENDS_FIXER_DISK_MB", "1")
    code, checks = checked("--database", told.url, "--data-dir", str(tmp_path))
    assert (code, checks["workspaces"]["status"], checks["publisher"]["status"]) == (0, "warn", "ok")
    assert checks["workspaces"]["found"] == "2.0 MB of 1 (fixer.disk_mb), of which 2.0 MB was set aside for a human"
