"""What those run their coroutines on who mostly wait for other processes, so that little of ours comes on top.

Processes are waited for by handle, as asyncio does from Python 3.12 on, and not by a thread each, which took half a
millisecond of what git takes two for; and what was loaded before is not searched for cycles.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run until it is done, as `asyncio.run` does."""
    if sys.version_info < (3, 12) and _has_handles():
        asyncio.set_child_watcher(asyncio.PidfdChildWatcher())  # type: ignore[deprecated] # where it is not
    gc.freeze()  # else these are pauses of 30 ms, again and again
    return asyncio.run(work)


def _has_handles() -> bool:
    """Not outside Linux, with a kernel before 5.3, or in a container that does not let it."""
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True
