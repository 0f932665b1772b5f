"""The demo is run for real: what it says has happened, and when something is missing it says so and fails."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import pytest

from amends.doubles.model import ModelDouble, text
from amends.doubles.model.double import KEY, MODEL
from tests.support.command import AMENDS, WHOLE, on_a_terminal

pytestmark = pytest.mark.connected
NO_SANDBOX = {"AMENDS_SANDBOX_BWRAP": "/usr/bin/false"}
ENVIRONMENT = {name: value for name, value in WHOLE.items() if not name.startswith("ANTHROPIC_")}


def demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command, given = [AMENDS, "demo", *arguments], {**ENVIRONMENT, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=120, check=False)


@contextmanager
def broken_off(at: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A demo that is kept until Ctrl-C, and what it had said before it said this."""
    command, given = [AMENDS, "demo", "--keep"], {**ENVIRONMENT, **environment}
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, list(takewhile(lambda line: at not in line, process.stdout))
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)


def steps(said: str, number: int) -> list[str]:
    """Who did what on a pull request, in order."""
    found = re.findall(rf"^ +[\d.]+ s  #{number}  (\S+) +(\w+)", said, re.MULTILINE)
    return [f"{who} {does}" for who, does in found]


def test_the_demo_shows_the_whole_loop_and_says_that_its_model_is_a_script() -> None:
    done = demo("--once")
    assert (done.returncode, done.stderr, "missing" in done.stdout) == (0, "", False), done.stdout
    assert "the model is a script, not an AI" in done.stdout.splitlines()[0]
    cycle = ["bob asks", "evaluator cycle", "comment-fetcher collected", "fixer begins", "fixer changed"]
    cycle += ["publisher pushed", "evaluator decided", "notifier said", "notifier asked"]
    assert [one for one in steps(done.stdout, 1) if one in {*cycle, "bob approves"}][:19] == [
        *cycle,
        *cycle,
        "bob approves",
    ]
    assert "a human is needed (max_cycles)" in done.stdout
    assert "+def average(prices):" in done.stdout
    assert "Co-authored-by: bob" in done.stdout
    assert len(re.findall(r"amends\[bot\]: Fixed in `[0-9a-f]{7}`", done.stdout)) == 6
    assert "Everything is there" in done.stdout


def test_what_the_model_refuses_is_missing_in_the_end() -> None:
    with ModelDouble(always=text("No.", stop="refusal")) as model:
        at = {"AMENDS_MODEL_BASE_URL": model.url, "AMENDS_MODEL_NAME": MODEL, "ANTHROPIC_API_KEY": KEY}
        done = demo("--once", **at)
    assert done.returncode == 1
    assert "the model is Claude" in done.stdout.splitlines()[0]
    assert "missing: #1: the fact fix.pushed: 0 in the log, 2 expected" in done.stdout
    assert "missing: #1: the loop ends refused, approved expected" in done.stdout
    assert "missing: #2" not in done.stdout


def test_without_a_sandbox_suggestions_go_on_and_it_says_so_on_a_narrow_terminal_without_colours() -> None:
    said = on_a_terminal("demo", NO_COLOR="1", COLUMNS="60", **NO_SANDBOX)
    lines = [line.rpartition("\r\x1b[K")[2] for line in said.replace("\r\n", "\n").split("\n")]
    assert max(map(len, lines)) <= 80
    assert max(len(line) for line in lines if " s  #" in line) in range(50, 61)
    assert "\x1b" not in "".join(lines)
    assert "Only suggestions were applied, and the rest was handed to a human" in " ".join(said.split())
    assert "Everything is there" in said


def test_a_script_that_demands_everything_is_told_that_there_is_no_sandbox() -> None:
    done = demo("--once", **NO_SANDBOX)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("missing")] == [
        "missing: a sandbox, in which the prose would have been fixed"
    ]


def test_what_it_names_while_it_is_kept_works_and_in_the_end_nothing_is_left() -> None:
    with broken_off("Ctrl-C ends it", **NO_SANDBOX) as (process, said):
        begin = next(n for n, line in enumerate(said) if line.startswith("  cd "))
        cd, *commands = [shlex.split(line) for line in said[begin:] if line.startswith("  ")]
        root = Path(cd[1])
        asked = [words for words in commands if "tail" not in words and words[0] != "curl"]
        done = [subprocess.run(words, cwd=root, env=ENVIRONMENT, capture_output=True, check=False) for words in asked]
        running = children(process.pid)
        assert ([one.returncode for one in done], len(asked)) == ([0] * 5, 5), done
    assert (process.returncode, root.exists()) == (0, False)
    assert running
    assert not [pid for pid in running if lives(pid)]


def test_ctrl_c_in_the_middle_ends_all_that_it_has_started() -> None:
    with broken_off("begins to work") as (process, _):
        running = children(process.pid)
    assert process.returncode == 130
    assert len(running) >= 3  # amends up, nats-server, the fixer
    assert not [pid for pid in running if lives(pid)]


def children(pid: int) -> list[int]:
    """Everything that a process has started, and what that has."""
    found = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split()
    pairs = list(zip(map(int, found[::2]), map(int, found[1::2]), strict=True))
    mine = [one for one, parent in pairs if parent == pid]
    return [*mine, *(below for one in mine for below in children(one))]


def lives(pid: int) -> bool:
    """Whether it runs; what has ended and is not collected yet does not."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(found.strip()) and not found.startswith("Z")
