"""A gateway on a real socket with a real recorder behind it, deliveries as GitHub signs them, and bare HTTP."""

from __future__ import annotations

import asyncio
import copy
import hmac
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from amends.common.answers import Recorder as Reports
from amends.common.answers import Report
from amends.common.envelope import Event, event_of
from amends.common.events import PolicyChanged
from amends.common.identity import INSTALLATION
from amends.common.log import Log
from amends.common.policy import Overrides
from amends.common.settings import Settings
from amends.evaluator.recorder import LocalRecorder, Recorder
from amends.evaluator.writer import Writer
from amends.gateway.app import start
from tests.contract.examples import examples

Json = dict[str, Any]
SECRET = "a secret that nobody guesses"
REPOSITORY, REPO = "Codertocat/Hello-World", 186853002
TOKEN = "agent-token-0123456789"
OURS = 900


def bearer(name: str = "agent", token: str = TOKEN, **limits: object) -> Json:
    """A token as it stands in the settings."""
    usual = {"may": ("facts", "commands"), "repositories": ("*",)}
    return {"name": name, "sha256": sha256(token.encode()).hexdigest(), **usual, **limits}


# --- deliveries ----------------------------------------------------------------------------------------------------


def example(event: str, action: str | None = None, **changes: object) -> Json:
    """A copy of the first genuine payload of an event, with some of its outermost fields replaced."""
    found = next(one for one in examples()[event] if action is None or one.get("action") == action)
    return {**copy.deepcopy(found), **changes}


def review(number: int = 1, state: str = "changes_requested", body: str | None = "Please.", **changes: object) -> Json:
    """A review of pull request 2, submitted."""
    payload = copy.deepcopy(examples()["pull_request_review"][2])
    said = {"id": number, "node_id": f"PRR_{number}", "state": state, "body": body}
    return {**payload, "action": "submitted", "review": payload["review"] | said, **changes}


def remark(body: str, number: int = 1, action: str = "created", **user: object) -> Json:
    """A comment in the conversation of pull request 2."""
    payload = example("issue_comment", action)
    payload["issue"] |= {"number": 2, "pull_request": {"url": "https://api.github.com/pulls/2"}}
    payload["comment"] |= {"id": number, "node_id": f"IC_{number}", "body": body}
    payload["comment"]["user"] |= user
    payload["sender"] |= user
    return payload


def raw(payload: object) -> bytes:
    """A payload as GitHub writes it: compact."""
    return json.dumps(payload, separators=(",", ":")).encode()


def signature(body: bytes, secret: str = SECRET) -> str:
    return f"sha256={hmac.digest(secret.encode(), body, 'sha256').hex()}"


def request(path: str, body: bytes = b"", method: str = "POST", **fields: str) -> bytes:
    """The bytes of a request; a field that is empty is left out."""
    usual = {"Host": "amends.example", "Content-Length": str(len(body)), "Content-Type": "application/json"}
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    lines = [f"{name}: {value}" for name, value in {**usual, **named}.items() if value]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + body


def delivery(event: str, payload: object, **fields: str) -> bytes:
    """The bytes of a signed delivery."""
    body = payload if isinstance(payload, bytes) else raw(payload)
    usual = {"X_GitHub_Event": event, "X_Hub_Signature_256": signature(body), "X_GitHub_Delivery": "72d3162e-cc78"}
    return request("/webhooks/github", body, **{**usual, **fields})


def about(payload: Json, event: str, number: int = 1, **said: object) -> Json:
    """A payload whose object of that name is another one: its own id and node, and what is said of it."""
    changed = copy.deepcopy(payload)
    changed[event] |= {"id": number, "node_id": f"{event}_{number}", **said}
    return changed


# --- HTTP ----------------------------------------------------------------------------------------------------------


@dataclass
class Reply:
    """An answer: its status, its fields in lower case, and what it says."""

    status: int
    fields: dict[str, str]
    said: Json


class Line:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    async def drip(self, sent: bytes, pause: float) -> None:
        """Send it byte by byte."""
        with suppress(OSError):
            for byte in sent:
                await self.send(bytes([byte]))
                await asyncio.sleep(pause)

    async def reply(self) -> Reply:
        """The next answer on it."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = await self.reader.readexactly(int(fields.get("content-length", 0)))
        return Reply(int(first.split()[1]), fields, json.loads(body) if body else {})

    async def ended(self) -> bool:
        """Whether the other side hangs up without another word."""
        return await self.reader.read() == b""


@asynccontextmanager
async def line(address: str) -> AsyncIterator[Line]:
    """A connection for the length of a block."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Line(reader, writer)
    finally:
        writer.transport.abort()


async def exchange(address: str, sent: bytes) -> Reply:
    """One request on a connection of its own."""
    async with line(address) as connection:
        await connection.send(sent)
        return await connection.reply()


# --- a gateway -----------------------------------------------------------------------------------------------------


@dataclass
class Running:
    """A gateway that runs, and the log behind it."""

    address: str
    log: Log
    recorder: Recorder | None = None
    statuses: list[int] = field(default_factory=list)

    async def deliver(self, event: str, payload: object, **fields: str) -> Reply:
        """Deliver it once, as GitHub would."""
        reply = await exchange(self.address, delivery(event, payload, **fields))
        self.statuses.append(reply.status)
        return reply

    async def ask(self, said: object, token: str = TOKEN, query: str = "", **fields: str) -> Reply:
        """Say it to the API."""
        body = said.encode() if isinstance(said, str) else said if isinstance(said, bytes) else raw(said)
        usual = {"Authorization": f"Bearer {token}"} | ({"Content_Type": "text/plain"} if isinstance(said, str) else {})
        return await exchange(self.address, request(f"/api/facts{query}", body, **{**usual, **fields}))

    def events(self) -> list[Event]:
        """What is in the log of pull requests."""
        return [event_of(row) for row in self.log.rows(0, 100_000) if row.loop != INSTALLATION]

    def reported(self) -> list[str]:
        """The keys of what was reported, not decided."""
        return [event.key for event in self.events() if event.source == "gateway"]


def settings(url: str, **gateway: object) -> Settings:
    """A gateway's settings, with a secret and a token unless told otherwise."""
    usual = {"webhook_secrets": (SECRET,), "tokens": (bearer(),)}
    return Settings.model_validate({"database": url, "our_accounts": (OURS,), "gateway": {**usual, **gateway}})


@contextmanager
def recording(url: str, *repositories: str) -> Iterator[Recorder]:
    """The recorder of an empty log, under a policy that lists these repositories."""
    recorder = Recorder(Writer(url))
    recorder.start()
    recorder.open()
    try:
        listed = PolicyChanged(request="tests", values=Overrides(repositories=repositories))
        recorder.submit("cli", Report(fact=listed)).result()
        yield recorder
    finally:
        recorder.close()


async def seen(running: Running) -> Running:
    """The pull request is known."""
    await running.deliver("pull_request", example("pull_request", "opened"))
    return running


@asynccontextmanager
async def gateway(
    url: str, *repositories: str, reports: Reports | None = None, **changes: object
) -> AsyncIterator[Running]:
    """A gateway on a log of its own; `reports` replaces its way to the recorder."""
    with recording(url, *(repositories or (REPOSITORY,))) as recorder:
        local = reports or LocalRecorder(recorder, "gateway", lambda _sha: None)
        running = await start(settings(url, **changes), local)
        try:
            yield Running(running.address, running.log, recorder)
        finally:
            await running.stop()
