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
MOST_SHOWN = 30_000  # letters
LONGEST_LINE, LONGEST_FOUND = 1_000, 400


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
    shown, room = [], MOST_SHOWN
    for number in range(start, end + 1):
        shown.append(f"{number:>6}  {cut(lines[number - 1])}")
        room -= len(shown[-1]) + 1
        if room < 0:
            shown, end = shown[:-1], number - 1
            break
    rest = f"\n[lines {end + 1} to {len(lines)} are not shown]" if end < len(lines) else ""
    return "\n".join(shown) + rest


def cut(line: str) -> str:
    more = len(line) - LONGEST_LINE
    return line if more <= 0 else f"{line[:LONGEST_LINE]} [{more} more characters]"


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
    found: list[str] = []
    room = MOST_SHOWN
    for path in walk(below(asked)):
        if asked.get("files") and not fnmatch.fnmatch(path, asked["files"]):
            continue
        try:
            lines = content(path).decode(errors="replace").split("\n")
        except (Refused, OSError):
            continue
        for number, line in enumerate(lines, 1):
            if pattern.search(line):
                found.append(f"{path}:{number}: {line[:LONGEST_FOUND]}")
                room -= len(found[-1]) + 1
            if len(found) == MOST_FOUND or room < 0:
                return "\n".join([*found, "[there are more: search for less]"])
    return "\n".join(found) or "[nothing]"


def create(asked: Asked) -> str:
    whole = placed(asked["path"])
    if os.path.lexists(whole) and not os.path.isfile(whole):
        raise Refused("something else is there")
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    before = b""
    if os.path.exists(whole):
        with open(whole, "rb") as file:
            before = file.read()
    with open(whole, "wb") as file:
        file.write(as_all(before, asked["content"].encode()))
    return "written"


def as_all(before: bytes, text: bytes) -> bytes:
    """With ends of lines as all lines of a file have them; where they differ, as they are."""
    crlf = before.count(b"\r\n")
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") if crlf and crlf == before.count(b"\n") else text


def edit(asked: Asked) -> str:
    before = content(asked["path"])
    old, new = (as_all(before, asked[one].encode()) for one in ("old", "new"))
    if b"\r\n" in before and b"\r\n" not in old and old not in before:  # some lines end so
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
    # A letter takes as few bytes as it can: there is room for so many.
    sys.stdout.buffer.write(json.dumps(said, ensure_ascii=False).encode(errors="backslashreplace"))


if __name__ == "__main__":
    main()
