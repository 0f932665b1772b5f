"""`amends migrate`, `amends backup` and `amends restore`, with real processes."""

import subprocess
from pathlib import Path

import pytest

from amends.common.identity import About
from tests.cli.conftest import opened, reported
from tests.support.command import AMENDS, WHOLE, called, lines, nats_url, ran, up
from tests.support.facts import command
from tests.support.scribe import Scribe, tamper


def test_a_database_is_migrated_once(tmp_path: Path) -> None:
    first, second = (called("migrate", "--data-dir", str(tmp_path)) for _ in range(2))
    assert [lines(result.stdout)[0]["migrated"] for result in (first, second)] == [True, False]


def test_roles_go_together_and_only_with_postgresql(tmp_path: Path) -> None:
    alone = called("migrate", "--recorder-role", "r", "--data-dir", str(tmp_path))
    sqlite = called("migrate", "--recorder-role", "r", "--reader-role", "s", "--data-dir", str(tmp_path))
    assert (alone.exit_code, sqlite.exit_code) == (2, 2)


def test_a_database_that_cannot_be_had_is_not_reachable() -> None:
    result = called("migrate", "--database", "postgresql://nobody@127.0.0.1:1/none")
    assert result.exit_code == 3


@pytest.mark.connected
def test_a_log_restored_from_a_backup_gets_its_end_back_from_the_mirror(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with up(data):
        loop = opened(data, 301)
        assert called("backup", str(copy), "--data-dir", str(data)).exit_code == 0
        reported(data, About(loop=loop), command("pause"))
        whole = digest(data)
    lose(data)
    assert called("restore", str(copy), "--data-dir", str(data)).exit_code == 0
    ahead = ran("up", "--data-dir", str(data))
    assert (ahead.returncode, "amends restore --import-tail" in ahead.stderr) == (1, True)
    assert lines(called("restore", "--import-tail", "--data-dir", str(data)).stdout)[0]["imported"] == 3
    assert called("replay", "--verify", "--data-dir", str(data)).exit_code == 0
    assert digest(data) == whole
    with up(data):
        assert ran("doctor", "--log", "--deep", "--data-dir", str(data)).returncode == 0


@pytest.mark.connected
def test_a_backup_goes_on_elsewhere(running: Path, tmp_path: Path) -> None:
    loop, copy, data = opened(running, 303), tmp_path / "copy.db", tmp_path / "elsewhere"
    [said] = lines(called("backup", str(copy), "--data-dir", str(running)).stdout)
    assert called("restore", str(copy), "--data-dir", str(data)).exit_code == 0
    with up(data):
        reported(data, About(loop=loop), command("pause"))
        assert ran("doctor", "--log", "--deep", "--data-dir", str(data)).returncode == 0
    assert called("replay", "--verify", "--data-dir", str(data)).exit_code == 0
    after = [
        one["type"]
        for one in lines(
            called("events", "tail", "--from-pos", str(said["events"] + 1), "--data-dir", str(data)).stdout
        )
    ]
    assert after == ["command.given", "command.accepted", "loop.paused"]


@pytest.mark.connected
def test_a_log_is_no_backup_of_itself(running: Path) -> None:
    file = running / "amends.db"
    before = file.stat().st_ino
    refused = called("backup", str(file), "--force", "--data-dir", str(running))
    assert (refused.exit_code, file.stat().st_ino) == (2, before)
    assert "is the log itself" in refused.stderr


@pytest.mark.connected
def test_a_backup_and_a_log_are_not_written_over(running: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    first, again, forced = (
        called("backup", str(copy), *more, "--data-dir", str(running)) for more in ((), (), ("--force",))
    )
    assert [one.exit_code for one in (first, again, forced)] == [0, 1, 0]
    other = tmp_path / "other"
    restored = [called("restore", str(copy), "--data-dir", str(other)) for _ in range(2)]
    assert [one.exit_code for one in restored] == [0, 1]
    assert "holds a log already" in restored[1].output


@pytest.mark.parametrize("what", ["backup {copy} --force --database {log}", "restore {copy} --data-dir {data}"])
def test_a_disk_that_is_full_is_told_in_words_and_the_copy_that_was_there_is_left(
    told: Scribe, tmp_path: Path, what: str
) -> None:
    copy = tmp_path / "copy.db"
    assert called("backup", str(copy), "--database", told.url).exit_code == 0
    before = copy.read_bytes()
    command = f"ulimit -f 8; {AMENDS} {what.format(copy=copy, log=told.url, data=tmp_path / 'data')}"
    done = subprocess.run(["sh", "-c", command], env=WHOLE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n"), copy.read_bytes() == before) == (1, 1, True)
    assert list(tmp_path.glob("**/*.new")) == []


def test_without_a_file_and_without_the_tail_nothing_is_restored(tmp_path: Path) -> None:
    gone = called("restore", str(tmp_path / "gone.db"), "--data-dir", str(tmp_path))
    assert (called("restore", "--data-dir", str(tmp_path)).exit_code, gone.exit_code) == (2, 3)
    assert called("backup", str(tmp_path / "b.db"), "--data-dir", str(tmp_path)).exit_code == 3


def digest(data: Path) -> str:
    [summary] = lines(called("replay", "--data-dir", str(data)).stdout)
    return str(summary["digest"])


def lose(data: Path) -> None:
    """The disk that the log was on; the mirror's is another."""
    for left in data.glob("amends.db*"):
        left.unlink()


@pytest.mark.connected
def test_a_log_with_another_end_than_the_mirrors_is_left_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with up(data):
        opened(data, 302)
    tamper(f"sqlite:///{data}/amends.db", "DELETE FROM events WHERE pos > 3", "UPDATE head SET pos = 3")
    result = called("restore", "--import-tail", "--data-dir", str(data))
    assert (result.exit_code, "a fork, not a tail" in result.output) == (1, True)


@pytest.mark.connected
def test_nothing_is_restored_under_a_running_evaluator(running: Path) -> None:
    result = called("restore", "--import-tail", "--data-dir", str(running))
    assert (result.exit_code, "in use by another amends" in result.output) == (1, True)


@pytest.mark.connected
def test_nothing_is_restored_while_an_evaluator_answers_on_that_nats(running: Path, tmp_path: Path) -> None:
    nats = nats_url(running, "evaluator")
    result = called("restore", "--import-tail", "--data-dir", str(tmp_path), "--nats", nats)
    assert (result.exit_code, "stop it first" in result.output) == (1, True)
