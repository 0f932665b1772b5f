"""Disks that are full: a small one of our own where mounting is permitted, and a limit on files where it is not."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

NEXT_TO_NOTHING = 4_096


@contextmanager
def no_room(pid: int, but: int = NEXT_TO_NOTHING) -> Iterator[None]:
    """For the length of a block the process can write no file beyond its first page, or so many bytes."""
    process = psutil.Process(pid)
    soft, hard = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (but, hard))
    try:
        yield
    finally:
        process.rlimit(psutil.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of so many megabytes; a folder like any other where nobody may mount one."""
    folder.mkdir(parents=True)
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    mounted = subprocess.run(mounting, capture_output=True, text=True, check=False)
    try:
        yield folder
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def filled(disk: Path) -> Iterator[None]:
    """For the length of a block there is not a byte left on the disk."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        size = 1024 * 1024
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    try:
        yield
    finally:
        filler.unlink()


def must_be_mounted(disk: Path) -> None:
    """Skip the test where a small disk is only a folder."""
    if not disk.is_mount():
        pytest.skip("no disk can be mounted here; the limit on files stands for it")
