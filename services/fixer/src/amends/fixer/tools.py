"""What the agent can do: how each tool is described to it, and how those that touch files or run something are run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from amends.fixer.bubblewrap import INSIDE, INTERPRETER
from amends.fixer.dialogue import Json
from amends.fixer.sandbox import Command, Ended, Sandbox, shell

TEXT: Json = {"type": "string"}
LINE: Json = {"type": ["integer", "null"], "description": "Counted from 1."}
MAYBE: Json = {"type": ["string", "null"]}
_LONGEST_RUN = 300.0
_MOST_SHOWN = 30_000
FILES = frozenset({"view", "list", "search", "create", "edit", "delete"})
CHANGING = frozenset({"create", "edit", "delete", "run"})


def _tool(name: str, description: str, **properties: Json) -> Json:
    return {
        "name": name,
        "description": description,
        "strict": True,
        "input_schema": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "additionalProperties": False,
        },
    }


def _list(**properties: Json) -> Json:
    one = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "array", "items": one}


def _one_of(*words: str) -> Json:
    return {"type": "string", "enum": list(words)}


_ITEM: Json = {"type": "string", "description": "Its name, like item-1."}
_SEVERITY = _one_of("critical", "high", "medium", "low", "suggestion")
_CATEGORY = _one_of("security", "architecture", "logic", "style", "performance", "testing", "documentation")
_BESIDE: Json = {"type": "array", "items": {"type": "string", "description": "An item that wants the opposite."}}

# The same bytes in every request of every run: a cache compares them.
TOOLS: tuple[Json, ...] = (
    _tool("list", "Lists files below a folder of the workspace.", path=MAYBE),
    _tool("view", "Shows lines of a file, with their numbers.", path=TEXT, start=LINE, end=LINE),
    _tool(
        "search",
        "Finds lines that match a regular expression; `files` is a pattern like *.py.",
        pattern=TEXT, path=MAYBE, files=MAYBE,
    ),
    _tool("create", "Writes a whole file, new or not.", path=TEXT, content=TEXT),
    _tool(
        "edit",
        "Replaces a piece of a file. `old` must stand there exactly once, with all its spaces.",
        path=TEXT, old=TEXT, new=TEXT,
    ),
    _tool("delete", "Deletes a file.", path=TEXT),
    _tool("run", "Runs a line of shell in the workspace: tests, linters. No network.", command=TEXT),
    _tool("changes", "Shows every hunk that differs from the head, with its name."),
    _tool(
        "triage",
        "Says what every item is, before anything is changed. Call it once.",
        overall=_one_of("ready", "needs_human_input", "blocked"),
        items=_list(
            item=_ITEM, kind=_one_of("actionable", "question", "needs_human"), severity=_SEVERITY, category=_CATEGORY,
            reason=TEXT, beside=_BESIDE,
        ),
    ),
    _tool(
        "report",
        "Says what became of every item, and ends the work.",
        items=_list(
            item=_ITEM, verdict=_one_of("fixed", "answered", "declined", "deferred", "needs_human"), reason=TEXT,
            hunks={"type": "array", "items": {"type": "string", "description": "As `changes` names it."}},
            beside=_BESIDE,
        ),
        concerns=TEXT,
    ),
)  # fmt: skip


class Result(NamedTuple):
    """What a tool answers."""

    text: str
    wrong: bool = False


@dataclass(frozen=True)
class Toolbox:
    """The tools that touch files or run something, all of them inside the sandbox."""

    sandbox: Sandbox
    workspace: Path

    async def use(self, name: str, given: Mapping[str, Any], seconds: float) -> Result:
        """What comes of one use of a tool."""
        if name == "run":
            return await self._run(given, seconds)
        asked = json.dumps({"tool": name, "given": dict(given)}).encode()
        command = Command((*INTERPRETER, f"{INSIDE}/toolbox.py"), asked, min(seconds, 60.0))
        ran = await self.sandbox.run(self.workspace, command)
        try:
            said = json.loads(ran.output)
            return Result(str(said["text"]), wrong=not said["ok"])
        except (ValueError, KeyError, TypeError):
            return Result(f"the tool itself failed: {ran.text[-400:]}", wrong=True)

    async def _run(self, given: Mapping[str, Any], seconds: float) -> Result:
        line = given.get("command")
        if not isinstance(line, str) or not line.strip() or "\0" in line:
            return Result("give a line of shell in `command`", wrong=True)
        ran = await self.sandbox.run(self.workspace, shell(line, min(seconds, _LONGEST_RUN)))
        how = f"exit code {ran.code}" if ran.ended is Ended.ITSELF else f"ended: too much {ran.ended}"
        return Result(f"[{how}]\n{shortened(ran.text)}", wrong=not ran.passed)


def shortened(text: str, most: int = _MOST_SHOWN) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n[... {len(text) - most} characters left out ...]\n{text[-most // 2 :]}"
