"""Texts that people read, kept as files: `AMENDS_SNAPSHOTS=write pytest ...` writes them anew, git shows the change."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1] / "data" / "snapshots"


def assert_as_before(name: str, text: str) -> None:
    """The text is the one in the file of this name."""
    file = ROOT / f"{name}.txt"
    if os.environ.get("AMENDS_SNAPSHOTS") == "write":
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == file.read_text(encoding="utf-8"), f"{file} differs: AMENDS_SNAPSHOTS=write writes it anew"
