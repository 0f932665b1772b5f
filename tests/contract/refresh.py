"""Makes tests/contract/data again from GitHub's own descriptions, which it publishes as npm packages.

Run by `./taskw contract:refresh`, which takes the versions of SOURCES.json again; `./taskw contract:refresh -- openapi`
takes the newest of one, `openapi@23.0.2` that one. NPM_CONFIG_REGISTRY names another registry.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tarfile
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from hashlib import sha512
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
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
REGISTRY = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")


@dataclass(frozen=True)
class Source:
    """A package as it was taken. Without an integrity it has not been taken yet."""

    name: str
    version: str
    license: str = ""
    integrity: str = ""


def fetch(source: Source, folder: Path) -> tuple[Path, Source]:
    """Unpack a package, checked against the registry's hash; of a version taken before, against the one it had."""
    about = _get(f"{REGISTRY}/{source.name.replace('/', '%2f')}/{source.version}").json()
    packed = _get(about["dist"]["tarball"]).content
    got = f"sha512-{b64encode(sha512(packed).digest()).decode()}"
    if got != (source.integrity or about["dist"]["integrity"]):
        raise SystemExit(f"{source.name} {source.version} is not what it was: {got}")
    inside = folder / source.name
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(inside, filter="data")
    return inside / "package", Source(source.name, about["version"], about["license"], got)


def _get(url: str) -> httpx.Response:
    return httpx.get(url, follow_redirects=True, timeout=120).raise_for_status()


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
    write("schema.graphql.gz", cutting.without_prose(parse(text)).encode())
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
    known = [Source(**each) for each in json.loads((DATA / "SOURCES.json").read_text(encoding="utf-8"))]
    asked = {}
    for one in wanted:
        name, _at, version = one.partition("@")
        asked[name] = Source(f"@octokit/{name}", version or "latest")
    taken: list[Json] = []
    with tempfile.TemporaryDirectory(prefix="amends-contract-") as folder:
        for name, before in zip(MAKERS, known, strict=True):
            package, source = fetch(asked.get(name, before), Path(folder))
            MAKERS[name](package)
            taken.append(asdict(source))
            sys.stdout.write(f"{source.name} {source.version}\n")
    (DATA / "SOURCES.json").write_text(json.dumps(taken, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
