"""Slack and GitHub as npm's `emulate` plays them. Without it (`./taskw others:fetch`) tests skip."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.others import EMULATE, MISSING, NODE
from tests.support.ports import free_port


class Workspace:
    """A workspace of Slack with a channel; every token is let in."""

    def __init__(self, url: str) -> None:
        self.api = f"{url}/api"
        self.channel = ""

    def texts(self) -> list[str]:
        """What stands in the channel, the oldest first."""
        said = self.asked("conversations.history", channel=self.channel, limit="100")["messages"]
        return [one["text"] for one in reversed(said) if one.get("bot_id") or one.get("text")]

    def asked(self, method: str, **fields: str) -> dict[str, Any]:
        headers = {"Authorization": "Bearer xoxb-reader"}
        answer: dict[str, Any] = httpx.post(f"{self.api}/{method}", data=fields, headers=headers).json()
        assert answer["ok"], answer
        return answer


@contextmanager
def emulated() -> Iterator[Workspace]:
    """A workspace of Slack for the length of a block."""
    with _started("slack") as url:
        workspace = Workspace(url)
        found = workspace.asked("conversations.list")["channels"]
        workspace.channel = next(one["id"] for one in found if one["name"] == "general")
        yield workspace


@contextmanager
def emulated_github(seed: str) -> Iterator[str]:
    """A GitHub with what the seed says, by its address; it has no GraphQL and no git."""
    with _started("github", seed) as url:
        yield url


@contextmanager
def _started(service: str, seed: str = "") -> Iterator[str]:
    if MISSING:
        pytest.skip(f"emulate is {MISSING}")
    port = free_port()
    command = [str(NODE), str(EMULATE), "start", "-s", service, "-p", str(port)]
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("wb") as log:
        if seed:
            Path(folder, "seed.yaml").write_text(seed)
            command += ["--seed", "seed.yaml"]
        process = subprocess.Popen(command, cwd=folder, env={}, stdout=log, stderr=log)
        try:
            yield _ready(f"http://127.0.0.1:{port}", process)
        finally:
            process.terminate()
            process.wait(10)


def _ready(url: str, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx.get(url)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return url
    raise AssertionError("emulate does not answer")
