"""What those run their coroutines on who start other processes: those are waited for by handle, not by a thread each.

From Python 3.12 on asyncio does that by itself. Each thread took half a millisecond of what git takes two for.
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
    gc.freeze()  # what stands before work begins: to look through it for cycles again and again are pauses of 30 ms
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
