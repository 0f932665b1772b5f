"""The socket behind which the broker answers: it leaves nothing behind, whoever is killed over it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from amends.fixer.door import door
from tests.support.asynchronous import asynchronous

KILLED = """
import asyncio, os, signal
from amends.fixer.door import door

async def die():
    async with door(None) as path:
        print(path, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(die())
"""
LONG = 3_600  # seconds


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where doors are made; their paths have to be short."""
    short = Path("/tmp", f"d{os.getpid()}")
    short.symlink_to(tmp_path)
    monkeypatch.setenv("TMPDIR", str(short))
    monkeypatch.setattr("tempfile.tempdir", str(short))
    yield short
    short.unlink()


def aged(path: Path) -> Path:
    long_ago = time.time() - LONG
    os.utime(path, (long_ago, long_ago))
    return path


@asynchronous
async def test_a_door_is_gone_when_it_is_closed(folder: Path) -> None:
    async with door(_nobody) as path:
        assert path.is_socket()
    assert list(folder.iterdir()) == []


@asynchronous
async def test_what_somebody_left_who_was_killed_is_removed_by_the_next(folder: Path) -> None:
    died = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False)
    left = aged(Path(died.stdout.strip()).parent)
    assert (died.returncode, left.exists()) == (-signal.SIGKILL, True)
    async with door(_nobody) as path:
        assert list(folder.iterdir()) == [path.parent]


@asynchronous
async def test_a_door_in_use_is_left_alone_however_old_it_is(folder: Path) -> None:
    async with door(_nobody) as first:
        aged(first.parent)
        async with door(_nobody):
            assert first.is_socket()


async def _nobody(_scope: object, _receive: object, _send: object) -> None:
    """Nobody answers."""
