r"""A GitHub by other hands: written from its public documentation without a look at our double, for one pull request.

It is an Enterprise Server below a path of its own, and as odd as the documentation allows: whatever may be null or
missing is, ids are large, and each of `ODD` makes it odder. A double that is wrong in the same way as the client proves
nothing; this one is wrong in its own ways.

    with strange(tmp_path, "gzip", "offsets") as forge:
        forge.thread("bob", "```suggestion\nb = 23\n```", forge.review("bob", "CHANGES_REQUESTED"))
        amends_up(api_url=forge.api, token=TOKEN, repositories=[forge.name])
"""

from __future__ import annotations

import gzip
import json
import os
import ssl
import subprocess
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from tests.support.certificates import certificate
from tests.support.strange_graphql import Forge
from tests.support.strange_rest import GONE, ROBOT, Answer, Json

TOKEN = "strange-token"
_PREFIX, _API, _GRAPHQL = "/enterprise", "/enterprise/api/v3", "/enterprise/api/graphql"


class _Handler(BaseHTTPRequestHandler):
    forge: ClassVar[Forge]

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""

    def _answer(self) -> None:
        self.forge.hosts.add(self.headers.get("host", ""))
        url, body = urlsplit(self.path), self.rfile.read(int(self.headers.get("content-length") or 0))
        if ".git/" in url.path:
            self._git(url.path, url.query, body)
            return
        said = json.loads(body) if body else {}
        with self.forge.lock:
            self._send(*self._answered(url.path, url.query, said))

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815 - http.server's names

    def _answered(self, path: str, query: str, said: Json) -> Answer:
        if self.headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, {"message": "Bad credentials"}, {}
        if self.forge.limited(path):
            until = formatdate(datetime.now(UTC).timestamp() + 1, usegmt=True)
            return 403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": until}
        if path == _GRAPHQL:
            return self.forge.graphql(said)
        if not path.startswith(f"{_API}/"):
            return GONE
        return self.forge.rest(self.command, path.removeprefix(_API), query, said)

    def _send(self, status: int, said: object, more: dict[str, str]) -> None:
        odd, raw = self.forge.odd, (said if isinstance(said, str) else json.dumps(said)).encode()
        fields = {"Content-Type": "application/json; charset=utf-8", "X-OAuth-Scopes": "repo", **more}
        if "nodate" not in odd:
            fields["Date"] = formatdate(usegmt=True)
        if "gzip" in odd:
            raw, fields["Content-Encoding"] = gzip.compress(raw), "gzip"
        if "chunked" in odd:
            fields["Transfer-Encoding"] = "chunked"
            pieces = [raw[start : start + 99] for start in range(0, len(raw), 99)]
            raw = b"".join(b"%x;x=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nX-End: 1\r\n\r\n"
        elif "http10" not in odd:
            fields["Content-Length"] = str(len(raw))
        self._reply(status, fields, raw)

    def _reply(self, status: int, fields: dict[str, str], raw: bytes) -> None:
        self.protocol_version = "HTTP/1.0" if "http10" in self.forge.odd else "HTTP/1.1"
        self.close_connection = True
        self.send_response_only(status)
        for name, value in {**fields, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _git(self, path: str, query: str, body: bytes) -> None:
        told = self.headers.get("authorization", "Basic Og==").removeprefix("Basic ")
        if b64decode(told).decode().partition(":")[2] != TOKEN:
            self._reply(401, {"WWW-Authenticate": 'Basic realm="x"'}, b"")
            return
        below = f"{_PREFIX}/scm" if "scm" in self.forge.odd else _PREFIX
        if "no_git" in self.forge.odd or not path.startswith(f"{below}/Acme"):
            self._reply(404, {}, b"")
            return
        known = {
            "GIT_PROJECT_ROOT": str(self.forge.folder / "git"), "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": ROBOT,
            "PATH_INFO": path.removeprefix(below), "QUERY_STRING": query, "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("content-type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
        }  # fmt: skip
        made = subprocess.check_output(["git", "http-backend"], input=body, env={**os.environ, **known})
        head, _, rest = made.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        status = int(fields.pop("Status", "200").split()[0])
        self._reply(status, {**fields, "Content-Length": str(len(rest))}, rest)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Whoever hangs up has what he wanted."""


@contextmanager
def strange(folder: Path, *odd: str) -> Iterator[Forge]:
    """Such a GitHub for the length of a block."""
    folder.mkdir(parents=True, exist_ok=True)
    forge = Forge(folder, frozenset(odd))
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"forge": forge}))
    if "tls" in odd:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*certificate(folder))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    forge.api = f"http{'s' * ('tls' in odd)}://127.0.0.1:{server.server_address[1]}{_API}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
