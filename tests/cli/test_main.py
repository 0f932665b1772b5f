"""The command as a whole: what it loads, how it ends, what it does in a pipe and on a terminal."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from amends.cli.main import cli
from tests.support.command import AMENDS, WHOLE, called, on_a_terminal, ran, started, stopped
from tests.support.facts import command
from tests.support.scribe import Scribe

HEAVY = "{'pydantic', 'sqlalchemy', 'nats', 'faststream', 'alembic', 'asyncio', 'prometheus_client'}"


def commands(command: click.Command, *path: str) -> list[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        return [path]
    return [path, *(found for name, each in command.commands.items() for found in commands(each, *path, name))]


def test_help_loads_nothing_heavier_than_click() -> None:
    code = (
        "import sys; from amends.cli.main import cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_up_starts_its_nats_server_before_it_loads_the_services() -> None:
    code = "import sys, amends.cli.up; print(sorted({'sqlalchemy', 'faststream', 'githubkit'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_up_does_not_load_what_only_postgresql_needs() -> None:
    code = "import sys, amends.cli.together; print([name for name in sys.modules if 'postgresql' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("path", commands(cli), ids=" ".join)
def test_every_command_has_a_help_and_every_leaf_an_example(path: tuple[str, ...]) -> None:
    result = called(*path, "--help")
    assert result.exit_code == 0
    assert "amends " in result.output.partition("Options:")[2] or isinstance(group(path), click.Group)


def group(path: tuple[str, ...]) -> click.Command:
    found: click.Command = cli
    for name in path:
        assert isinstance(found, click.Group)
        found = found.commands[name]
    return found


def test_no_command_and_wrong_options_are_usage_errors() -> None:
    assert [ran("nonsense").returncode, ran("events", "tail", "--since", "soon").returncode] == [2, 2]


@pytest.mark.parametrize(
    "arguments",
    [
        "events show {large}", "events tail --from-pos 1 -n {large}", "events transcript {large}",
        "loops list -n {large}", "parked list -n {large}", "parked show {large}", "parked requeue {large}",
        "parked requeue --pos -1",
        "explain installation --at {large}", "events tail --since ²m", "events tail --since {digits}m",
        "loops list --repo \udce4",
    ],
)  # fmt: skip
def test_what_no_log_can_hold_is_a_usage_error(told: Scribe, arguments: str) -> None:
    result = called(*arguments.format(large=2**63, digits="9" * 5_000).split(), "--database", told.url)
    assert (result.exit_code, result.output.count("Error: ")) == (2, 1)


@pytest.mark.parametrize(
    "command", [("up",), ("migrate",), ("init", "--repository", "a/b", "--mode", "webhooks")], ids=" ".join
)
def test_a_data_directory_that_cannot_be_made_is_named_without_a_trace(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no directory")
    known = {"AMENDS_DATA_DIR": str(tmp_path / "file" / "data"), "AMENDS_GITHUB_TOKEN": "t", "PATH": "/usr/bin:/bin"}
    where = ("--data-dir", known["AMENDS_DATA_DIR"]) if command[0] == "init" else ()
    done = subprocess.run(
        [AMENDS, *command, *where], capture_output=True, text=True, cwd=tmp_path, env=known, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
    assert f"Error: {tmp_path / 'file'}" in done.stderr


def test_wrong_settings_are_a_usage_error_that_names_the_field() -> None:
    done = subprocess.run(
        [AMENDS, "loops", "list"], env={**WHOLE, "AMENDS_OPS_PORT": "many"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "AMENDS_OPS_PORT" in done.stderr) == (2, True)


def test_a_log_that_is_not_there_is_not_reachable_and_is_not_made(tmp_path: Path) -> None:
    done = ran("events", "tail", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "`amends up` or `amends run evaluator` makes one" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_has_enough_is_no_error(told: Scribe) -> None:
    with started(("events", "tail", "-f", "--database", told.url)) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        following.stdout.readline()
        following.stdout.close()
        told.tell(command("pause"))
        assert (following.wait(timeout=10), following.stderr.read()) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault_of_the_log(told: Scribe, closed: str) -> None:
    line = f'"{AMENDS}" replay --verify --database {told.url} {closed}'
    done = subprocess.run(["sh", "-c", line], env=WHOLE, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupted_command_says_so_with_its_exit_code(told: Scribe) -> None:
    with started(("events", "tail", "-f", "--database", told.url)) as following:
        assert following.stdout is not None
        following.stdout.readline()
        assert stopped(following) == 130


@pytest.mark.parametrize(
    "arguments",
    [
        ("events", "tail", "-o", "json"),
        ("events", "show", "16"),
        ("loops", "list"),
        ("loops", "list", "-o", "json"),
        ("loops", "show", "octo/shop#7"),
        ("explain", "octo/shop#7"),
        ("explain", "octo/shop#7", "-o", "json"),
        ("replay", "--loop", "octo/shop#7"),
    ],
    ids=" ".join,
)
def test_hostile_words_never_reach_a_terminal_as_they_are(told: Scribe, arguments: tuple[str, ...]) -> None:
    written = on_a_terminal(*arguments, "--database", told.url, NO_COLOR="1", TERM="xterm", COLUMNS="120")
    assert "basket" in written
    assert [letter for letter in written if not letter.isprintable() and letter not in "\r\n"] == []


def test_a_terminal_of_few_letters_gets_the_others_written_out(told: Scribe) -> None:
    few = {**WHOLE, "PYTHONIOENCODING": "latin-1"}
    line = [AMENDS, "loops", "list", "-o", "text", "--database", told.url]
    done = subprocess.run(line, env=few, capture_output=True, check=False)
    assert (done.returncode, b"\\u8cb7\\u3044" in done.stdout, done.stderr) == (0, True, b"")


def test_a_status_is_a_word_with_colour_and_without(told: Scribe) -> None:
    arguments = ("loops", "list", "--database", told.url)
    plain = on_a_terminal(*arguments, NO_COLOR="1", TERM="xterm")
    bright = on_a_terminal(*arguments, TERM="xterm")
    assert ("awaiting_review" in plain, "\x1b[36mawaiting_review" in bright) == (True, True)
