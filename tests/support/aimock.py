"""npm's aimock as a model: a program of somebody else's, on a free port, with a script of ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from pydantic import SecretStr

from amends.common.sections import Model
from amends.doubles.model import Denies, Says, Uses
from tests.support.others import AIMOCK, NODE

_LISTENING = re.compile(r"listening on (http://[0-9.:]+)")


@dataclass(frozen=True)
class Cut:
    """A reply of which only so many pieces arrive."""

    reply: Says
    pieces: int = 2


@dataclass(frozen=True)
class Aimock:
    """It runs, and this is where."""

    url: str

    @property
    def settings(self) -> Model:
        """The product's `[model]` for it, in a hurry."""
        key = SecretStr("sk-aimock")
        return Model(api_key=key, base_url=self.url, name="claude-mocked", first_pause=0.01, tries=3)

    def asked(self) -> list[Any]:
        """Every request that it got, the first one first."""
        found: list[Any] = httpx.get(f"{self.url}/__aimock/journal").raise_for_status().json()
        return found


@contextmanager
def aimock(folder: Path, *script: Says | Denies | Cut) -> Iterator[Aimock]:
    """It answers with these, one after the other, and nothing else."""
    fixtures = folder / "aimock.json"
    fixtures.write_text(json.dumps({"fixtures": [_fixture(place, step) for place, step in enumerate(script)]}))
    argv = [str(NODE), str(AIMOCK), "-p", "0", "-f", str(fixtures), "--strict", "--validate-on-load"]
    environ = {"PATH": os.environ["PATH"], "AIMOCK_STRICT_TURN_INDEX": "1"}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ) as process:
        try:
            yield Aimock(_address(process))
        finally:
            process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    said = ""
    for line in process.stdout or ():
        if found := _LISTENING.search(line):
            return found.group(1)
        said += line
    raise RuntimeError(f"aimock ended: {said}")


def _fixture(place: int, step: Says | Denies | Cut) -> dict[str, Any]:
    found: dict[str, Any] = {"match": {"sequenceIndex": place}}
    if isinstance(step, Denies):
        after = {"retryAfter": int(step.headers["retry-after"])} if "retry-after" in step.headers else {}
        error = {"message": step.message, "type": step.kind}
        return {**found, "response": {"error": error, "status": step.status, **after}}
    if isinstance(step, Cut):
        return {**found, "response": _response(step.reply), "truncateAfterChunks": step.pieces}
    return {**found, "response": _response(step)}


def _response(reply: Says) -> dict[str, Any]:
    words = "".join(block for block in reply.blocks if isinstance(block, str))
    uses = [{"name": one.name, "arguments": json.dumps(one.given)} for one in reply.blocks if isinstance(one, Uses)]
    usage = {"input_tokens": 100, "output_tokens": reply.output_tokens}
    called = {"toolCalls": uses} if uses else {}
    return {**({"content": words} if words else {}), **called, "usage": usage}
