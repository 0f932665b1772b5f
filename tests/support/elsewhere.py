"""Slack and a mail server in a few lines each, on free ports: what arrived, and accidents on a switch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]


@dataclass
class SlackDouble:
    """A channel of Slack: chat.postMessage, conversations.history and an incoming webhook.

    `faults` are what the next posts are answered with: a status, or a word of Slack's; `stored` ones arrive anyway.
    """

    url: str = ""
    texts: list[str] = field(default_factory=list)
    faults: list[int | str] = field(default_factory=list)
    stored: bool = False
    tokens: set[str] = field(default_factory=set)
    posts: int = 0

    def post(self, text: str) -> tuple[int, object]:
        self.posts += 1
        fault = self.faults.pop(0) if self.faults else None
        if fault is None or self.stored:
            self.texts.append(text)
        if isinstance(fault, int):
            return fault, {"ok": False, "error": "no"}
        return 200, {"ok": True} if fault is None else {"ok": False, "error": fault}

    def history(self) -> tuple[int, object]:
        return 200, {"ok": True, "messages": [{"type": "message", "text": text} for text in reversed(self.texts)]}


@contextmanager
def slack() -> Iterator[SlackDouble]:
    """A Slack for the length of a block."""
    double = SlackDouble()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            double.tokens.add(self.headers.get("authorization", ""))
            if self.path.endswith("/conversations.history"):
                self._answer(*double.history())
                return
            said: Json = json.loads(raw)
            self._answer(*double.post(said["text"]))

        def _answer(self, status: int, said: object) -> None:
            hook = urlsplit(self.path).path.startswith("/hook")
            raw = b"ok" if hook and status == 200 else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    double.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield double
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class MailDouble:
    """A mail server. `answers` replaces what it says to a verb, once: `{"DATA": "451 later"}`; "" hangs up."""

    port: int = 0
    raw: list[bytes] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    @property
    def letters(self) -> list[EmailMessage]:
        return [message_from_bytes(one, policy=default) for one in self.raw]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            await self._say(writer, "220 here")
            while line := (await reader.readline()).decode().strip():
                verb = line[:4].upper()
                answer = self.answers.pop(verb, None)
                if verb == "RCPT" and any(one in line for one in self.refused):
                    answer = "550 no such mailbox"
                if verb == "DATA" and answer is None:
                    await self._say(writer, "354 go on")
                    self.raw.append((await reader.readuntil(b"\r\n.\r\n"))[:-3])
                    answer = self.answers.pop("END", None)
                if answer == "":
                    return
                await self._say(writer, answer or ("221 bye" if verb == "QUIT" else "250 ok"))
                if verb == "QUIT":
                    return
        finally:
            writer.close()

    async def _say(self, writer: asyncio.StreamWriter, said: str) -> None:
        writer.write(f"{said}\r\n".encode())
        await writer.drain()


@asynccontextmanager
async def mail() -> AsyncIterator[MailDouble]:
    """A mail server for the length of a block."""
    double = MailDouble()
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0)
    double.port = server.sockets[0].getsockname()[1]
    async with server:
        yield double
