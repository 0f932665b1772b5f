"""`amends migrate`, and `amends restore --import-tail` with real processes."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from amends.common.identity import About
from tests.cli.conftest import opened, reported
from tests.support.command import called, lines, nats_url, ran, up
from tests.support.facts import command
from tests.support.scribe import tamper


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
def test_a_log_restored_from_an_older_copy_gets_its_end_back_from_the_mirror(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    with up(data):
        loop = opened(data, 301)
    backed_up(data, copy)
    with up(data):
        reported(data, About(loop=loop), command("pause"))
        whole = digest(data)
    restored(copy, data)
    assert lines(called("restore", "--import-tail", "--data-dir", str(data)).stdout)[0]["imported"] == 3
    assert called("replay", "--verify", "--data-dir", str(data)).exit_code == 0
    assert digest(data) == whole
    with up(data):
        assert ran("doctor", "--log", "--deep", "--data-dir", str(data)).returncode == 0


def digest(data: Path) -> str:
    [summary] = lines(called("replay", "--data-dir", str(data)).stdout)
    return str(summary["digest"])


def backed_up(data: Path, copy: Path) -> None:
    with closing(sqlite3.connect(data / "amends.db")) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)


def restored(copy: Path, data: Path) -> None:
    for left in data.glob("amends.db*"):
        left.unlink()
    shutil.copy(copy, data / "amends.db")


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
