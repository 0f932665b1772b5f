"""`python -m amends.common.docs [--check] FILE`: write the page, or say whether the file is up to date."""

from __future__ import annotations

import sys
from difflib import unified_diff
from itertools import islice
from pathlib import Path

from amends.common.docs.page import page

USAGE = "usage: python -m amends.common.docs [--check] FILE"


def main(arguments: list[str]) -> int:
    """0: written or up to date; 1: out of date; 2: wrongly called."""
    checking, files = "--check" in arguments, [argument for argument in arguments if argument != "--check"]
    if len(files) != 1 or files[0].startswith("-"):
        sys.stderr.write(f"{USAGE}\n")
        return 2
    file, now = Path(files[0]), page()
    if not checking:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(now, encoding="utf-8")
        return 0
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    if before == now:
        return 0
    changes = unified_diff(before.splitlines(), now.splitlines(), f"{file} as it is", "as it should be", lineterm="")
    sys.stderr.write("\n".join([*islice(changes, 20), f"{file} is not up to date: ./taskw docs"]) + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
