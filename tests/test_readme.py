"""What the README tells a reader to type is typed here, and does what it says there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AMENDS = Path(sysconfig.get_path("scripts")) / "amends"
PREFIX = "./taskw amends -- "


def commands() -> list[list[str]]:
    section = (ROOT / "README.md").read_text().partition("## Try the core")[2].partition("\n## ")[0]
    typed = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert typed is not None
    return [shlex.split(re.sub(r"\s# .*", "", line).removeprefix(PREFIX)) for line in typed[1].splitlines()]


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A directory on which `amends up` runs."""
    up = [str(AMENDS), "up", "--data-dir", str(tmp_path / "data")]
    with subprocess.Popen(up, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert any("amends: up" in line for line in process.stderr)
            yield tmp_path / "data"
        finally:
            process.terminate()
            process.wait(30)


def typed(words: list[str], data_dir: Path) -> subprocess.CompletedProcess[str]:
    given = {"AMENDS_DATA_DIR": str(data_dir), "PATH": "/usr/bin:/bin"}
    return subprocess.run([str(AMENDS), *words], cwd=ROOT, env=given, capture_output=True, text=True, check=False)


def status(data_dir: Path) -> str:
    listed = typed(["loops", "list"], data_dir).stdout.splitlines()
    return next((str(loop["status"]) for line in listed if (loop := json.loads(line))["kind"] == "change"), "")


def test_the_walk_through_of_the_readme_ends_in_a_requested_cycle(data_dir: Path) -> None:
    reports = [words for words in commands() if words[0] == "report"]
    looks = [words for words in commands() if words[0] != "report"]
    assert [typed(words, data_dir).returncode for words in reports] == [0, 0, 0]
    deadline = time.monotonic() + 30
    while status(data_dir) != "collecting" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert status(data_dir) == "collecting"
    done = [typed(words, data_dir) for words in looks]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * len(looks)
    assert "comment-fetcher" in done[1].stdout
