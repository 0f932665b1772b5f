"""Starts somebody else's agent inside the sandbox, with a model's address on the loopback that leads to the door.

Comes in: the task, the command, the name of the model. Goes out: how it ended, its report, the end of what it wrote.
"""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from base64 import b64encode
from contextlib import suppress
from threading import Thread
from typing import IO

DOOR = "/door"
FOLDER = "/tmp/amends"  # noqa: S108 - inside, and nobody else's
TASK, REPORT = f"{FOLDER}/task.md", f"{FOLDER}/report.json"
MOST_REPORT, MOST_WRITTEN = 64 << 10, 24 << 10
CHUNK = 1 << 16
NOT_THERE = 127
KEY = "placeholder: amends adds the key outside"


def pumped(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(CHUNK):
            sink.sendall(chunk)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def connected(inner: socket.socket) -> None:
    with inner, socket.socket(socket.AF_UNIX) as outer, suppress(OSError):
        outer.connect(DOOR)
        back = Thread(target=pumped, args=(outer, inner), daemon=True)
        back.start()
        pumped(inner, outer)
        back.join()


def accepted(listening: socket.socket) -> None:
    while True:
        inner, _ = listening.accept()
        Thread(target=connected, args=(inner,), daemon=True).start()


class End(Thread):
    """Keeps the end of what is written."""

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self.source, self.kept = source, b""
        self.start()

    def run(self) -> None:
        while chunk := os.read(self.source.fileno(), CHUNK):
            self.kept = (self.kept + chunk)[-MOST_WRITTEN:]


def report() -> bytes:
    """The report as it was left; a link, or anything else that is no file, is none."""
    try:
        file = os.open(REPORT, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(file, MOST_REPORT) if stat.S_ISREG(os.fstat(file).st_mode) else b""
    finally:
        os.close(file)


def worked(command: list[str], environment: dict[str, str]) -> tuple[int, bytes, bytes]:
    with open(TASK, "rb") as task:
        process = subprocess.Popen(  # noqa: S603 - the operator's command
            command, stdin=task, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        )
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    assert process.stderr is not None  # noqa: S101 - as above
    ends = End(process.stdout), End(process.stderr)
    code = process.wait()
    for end in ends:
        end.join(1)  # whoever it left behind may hold the pipes for ever
    return code, ends[0].kept, ends[1].kept


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    os.mkdir(FOLDER)
    with open(TASK, "w", encoding="utf-8", errors="replace") as task:
        task.write(asked["task"])
    listening = socket.create_server(("127.0.0.1", 0))
    Thread(target=accepted, args=(listening,), daemon=True).start()
    environment = {
        **os.environ,
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{listening.getsockname()[1]}",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_MODEL": asked["model"],
        "AMENDS_TASK": TASK,
        "AMENDS_REPORT": REPORT,
    }
    command = [word.replace("{task}", TASK).replace("{report}", REPORT) for word in asked["command"]]
    try:
        code, out, err = worked(command, environment)
    except OSError as error:
        code, out, err = NOT_THERE, b"", f"{command[0]}: {error.strerror}".encode()
    said = {"report": report(), "out": out, "err": err}
    sys.stdout.write(json.dumps({"code": code, **{name: b64encode(one).decode() for name, one in said.items()}}))


main()
