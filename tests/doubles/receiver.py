"""Takes webhooks as a product would, and remembers them; what it answers can be changed."""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Arrived:
    """One delivery as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        return self.headers["x-github-event"]

    @property
    def delivery(self) -> str:
        return self.headers["x-github-delivery"]

    @property
    def said(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.body)
        return said

    @property
    def name(self) -> str:
        action = self.said.get("action")
        return f"{self.event}.{action}" if action else self.event

    def signed_with(self, secret: str) -> bool:
        wanted = "sha256=" + hmac.new(secret.encode(), self.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(wanted, self.headers.get("x-hub-signature-256", ""))


class Receiver:
    """Listens on a free port while its block lasts."""

    def __init__(self) -> None:
        self.arrived: list[Arrived] = []
        self.status = 202
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/webhooks/github"

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.arrived]

    def find(self, name: str) -> list[Arrived]:
        """By event, or by event and action."""
        return [one for one in self.arrived if name in {one.event, one.name}]

    def clear(self) -> None:
        self.arrived.clear()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.arrived.append(Arrived(headers, body))
            self.send_response(receiver.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
            pass

    return Handler
