"""The gateway's wiring: the log it reads, the recorder it reports to, the socket it listens on."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from amends.common.alone import opened, told_to_end
from amends.common.answers import Recorder
from amends.common.bus.link import Link
from amends.common.bus.reporter import NatsRecorder
from amends.common.events import Reporter
from amends.common.github.ourselves import our_accounts
from amends.common.log import Log
from amends.common.logs import set_up
from amends.common.ops import Ops, OpsNotServed
from amends.common.redaction import Redactor
from amends.common.runner import run
from amends.common.settings import Settings
from amends.gateway.callers import Callers, Clash
from amends.gateway.facts_api import FactsApi
from amends.gateway.intake import Intake
from amends.gateway.loops_api import LoopsApi
from amends.gateway.places import Places
from amends.gateway.reporting import Desk
from amends.gateway.server import Server
from amends.gateway.signatures import Secrets

log = logging.getLogger(__name__)
SERVICE: Reporter = "gateway"
OK, USAGE, UNREACHABLE = 0, 2, 3


class NotServed(Exception):
    """The gateway cannot listen or does not know whom to believe; the message names the setting."""


@dataclass
class Gateway:
    """One gateway, listening."""

    log: Log
    server: Server
    address: str

    def checks(self) -> dict[str, str]:
        """What has to be right for it to be of use, one key each."""
        return {"gateway": "ok" if self.server.listening else "not listening"}

    async def stop(self) -> None:
        """Take no more, and finish what is in hand."""
        await self.server.stop()
        self.log.close()


async def start(settings: Settings, recorder: Recorder) -> Gateway:
    """Listen, and report what comes in to this recorder."""
    reader = Log(settings.database)
    places = Places(reader)
    redacted = Redactor(settings.secrets)
    desk = Desk(recorder, places, redacted)
    secrets = Secrets(secret.get_secret_value() for secret in settings.gateway.webhook_secrets)
    try:
        callers = Callers(settings.gateway.tokens)
    except Clash as clash:
        raise NotServed(str(clash)) from clash
    api = FactsApi(callers, desk, places, redacted, lambda: datetime.now(UTC))
    intake = Intake(secrets, desk, await our_accounts(settings))
    loops = LoopsApi(callers, desk, reader, redacted)
    server = Server({"/webhooks/github": intake.route, "/api/facts": api.route, **loops.routes})
    host, port = settings.gateway.host, settings.gateway.port
    try:
        address = await server.start(host, port)
    except OSError as error:
        why = error.strerror or error
        raise NotServed(f"{host}:{port} cannot be served ({why}): set gateway.host, gateway.port") from error
    if not secrets:
        log.warning("no webhook is believed: gateway.webhook_secrets is not set")
    return Gateway(reader, server, address)


@asynccontextmanager
async def serving(settings: Settings, recorder: Recorder) -> AsyncIterator[Gateway]:
    """A gateway for the length of a block; what it has in hand at the end is finished."""
    gateway = await start(settings, recorder)
    try:
        yield gateway
    finally:
        await gateway.stop()


def serve(settings: Settings) -> int:
    """`amends run gateway`: the gateway alone, on a NATS that somebody else runs; answers the exit code."""
    set_up(settings.log_level, settings.secrets)
    if not settings.nats_url:
        sys.stderr.write("amends: nats_url is not set: give --nats, or AMENDS_NATS_URL, or use `amends up`\n")
        return USAGE
    if not settings.gateway.webhook_secrets and not settings.gateway.tokens:
        sys.stderr.write("amends: nobody would be believed: set gateway.webhook_secrets, or gateway.tokens\n")
        return USAGE
    try:
        run(_alone(settings))
    except (NotServed, OpsNotServed) as error:
        sys.stderr.write(f"amends: {error}\n")
        return UNREACHABLE
    return OK


async def _alone(settings: Settings) -> None:
    stop = told_to_end()
    link = Link(settings.nats_as(SERVICE), SERVICE)
    running: list[Gateway] = []

    def checks() -> dict[str, str]:
        now = running[0].checks() if running else {"gateway": "not listening yet"}
        return {**now, "nats": link.health()}

    ops = Ops(settings.ops_host, settings.ops_port, checks)
    address = ops.start()
    opening = asyncio.create_task(opened(link))  # meanwhile reports are unavailable, and deliveries answered 503
    try:
        async with serving(settings, NatsRecorder(link, SERVICE)) as gateway:
            running.append(gateway)
            sys.stderr.write(f"amends: gateway on {gateway.address}, health and metrics {address}\n")
            sys.stderr.flush()
            await stop.wait()
    finally:
        opening.cancel()
        await link.close()
        ops.stop()
