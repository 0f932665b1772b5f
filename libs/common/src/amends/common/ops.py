"""The small HTTP server for operators: `/metrics`, `/healthz`, `/readyz`. It only reads, and nothing can hold it up."""

from __future__ import annotations

import json
import logging
import socket
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from socketserver import TCPServer
from threading import BoundedSemaphore, Thread
from typing import TypeAlias

from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from amends.common.metrics import REGISTRY

log = logging.getLogger(__name__)
SECONDS = 2.0  # for a request to arrive whole, and again for its answer to leave
MOST_BYTES = 8 * 1024
MOST_AT_ONCE = 8
TEXT = "text/plain; charset=utf-8"

Checks: TypeAlias = Callable[[], Mapping[str, str]]
Page: TypeAlias = tuple[HTTPStatus, str, bytes]


class OpsNotServed(Exception):
    """The address for operators cannot be had, and which setting says which it is."""


class Ops:
    """Serves in a thread of its own. `checks` answers from what the process knows: `ok`, or what is wrong, by name."""

    def __init__(self, host: str, port: int, checks: Checks) -> None:
        self._host = host
        self._port = port
        self._pages: dict[str, Callable[[], Page]] = {
            "/": lambda: (HTTPStatus.OK, TEXT, "\n".join([*self._pages, ""][1:]).encode()),
            "/metrics": lambda: (HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(REGISTRY)),
            "/healthz": lambda: (HTTPStatus.OK, TEXT, b"ok\n"),
            "/readyz": lambda: readiness(checks),
        }
        self._server: _Server | None = None

    def start(self) -> str:
        """Begin to serve; answers with the address."""
        try:
            self._server = _Server(self._host, self._port, self._pages)
        except OSError as error:
            where = f"{self._host}:{self._port}"
            raise OpsNotServed(
                f"{where} cannot be served ({error.strerror or error}): set ops_host, ops_port"
            ) from error
        Thread(target=self._server.serve_forever, args=(0.05,), name="ops", daemon=True).start()
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._server.server_address[1]}"

    def stop(self) -> None:
        """Serve no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def readiness(checks: Checks) -> Page:
    """Whether the process is of use, with one key per check."""
    try:
        found = dict(checks())
    except Exception as error:  # noqa: BLE001 - a check that fails is an answer, not an accident
        found = {"checks": f"{type(error).__name__}: {error}"[:300]}
    ready = all(said == "ok" for said in found.values())
    body = json.dumps(found, indent=2).encode() + b"\n"
    return HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE, "application/json", body


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, host: str, port: int, pages: Mapping[str, Callable[[], Page]]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.pages = pages
        self._free = BoundedSemaphore(MOST_AT_ONCE)
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # HTTPServer's own asks the name service who we are, which can take seconds

    def process_request(self, request: object, client_address: object) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)  # type: ignore[arg-type]  # as the base class takes it
        else:
            self.shutdown_request(request)  # type: ignore[arg-type]  # as above

    def finish_request(self, request: object, client_address: object) -> None:
        try:
            super().finish_request(request, client_address)  # type: ignore[arg-type]  # as above
        finally:
            self._free.release()  # before the connection closes, or a client that waits for that comes too early

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - as the base class has it
        log.debug("a request for operators came to nothing", extra={"error": repr(sys.exception())})


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.rfile = BytesIO(self._head())
        self.connection.settimeout(SECONDS)

    def _head(self) -> bytes:
        """The request's head: all of it, in time and not too large, or nothing."""
        head, deadline = b"", time.monotonic() + SECONDS
        while b"\r\n\r\n" not in head:
            self.connection.settimeout(max(0.001, deadline - time.monotonic()))
            more = self.connection.recv(MOST_BYTES)
            head += more
            if not more or len(head) > MOST_BYTES:
                return b""
        return head

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        self._answer(*(page() if page else (HTTPStatus.NOT_FOUND, TEXT, b"not here; / lists what is\n")))

    def do_HEAD(self) -> None:
        self.do_GET()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Whatever is wrong with a request, nothing of it is repeated."""
        unsupported = code == HTTPStatus.NOT_IMPLEMENTED
        self._answer(HTTPStatus.METHOD_NOT_ALLOWED if unsupported else HTTPStatus(code), TEXT, b"GET or HEAD, please\n")

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Cache-Control": "no-store"}
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = "GET, HEAD"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        return "amends"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class calls it
        """A scrape every few seconds is no news."""
