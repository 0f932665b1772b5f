"""The fixer as the child of `amends up`: its settings come in its environment, and from nowhere else."""

import os
import sys
from pathlib import Path

from amends.common.alone import USAGE
from amends.common.settings import SettingsError, read
from amends.fixer.app import serve


def main() -> int:
    try:
        return serve(read(os.environ, Path(os.devnull)))
    except SettingsError as error:
        sys.stderr.write(f"amends: {error}\n")
        return USAGE


if __name__ == "__main__":
    sys.exit(main())
