"""Processes of those who start some."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from amends.common import children


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="only Linux has handles of processes")
def test_a_process_is_waited_for_without_a_thread_of_its_own() -> None:
    async def story() -> tuple[list[str], int, bytes]:
        process = await asyncio.create_subprocess_exec("/bin/sh", "-c", "read a; echo $a; exit 7", stdin=-1, stdout=-1)
        threads = [one.name for one in threading.enumerate() if one.name.startswith("waitpid")]
        out, _ = await process.communicate(b"x\n")
        return threads, await process.wait(), out

    assert children.run(story()) == ([], 7, b"x\n")
