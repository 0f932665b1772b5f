"""The `amends` command: called in this process, as a process, on a terminal, and as a running `amends up`."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from click.testing import CliRunner, Result

from amends.cli.main import cli
from amends.common.events import Reporter

AMENDS = str(Path(sys.executable).with_name("amends"))
WHOLE = {name: value for name, value in os.environ.items() if not name.startswith("AMENDS_")}
SECONDS = 30.0


def called(*arguments: str, given: str = "") -> Result:
    """The command, called in this process."""
    return CliRunner().invoke(cli, arguments, input=given)


def lines(output: str) -> list[Any]:
    """JSON lines, read."""
    return [json.loads(line) for line in output.splitlines()]


def ran(*arguments: str, given: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    process = [AMENDS, *arguments]
    return subprocess.run(
        process, input=given, capture_output=True, text=True, timeout=SECONDS, cwd=cwd, env=WHOLE, check=False
    )


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command writes to a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen([AMENDS, *arguments], stdout=its, stderr=its, stdin=its, env={**WHOLE, **environment})
    os.close(its)
    written = b""
    with suppress(OSError):  # the terminal closes with the process
        while piece := os.read(ours, 65_536):
            written += piece
    os.close(ours)
    process.wait(timeout=SECONDS)
    return written.decode()


@contextmanager
def started(arguments: Sequence[str], until: str = "") -> Iterator[subprocess.Popen[str]]:
    """The command as a process, from the moment it says `until` on stderr; stopped at the end."""
    process = subprocess.Popen(
        [AMENDS, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=WHOLE
    )
    assert process.stderr is not None
    try:
        said = ""
        while until not in said:
            said = process.stderr.readline()
            assert said, "it ended before it was ready"
        yield process
    finally:
        stopped(process)


def stopped(process: subprocess.Popen[str]) -> int:
    """End it as Ctrl-C does; its exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    try:
        return process.wait(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def nats_url(data_dir: Path, user: Reporter) -> str:
    """Where this user connects to what runs there."""
    urls = (data_dir / "nats.url").read_text().split()
    return next(url for url in urls if urlsplit(url).username == user)


@contextmanager
def up(directory: Path) -> Iterator[Path]:
    """A running `amends up`; its data directory."""
    with started(["up", "--data-dir", str(directory)], "amends: up."):
        yield directory
