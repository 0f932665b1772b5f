"""What `amends up` starts never outlives it: an orphan would keep the model's key, and its successor's name.

Nor does it end before it: a terminal's Ctrl-C goes to all that are in the foreground there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.support.github import Scene

pytestmark = pytest.mark.connected
AMENDS = Path(sysconfig.get_path("scripts")) / "amends"


@contextmanager
def up(data: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """`amends up`, once it says that it is up."""
    command = [str(AMENDS), "up", "--data-dir", str(data)]
    with subprocess.Popen(
        command, cwd=data, env=os.environ | environment, stderr=subprocess.PIPE, text=True, process_group=0
    ) as process:
        assert process.stderr is not None
        assert any("amends: up" in line for line in process.stderr)
        try:
            yield process
        finally:
            process.kill()


def named(process: psutil.Process) -> str:
    return " ".join(process.cmdline())


def fixing(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """All that it has started, once the fixer is among them."""
    until = time.monotonic() + 20
    started: list[psutil.Process] = []
    while time.monotonic() < until and not any("amends.fixer" in named(one) for one in started):
        started = psutil.Process(process.pid).children(recursive=True)
    assert any("amends.fixer" in named(one) for one in started)
    assert any("nats-server" in named(one) for one in started)
    return started


@pytest.mark.parametrize("key", ["app", "token"])
def test_whoever_is_started_by_it_dies_with_it_however_it_dies(tmp_path: Path, scene: Scene, key: str) -> None:
    app, token = {"APP_ID": str(scene.app.id), "PRIVATE_KEY": scene.app.pem}, {"TOKEN": scene.double.token("octocat")}
    said = {"API_URL": scene.app_settings.api_url, **(app if key == "app" else token)}
    told = {f"AMENDS_GITHUB_{name}": value for name, value in said.items()}
    with up(tmp_path, told) as process:
        started = fixing(process)
        process.kill()
        _, alive = psutil.wait_procs(started, timeout=10)
    assert [named(one) for one in alive] == []


def test_a_terminals_interrupt_ends_all_of_it_in_good_order(tmp_path: Path, scene: Scene) -> None:
    told = {"API_URL": scene.app_settings.api_url, "TOKEN": scene.double.token("octocat")}
    with up(tmp_path, {f"AMENDS_GITHUB_{name}": value for name, value in told.items()}) as process:
        started = fixing(process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
        assert (process.wait(20), [line for line in said.splitlines() if '"level": "info"' not in line]) == (0, [])
        _, alive = psutil.wait_procs(started, timeout=10)
    assert [named(one) for one in alive] == []
