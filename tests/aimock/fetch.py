"""Brings a second model double that is not of our making: npm's aimock, and a node from PyPI to run it.

Run by `./taskw aimock:fetch`; both are pinned by their hashes and end up in .aimock. NPM_CONFIG_REGISTRY names another
registry, as for `./taskw contract:refresh`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.contract.refresh import Source, fetch
from tests.support.aimock import HERE

LOCK = Path(__file__).with_name("node.lock")
AIMOCK = Source(
    "@copilotkit/aimock",
    "1.43.0",
    "MIT",
    "sha512-V8D8cjSMtAR4rHaD2ulp3DR/ZguXQjDNOqwKDNvjb/OJL/KR1I0SDf5xpRCd+TYKjhmf9fM8Xpg3QBKPmV9Kmw==",
)


def main() -> None:
    shutil.rmtree(HERE, ignore_errors=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "-qq",
        "--no-deps",
        "--require-hashes",
    ]
    subprocess.run([*pip, "--only-binary", ":all:", "--target", str(HERE / "node"), "-r", str(LOCK)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        package, _ = fetch(AIMOCK, Path(folder))
        shutil.copytree(package, HERE / "aimock")  # last: what is there is whole
    sys.stdout.write(f"{AIMOCK.name} {AIMOCK.version} is in {HERE}: ./taskw test -- tests/aimock\n")


if __name__ == "__main__":
    main()
