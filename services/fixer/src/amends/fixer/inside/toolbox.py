"""The agent's file tools, run inside the sandbox: one request as JSON comes in, one answer as JSON goes out.

It has the walls of the sandbox around it and needs no others; what it refuses, it refuses to be of help.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

Asked = dict[str, Any]
ROOT = "/workspace"
MOST_FILE = 2_000_000
MOST_LINES = 400
MOST_FOUND = 200
LONGEST_LINE = 400


class Refused(Exception):
    """It cannot be done, and why."""


def placed(path: str) -> str:
    """Where a path is, if it is one of the workspace."""
    whole = os.path.normpath(os.path.join(ROOT, path))
    parts = os.path.relpath(whole, ROOT).split(os.sep)
    if parts[0] == ".." or whole == ROOT:
        raise Refused("give a path below the workspace, like src/app.py")
    if any(part.lower() == ".git" for part in parts):
        raise Refused("there is no git here")
    return whole


def content(path: str) -> bytes:
    whole = placed(path)
    if os.path.islink(whole) or not os.path.isfile(whole):
        raise Refused("there is no regular file of this name: `list` shows what there is")
    if os.path.getsize(whole) > MOST_FILE:
        raise Refused("the file is too large to be shown: use `search`, or `run`")
    with open(whole, "rb") as file:
        return file.read()


def view(asked: Asked) -> str:
    lines = content(asked["path"]).decode(errors="replace").split("\n")
    start = max(1, asked.get("start") or 1)
    end = min(len(lines), asked.get("end") or len(lines), start + MOST_LINES - 1)
    shown = [f"{number:>6}  {lines[number - 1]}" for number in range(start, end + 1)]
    rest = f"\n[lines {end + 1} to {len(lines)} are not shown]" if end < len(lines) else ""
    return "\n".join(shown) + rest


def walk(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules", "__pycache__"))
        for name in sorted(files):
            yield os.path.relpath(os.path.join(place, name), ROOT)


def below(asked: Asked) -> str:
    path = asked.get("path") or "."
    return ROOT if os.path.normpath(path) in (".", ROOT) else placed(path)


def listed(asked: Asked) -> str:
    found: list[str] = []
    for path in walk(below(asked)):
        if len(found) == MOST_FOUND:
            found.append("[there are more: name a folder]")
            break
        found.append(path)
    return "\n".join(found) or "[nothing]"


def search(asked: Asked) -> str:
    try:
        pattern = re.compile(asked["pattern"])
    except re.error as error:
        raise Refused(f"the pattern is no regular expression of Python's: {error}") from None
    found = []
    for path in walk(below(asked)):
        if asked.get("files") and not fnmatch.fnmatch(path, asked["files"]):
            continue
        try:
            lines = content(path).decode(errors="replace").split("\n")
        except (Refused, OSError):
            continue
        for number, line in enumerate(lines, 1):
            if pattern.search(line):
                found.append(f"{path}:{number}: {line[:LONGEST_LINE]}")
            if len(found) == MOST_FOUND:
                return "\n".join([*found, "[there are more: search for less]"])
    return "\n".join(found) or "[nothing]"


def create(asked: Asked) -> str:
    whole = placed(asked["path"])
    if os.path.lexists(whole) and not os.path.isfile(whole):
        raise Refused("something else is there")
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "wb") as file:
        file.write(asked["content"].encode())
    return "written"


def edit(asked: Asked) -> str:
    before, old, new = content(asked["path"]), asked["old"].encode(), asked["new"].encode()
    if b"\r\n" in before and b"\r\n" not in old:
        old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    times = before.count(old) if old else 0
    if times != 1:
        raise Refused(f"`old` is there {times} times, and must be there once: give more of the lines around it")
    with open(placed(asked["path"]), "wb") as file:
        file.write(before.replace(old, new))
    return "edited"


def delete(asked: Asked) -> str:
    content(asked["path"])
    os.unlink(placed(asked["path"]))
    return "deleted"


TOOLS: dict[str, Callable[[Asked], str]] = {
    "view": view,
    "list": listed,
    "search": search,
    "create": create,
    "edit": edit,
    "delete": delete,
}


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    try:
        said: Asked = {"ok": True, "text": TOOLS[asked["tool"]](asked["given"])}
    except Refused as refused:
        said = {"ok": False, "text": str(refused)}
    except (OSError, KeyError, TypeError, ValueError) as error:
        said = {"ok": False, "text": f"{type(error).__name__}: {error}"[:400]}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
