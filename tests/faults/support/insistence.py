"""Reporting as harshly as anybody could: over several connections, with little patience, until there is an answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import cycle
from urllib.parse import urlsplit

from amends.common.answers import Answer, Refused, Report, Unavailable
from amends.common.bus.link import Link, Unanswered
from amends.common.bus.reporter import NatsRecorder
from amends.common.bus.wire import answer_from
from amends.common.delivery import Later
from amends.common.events import AnyFact, Reporter
from tests.faults.support.ledger import Ledger
from tests.faults.support.team import Pull

CONNECTIONS = 4
PATIENCE = (0.01, 1.0, 1.0, 1.0)  # seconds for which an answer is waited for, in turn
AGAIN = 0.05  # seconds between two tries: harsher than any service would be
HOSTILE = (b"{", b'{"fact": {"type": "no.such"}}', b'{"fact": {"type": "pr.closed"}, "about": {}}', b"\xff\xfe")


class Insistence:
    """Every report and every answer goes into the ledger. `open` is what nobody has answered yet."""

    def __init__(self, nats_url: str, ledger: Ledger) -> None:
        self.open: set[str] = set()
        self._ledger = ledger
        user = urlsplit(nats_url).username  # where there are users, one of them: what it may not say is unavailable
        self._links = [Link(nats_url, user or f"load-{n}") for n in range(CONNECTIONS)]
        self._turns = cycle((link, seconds) for link in self._links for seconds in PATIENCE)
        self._hostile = cycle(HOSTILE)

    async def begin(self) -> None:
        """Connect; waits until there is a server."""
        await asyncio.gather(*(link.open() for link in self._links))

    async def end(self) -> None:
        """Leave."""
        for link in self._links:
            await link.close()

    async def report(self, service: Reporter, pull: Pull, fact: AnyFact) -> Answer:
        """Report until there is an answer, over another connection and with other patience each time."""
        report = Report(fact=fact, about=pull.about)
        self._ledger.sending(report)
        self.open.add(f"{pull.loop} {fact.key}")
        while True:
            link, seconds = next(self._turns)
            answer = await NatsRecorder(link, service, seconds).report(report)
            self._ledger.answered(report, answer)
            if not isinstance(answer, Unavailable):
                self.open.discard(f"{pull.loop} {fact.key}")
                return answer
            await asyncio.sleep(AGAIN)

    async def put(self, content: bytes) -> str:
        """Put a blob until it is kept."""
        while True:
            link, _ = next(self._turns)
            with suppress(Later):
                sha = await NatsRecorder(link, "fixer", 1.0).put(content)
                self._ledger.blobs[sha] = content
                return sha
            await asyncio.sleep(AGAIN)

    async def presume(self, pull: Pull, fact: AnyFact) -> None:
        """Report what the reporter may not report: it is not in the ledger, so it must not be in the log."""
        link, seconds = next(self._turns)
        answer = await NatsRecorder(link, "notifier", seconds).report(Report(fact=fact, about=pull.about))
        assert isinstance(answer, Refused | Unavailable), answer

    async def bother(self) -> None:
        """Send bytes that are no report."""
        link, seconds = next(self._turns)
        with suppress(Unanswered):
            answer = answer_from((await link.request("report.gateway", next(self._hostile), seconds=seconds)).data)
            assert isinstance(answer, Refused | Unavailable), answer
