"""Agents of the command line for tests: small, of nothing but Python, installed where an operator would."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

from amends.common.events import FixFailed, FixPrepared, Judgement
from amends.doubles.model import ModelDouble
from tests.support.book import Book
from tests.support.fetching import RULES
from tests.support.fixing import fixing
from tests.support.github import Scene
from tests.support.model import model_settings

PRELUDE = '''\
import json, os, socket, subprocess, sys, time, urllib.error, urllib.request

BASE = os.environ["ANTHROPIC_BASE_URL"]

def post(body, path="/v1/messages", **headers):
    """Status, headers and bytes of an answer."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(BASE + path, data, {"content-type": "application/json",
        "x-api-key": os.environ["ANTHROPIC_API_KEY"], **headers})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()

def body(messages, **other):
    return {"model": os.environ["ANTHROPIC_MODEL"], "max_tokens": 1000, "messages": messages, **other}

def user(text):
    return [{"role": "user", "content": text}]

def streamed(messages):
    """The content blocks of a reply that comes in events."""
    status, _, raw = post(body(messages, stream=True))
    if status != 200:
        sys.exit("the model says " + raw.decode())
    blocks = []
    for line in raw.decode().splitlines():
        event = json.loads(line[5:]) if line.startswith("data:") else {}
        if event.get("type") == "content_block_start":
            blocks.append({**event["content_block"], "json": ""})
        if event.get("type") == "content_block_delta":
            delta = event["delta"]
            blocks[-1]["text"] = blocks[-1].get("text", "") + delta.get("text", "")
            blocks[-1]["json"] += delta.get("partial_json", "")
    return blocks

def report(**said):
    with open(os.environ["AMENDS_REPORT"], "w") as file:
        json.dump(said, file)

def one(verdict="declined", reason="No.", hunks=(), kind="actionable", name="item-1"):
    return {"item": name, "kind": kind, "severity": "medium", "category": "logic", "verdict": verdict,
            "reason": reason, "hunks": list(hunks)}
'''

HONEST = """\
messages = user(open(os.environ["AMENDS_TASK"]).read())
while True:
    blocks = streamed(messages)
    calls = [block for block in blocks if block["type"] == "tool_use"]
    said = [{"type": "tool_use", "id": b["id"], "name": b["name"], "input": json.loads(b["json"])} for b in calls]
    if not calls:
        break
    results = []
    for call in said:
        given = call["input"]
        old = open(given["path"]).read()
        open(given["path"], "w").write(old.replace(given["old"], given["new"]))
        results.append({"type": "tool_result", "tool_use_id": call["id"], "content": "done"})
    messages += [{"role": "assistant", "content": said}, {"role": "user", "content": results}]
report(**json.loads(blocks[0]["text"]))
"""


def installed(folder: Path, code: str = HONEST, name: str = "tiny-agent") -> dict[str, object]:
    """The settings of an installation that has this agent for a command."""
    file = folder / "tools/bin" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!{os.path.realpath(sys.executable)} -ISB\n{PRELUDE}\n{textwrap.dedent(code)}")
    file.chmod(0o755)
    return {"agent": {"command": [name]}, "sandbox": {"readable": [str(folder / "tools")]}}


def one(
    verdict: str = "fixed", hunks: tuple[str, ...] = ("app.py",), reason: str = "", kind: str = "actionable"
) -> dict[str, object]:
    """An entry of a report."""
    said = {"item": "item-1", "kind": kind, "severity": "medium", "category": "logic"}
    return {**said, "verdict": verdict, "reason": reason, "hunks": list(hunks)}


def report(*items: dict[str, object], overall: str = "ready") -> str:
    """A report, as its agent writes it."""
    return json.dumps({"overall": overall, "items": list(items), "concerns": ""})


class Place:
    """A pull request with a comment of prose on it, a model, and an agent of the command line."""

    def __init__(self, book: Book, scene: Scene, folder: Path, double: ModelDouble) -> None:
        self.book, self.scene, self.folder, self.double = book, scene, folder, double
        self.changed: dict[str, bytes | None] = {}
        scene.pull.review("bob", "changes_requested", "", [{"path": "app.py", "line": 10, "body": "Better."}])

    async def ended(self, code: str = HONEST, **rules: Any) -> FixPrepared | FixFailed:
        """How the attempt of such an agent ends under these rules."""
        known = {"model": model_settings(self.double), **installed(self.folder, code)}
        ruled = RULES.model_copy(update=rules)
        async with fixing(self.book, self.scene, self.folder, None, ruled, **known) as bench:
            fact = await bench.fixed()
            self.changed = bench.files(fact) if isinstance(fact, FixPrepared) else {}
            return fact

    async def prepared(self, code: str = HONEST, **rules: Any) -> FixPrepared:
        ended = await self.ended(code, **rules)
        assert isinstance(ended, FixPrepared), ended
        return ended

    async def failed(self, code: str = HONEST, **rules: Any) -> FixFailed:
        ended = await self.ended(code, **rules)
        assert isinstance(ended, FixFailed), ended
        return ended

    def heard(self, number: int = 0) -> str:
        """The text of the user's first message in a request."""
        return str(self.double.asked[number].messages[0]["content"])


def verdict(fact: FixPrepared) -> tuple[Judgement, str]:
    """What became of the comment."""
    return next((one.judgement, one.reason) for one in fact.verdicts if one.item.startswith("thread/"))
