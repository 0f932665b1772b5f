"""The peers' own environment, `.venv-bench`: made from a lock with hashes, and again when that changes."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

from tests.bench.contender import ROOT

HOME = ROOT / ".venv-bench"
LOCK = Path(__file__).with_name("peers.lock")
PYTHON = HOME / "bin" / "python"


def peers() -> Path:
    """The interpreter that has the peers."""
    stamp = HOME / ".lock"
    wanted = f"{ROOT}\n{LOCK.read_text(encoding='utf-8')}"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        print("setting up .venv-bench with the peers (half a minute, once)", flush=True)
        venv.create(HOME, clear=True, with_pip=True, symlinks=True)
        (HOME / ".gitignore").write_text("*\n", encoding="utf-8")
        # Without dependencies, because the lock names them all and old versions of pip ask for hashes of extras.
        install = ["install", "-qq", "--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", str(LOCK)]
        subprocess.run([PYTHON, "-m", "pip", "--disable-pip-version-check", *install], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return PYTHON
