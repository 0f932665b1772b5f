"""Slack as npm's `emulate` plays it. Without it (`./taskw others:fetch`) tests skip."""

from __future__ import annotations

import socket
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
    """A workspace of its own for the length of a block."""
    if MISSING:
        pytest.skip(f"emulate's Slack is {MISSING}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [str(NODE), str(EMULATE), "start", "-s", "slack", "-p", str(port)]
    with tempfile.TemporaryDirectory() as folder, Path(folder, "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env={}, stdout=log, stderr=log)
        try:
            yield _ready(Workspace(f"http://127.0.0.1:{port}"), process)
        finally:
            process.terminate()
            process.wait(10)


def _ready(workspace: Workspace, process: subprocess.Popen[bytes]) -> Workspace:
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        try:
            httpx.post(f"{workspace.api}/auth.test")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            found = workspace.asked("conversations.list")["channels"]
            workspace.channel = next(one["id"] for one in found if one["name"] == "general")
            return workspace
    raise AssertionError("emulate does not answer")
