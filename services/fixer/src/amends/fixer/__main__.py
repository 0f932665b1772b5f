"""The fixer as the child of `amends up`: its settings come in its environment, and from nowhere else.

Where GitHub knows us as an App, its tokens come over a line that is its standard input: the key stays with the parent.
"""

import os
import socket
import stat
import sys
from pathlib import Path

from amends.common.alone import USAGE
from amends.common.github.lending import Line
from amends.common.settings import SettingsError, read
from amends.fixer.app import serve


def main() -> int:
    try:
        return serve(read(os.environ, Path(os.devnull)), _line())
    except SettingsError as error:
        sys.stderr.write(f"amends: {error}\n")
        return USAGE


def _line() -> Line | None:
    """The line to whoever has the key, out of reach of all that we start; none where there is no such key."""
    if not stat.S_ISSOCK(os.fstat(0).st_mode):
        return None
    ours = os.dup(0)  # which nobody inherits
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return Line(socket.socket(fileno=ours))


if __name__ == "__main__":
    sys.exit(main())
