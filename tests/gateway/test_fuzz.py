"""10,000 bodies that GitHub never sent: none is a crash, none is believed unsigned, every fact can be stored."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amends.common.answers import Answer, Go, Recorded, Report, parse
from amends.common.github.sightings import Ours
from amends.common.log import Log
from amends.common.redaction import Redactor
from amends.gateway.intake import Intake
from amends.gateway.places import Places as Known
from amends.gateway.reporting import Desk
from amends.gateway.routing import Message, Places, Routing
from amends.gateway.signatures import Secrets
from tests.contract.examples import named, rejections
from tests.support.asynchronous import asynchronous
from tests.support.gateway import OURS, SECRET, Json, gateway, raw, recording, signature

EXAMPLES = [*named(), *(("pull_request_review", payload) for payload in rejections())]
LISTED = {payload["repository"]["full_name"] for _, payload in EXAMPLES if "repository" in payload}
EACH, BODIES = 25, 5_000
SOME = settings(max_examples=BODIES // EACH, deadline=None, suppress_health_check=list(HealthCheck))


class Strict:
    """A recorder that takes what a recorder behind the bus could take, and remembers it."""

    def __init__(self) -> None:
        self.said: list[Report] = []

    async def report(self, report: Report) -> Answer:
        self.said.append(parse(report.model_dump_json(by_alias=True).encode()))
        return Recorded(len(self.said))

    async def may(self, pos: int, run: str = "") -> Go:
        return Go()

    async def put(self, content: bytes) -> str:
        raise NotImplementedError

    async def get(self, sha: str) -> bytes | None:
        raise NotImplementedError


class Door:
    """The route as the server calls it, without a socket."""

    def __init__(self, log: Log) -> None:
        self.recorder = Strict()
        intake = Intake(Secrets([SECRET]), Desk(self.recorder, Known(log), Redactor([SECRET])), Ours(frozenset({OURS})))
        self._routing = Routing({"/webhooks/github": intake.route}, Places(2**20, 4), 9.0)
        self.statuses: Counter[int] = Counter()

    async def deliver(self, event: str, body: bytes, header: str) -> int:
        fields = {"content-type": "application/json", "x-github-event": event, "x-hub-signature-256": header}
        return await self.call([(name.encode(), value.encode("latin-1")) for name, value in fields.items()], body)

    async def call(self, fields: list[tuple[bytes, bytes]], body: bytes) -> int:
        sent: list[Mapping[str, Any]] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "http_version": "1.1", "method": "POST", "raw_path": b"/webhooks/github"}
        await self._routing({**scope, "query_string": b"", "headers": fields}, receive, send)
        status: int = sent[0]["status"]
        self.statuses[status] += 1
        return status


@contextmanager
def door(url: str) -> Iterator[Door]:
    with recording(url, *LISTED):
        log = Log(url)
        try:
            yield Door(log)
        finally:
            log.close()


# --- mutations -----------------------------------------------------------------------------------------------------

STRANGE: list[Any] = [
    None, True, 0, -1, 1.5, 2**31, 2**63, 2**64, 10**400, "", "x" * 70_000, "\0", "\ud800", "\u202e", "../..",
    "a\r\nB: c", [], {}, [[]], {"id": 1}, [None], {"": None}, "9" * 30, "Infinity", "2026-13-45T99:99:99Z",
    "0000-00-00", "💥" * 300, "/amends retry", "<!-- amends -->", "ghp_" + "a" * 36, "-rf", "$(id)", "\x7f\x9b31m",
    "true", 1e308, [1] * 2_000,
]  # fmt: skip


def mutated(random: Random, payload: Json) -> bytes:
    """A payload with some of its values replaced, dropped or repeated, and then some of its bytes."""
    changed = json.loads(raw(payload))
    for _ in range(random.randrange(4)):
        _somewhere(random, changed)
    body = raw(changed)
    for _ in range(random.choice([0, 0, 0, 1, 3])):
        body = _scratched(random, body)
    return body


def _somewhere(random: Random, node: Any) -> None:
    """Change one value, anywhere below this object."""
    while isinstance(node, dict | list) and node:
        place = random.choice([*node]) if isinstance(node, dict) else random.randrange(len(node))
        if random.random() < 0.4 or not isinstance(node[place], dict | list) or not node[place]:
            if random.random() < 0.3:
                del node[place]
            else:
                node[place] = copy.deepcopy(random.choice(STRANGE))
            return
        node = node[place]


def _scratched(random: Random, body: bytes) -> bytes:
    if not body:
        return b"{"
    start = random.randrange(len(body))
    end = min(len(body), start + random.randrange(1, 12))
    return random.choice(
        [
            body[:start] + body[end:],
            body[:start] + random.randbytes(end - start) + body[end:],
            body[:start] + body[start:end] * 2 + body[end:],
            body[:start],
            body[:start] + b"{" * random.randrange(1, 300) + body[start:],
            body[:start] + b'"\\ud800"' + body[end:],
            body[:-1] + b',"action":"created"}',
        ]
    )


def forged(random: Random, body: bytes, header: str) -> tuple[bytes, str]:
    """The body or its signature, or both, changed by somebody who does not know the secret."""
    other = f"{random.randrange(16**64):064x}"
    return random.choice(
        [
            (_scratched(random, body), header),
            (body + b" ", header),
            (body, header[:-1] + random.choice("0123456789abcdef".replace(header[-1], ""))),
            (body, f"sha256={other}"),
            (body, signature(body, random.choice(["", " ", SECRET[:-1], SECRET.upper(), SECRET + "\0"]))),
            (body, random.choice(["", "sha256=", "sha256=" + "\xb2" * 64, header.upper(), header[7:], header + "0"])),
        ]
    )


# --- what must hold ------------------------------------------------------------------------------------------------


def test_inv_03_no_signed_body_crashes_it_and_every_fact_can_be_stored(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "amends.gateway")  # a line for each would only make it slow
    with door(sqlite_url) as opened:

        @SOME
        @given(st.integers(0, 2**64))
        def hold(seed: int) -> None:
            asyncio.run(_signed(opened, Random(seed)))

        hold()
    _printed(capsys, "signed", opened)
    assert {*opened.statuses} <= {202, 400}
    assert opened.recorder.said


async def _signed(opened: Door, random: Random) -> None:
    for _ in range(EACH):
        event, payload = random.choice(EXAMPLES)
        body = mutated(random, payload)
        await opened.deliver(random.choice([event] * 9 + ["pull_request"]), body, signature(body))


def test_inv_02_no_forgery_is_believed(sqlite_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with door(sqlite_url) as opened:

        @SOME
        @given(st.integers(0, 2**64))
        def hold(seed: int) -> None:
            asyncio.run(_forged(opened, Random(seed)))

        hold()
    _printed(capsys, "forged", opened)
    assert {*opened.statuses} == {401}
    assert opened.recorder.said == []


async def _forged(opened: Door, random: Random) -> None:
    for _ in range(EACH):
        event, payload = random.choice(EXAMPLES)
        body = raw(payload)
        told, header = forged(random, body, signature(body))
        await opened.deliver(event, told, header if told != body or header != signature(body) else "")


def _printed(capsys: pytest.CaptureFixture[str], what: str, opened: Door) -> None:
    said = ", ".join(f"{status}: {count}" for status, count in sorted(opened.statuses.items()))
    with capsys.disabled():
        sys.stdout.write(f"\n{opened.statuses.total()} {what} bodies: {said}; {len(opened.recorder.said)} facts\n")
    assert opened.statuses.total() >= BODIES


@asynchronous
async def test_inv_03_on_a_socket_and_before_a_real_recorder_it_is_the_same(sqlite_url: str) -> None:
    random = Random(20260302)
    async with gateway(sqlite_url, *LISTED) as running:
        for event, payload in random.choices(EXAMPLES, k=300):
            await running.deliver(event, mutated(random, payload))
    assert {*running.statuses} <= {202, 400}
