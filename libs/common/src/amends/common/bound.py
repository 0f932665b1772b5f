"""A program that never outlives who starts it: the kernel ends it when we die, however we die."""

from __future__ import annotations

import os
import sys

# Runs in the child and becomes the program. Not a preexec_fn, which is unsafe beside threads. If we are dead already it
# must not start at all.
_LAUNCH = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 9)\n"
    "os.getppid() == int(sys.argv[1]) or os._exit(1)\n"
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def bound(*command: str) -> tuple[str, ...]:
    """The command that starts this one, for our main thread to run: it is the end of that thread which counts."""
    if sys.platform != "linux":
        return command
    return (sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), *command)
