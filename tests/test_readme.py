"""What the README tells a reader to type is typed here, and does what it says there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sysconfig
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).parents[1]
AMENDS = Path(sysconfig.get_path("scripts")) / "amends"
PREFIX = "./taskw amends -- "


def blocks(heading: str) -> list[list[list[str]]]:
    """The words of each line of each block of commands below a heading."""
    section = (ROOT / "README.md").read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [
        [shlex.split(re.sub(r"\s# .*", "", line).removeprefix(PREFIX)) for line in one.splitlines()] for one in found
    ]


def exported(lines: Iterable[list[str]]) -> dict[str, str]:
    """What `export` lines say."""
    said = [word for words in lines if words[:1] == ["export"] for word in words[1:]]
    return dict(word.split("=", 1) for word in said)


@contextmanager
def running(data: Path, environment: Mapping[str, str]) -> Iterator[Path]:
    """A directory on which `amends up` runs."""
    up = [str(AMENDS), "up", "--data-dir", str(data)]
    with subprocess.Popen(up, cwd=ROOT, env=os.environ | environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert any("amends: up" in line for line in process.stderr)
            reading = Thread(target=process.stderr.read)  # else it would stop when the pipe is full
            reading.start()
            yield data
        finally:
            process.terminate()
            process.wait(30)
            reading.join()


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    with running(tmp_path / "data", {}) as data:
        yield data


@pytest.fixture
def forge() -> Iterator[dict[str, str]]:
    """The first command of the first try; what it says to paste."""
    [[words], *_] = blocks("Try it")
    command = [str(AMENDS), *words, "--output", "text"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            lines = list(takewhile(lambda line: "is up" not in line, process.stdout))
            yield exported(shlex.split(line) for line in lines if "export" in line)
        finally:
            process.terminate()
            process.wait(30)


def typed(words: list[str], data_dir: Path) -> subprocess.CompletedProcess[str]:
    given = {"AMENDS_DATA_DIR": str(data_dir), "PATH": "/usr/bin:/bin"}
    return subprocess.run([str(AMENDS), *words], cwd=ROOT, env=given, capture_output=True, text=True, check=False)


def status(data_dir: Path) -> str:
    listed = typed(["loops", "list"], data_dir).stdout.splitlines()
    return next((str(loop["status"]) for line in listed if (loop := json.loads(line))["kind"] == "change"), "")


def test_the_first_try_of_the_readme_ends_in_a_pushed_commit(forge: dict[str, str], tmp_path: Path) -> None:
    _, second, third = blocks("Try it")
    assert (len(forge), second[-1]) == (3, ["up"])
    with running(tmp_path / "data", forge | exported(second)) as data:
        deadline = time.monotonic() + 60
        while "fix.pushed" not in typed(["events", "tail", "-n", "1000"], data).stdout and time.monotonic() < deadline:
            time.sleep(0.2)
        done = {words[0]: typed(words, data) for words in third}
    assert [(one.returncode, one.stderr) for one in done.values()] == [(0, "")] * 5
    told = [json.loads(line)["type"] for line in typed(["events", "tail", "-n", "1000"], data).stdout.splitlines()]
    assert (told.count("fix.pushed"), "acme/shop#1" in done["loops"].stdout) == (1, True)


def test_the_walk_through_of_the_readme_ends_in_a_requested_cycle(data_dir: Path) -> None:
    [commands] = blocks("Try the core")
    reports = [words for words in commands if words[0] == "report"]
    looks = [words for words in commands if words[0] != "report"]
    assert [typed(words, data_dir).returncode for words in reports] == [0, 0, 0]
    deadline = time.monotonic() + 30
    while status(data_dir) != "collecting" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert status(data_dir) == "collecting"
    done = [typed(words, data_dir) for words in looks]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * len(looks)
    assert "comment-fetcher" in done[1].stdout
