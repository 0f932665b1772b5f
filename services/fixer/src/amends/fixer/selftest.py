"""Whether a sandbox holds: canaries are laid out on our side, and a probe inside looks for them."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from amends.fixer.sandbox import Command, Ran, SandboxUnavailable

# What a shell sets for itself beside what it was given.
_KNOWN = frozenset({"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"})
_GIVEN = frozenset({"PATH", "HOME", "LANG", "TERM", "CI", "TMPDIR", "PYTHONDONTWRITEBYTECODE"})
PROBE = (os.path.realpath(sys.executable), "-I", "-S", "-B", "/amends/probe.py")
_MOST_PROCESSES = 4
_NAMESPACES = "allow user namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1"
_REMEDIES = {
    "Creating new namespace failed": _NAMESPACES,
    "No permissions to create": _NAMESPACES,
    "RTM_NEWADDR": "AppArmor forbids it (Ubuntu 23.10 and later): give bwrap a profile with `userns`",
    "setting up uid map": "AppArmor forbids it (Ubuntu 23.10 and later): give bwrap a profile with `userns`",
    "Operation not permitted": "a container's seccomp profile forbids it: allow clone, unshare, mount and pivot_root",
}


class Runs(Protocol):
    """What is put to the test."""

    @property
    def variables(self) -> Mapping[str, str]: ...
    async def run(self, workspace: Path, command: Command) -> Ran: ...


async def prove(sandbox: Runs) -> None:
    """Raise SandboxUnavailable unless nothing gets in or out."""
    with tempfile.TemporaryDirectory(prefix="amends-probe-") as outside, socket.socket() as tcp:
        mark, place = secrets.token_hex(8), Path(outside)
        workspace, canary = place / "workspace", place / "canary"
        workspace.mkdir()
        canary.write_text(mark)
        with socket.socket(socket.AF_UNIX) as unix:
            unix.bind(str(place / "socket"))
            unix.listen()
            tcp.bind(("127.0.0.1", 0))
            tcp.listen()
            asked = {"file": str(canary), "unix": str(place / "socket"), "port": tcp.getsockname()[1], "mark": mark}
            ran = await _run(sandbox, workspace, Command(PROBE, json.dumps(asked).encode(), seconds=20))
        if not ran.passed:
            raise unavailable(ran.text)
        leaks = _leaks(json.loads(ran.output), _GIVEN | _KNOWN | set(sandbox.variables))
        if not (workspace / mark).exists():
            leaks.append("the workspace cannot be written")
    if leaks:
        raise SandboxUnavailable(f"the sandbox does not hold: {'; '.join(leaks)}")


async def _run(sandbox: Runs, workspace: Path, command: Command) -> Ran:
    try:
        return await sandbox.run(workspace, command)
    except SandboxUnavailable as error:
        raise unavailable(str(error)) from error


def unavailable(said: str) -> SandboxUnavailable:
    """What is wrong, and what to do about it where that is known."""
    remedy = next((words for sign, words in _REMEDIES.items() if sign in said), "`amends doctor` tries it again")
    return SandboxUnavailable(
        f"no sandbox can be made here ({said.strip()[-300:] or 'it ended without a word'}): {remedy}"
    )


def _leaks(found: dict[str, Any], known: frozenset[str] | set[str]) -> list[str]:
    """What the probe should not have found."""
    strange = sorted(set(found["environments"]) - known)
    return [
        *([f"variables of ours can be read: {', '.join(strange)}"] if strange else []),
        *([f"files are left open: {found['files']}"] if found["files"] else []),
        *(["a file outside can be read"] if found["reads"] else []),
        *(["a unix socket can be reached"] if found["unix"] else []),
        *(["the network can be reached"] if found["tcp"] or set(found["interfaces"]) - {"lo"} else []),
        *(["it runs as root"] if found["uid"] == 0 else []),
        *(["other processes are seen"] if found["processes"] > _MOST_PROCESSES else []),
        *([f"these can be written: {', '.join(found['writes'])}"] if found["writes"] else []),
        *(["user namespaces can be nested"] if found["nests"] else []),
    ]
