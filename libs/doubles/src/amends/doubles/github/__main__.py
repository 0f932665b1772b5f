"""`python -m amends.doubles.github --port 8080`: the double for itself, until it is interrupted."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from amends.doubles.github.double import GitHubDouble


def arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="amends double github", description="A stateful GitHub on this machine.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--folder", type=Path, help="where repositories are kept; a temporary folder unless given")
    parser.add_argument("--prefix", default="/api/v3", help="path prefix of the REST API")
    parser.add_argument("--validate", action="store_true", help="check everything against GitHub's descriptions")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(sys.argv[1:] if given is None else given)
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with GitHubDouble(asked.folder, port=asked.port, prefix=asked.prefix) as github:
        github.validate = asked.validate
        said = {
            "api": github.api_url,
            "graphql": github.graphql_url,
            "git": github.url,
            "control": f"{github.url}/_double",
        }
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()
        over.wait()


if __name__ == "__main__":
    main()
