"""Looks around inside the sandbox and says what it finds, as JSON: what a hostile command would look for first."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sys
from contextlib import suppress

_NEW_USER = 0x10000000


def environments() -> list[str]:
    """The names of all variables of all processes that can be read."""
    names: set[str] = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
            names |= {word.partition(b"=")[0].decode(errors="replace") for word in file.read().split(b"\0") if word}
    return sorted(names)


def opens(path: str) -> bool:
    try:
        with open(path, "rb"):
            return True
    except OSError:
        return False


def writes(path: str) -> bool:
    try:
        with open(path, "wb") as file:
            file.write(b"x")
    except OSError:
        return False
    return True


def could_write(path: str) -> bool:
    """Without doing it: a switch of the kernel's is not tried out."""
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True


def connects(family: int, where: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(2)
        try:
            one.connect(where)  # type: ignore[arg-type] # a path or a pair
        except OSError:
            return False
        return True


def files() -> list[int]:
    """The file descriptors that were left open for us."""
    found = []
    for number in range(3, 256):
        with suppress(OSError):
            os.fstat(number)
            found.append(number)
    return found


def main() -> None:
    asked = json.loads(sys.stdin.read())
    libc = ctypes.CDLL(None, use_errno=True)
    said = {
        "environments": environments(),
        "files": files(),
        "reads": opens(asked["file"]),
        "unix": connects(socket.AF_UNIX, asked["unix"]),
        "tcp": connects(socket.AF_INET, ("127.0.0.1", asked["port"])),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "uid": os.getuid(),
        "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
        "writes": [path for path in ("/x", "/usr/x", "/etc/x", "/dev/x", "/amends/x") if writes(path)]
        + [path for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger") if could_write(path)],
        "workspace": writes(f"/workspace/{asked['mark']}"),
        "nests": libc.unshare(_NEW_USER) == 0,
    }
    sys.stdout.write(json.dumps(said))


main()
