"""The gateway's wiring: the log it reads, the recorder it reports to, the socket it listens on."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from amends.common import alone
from amends.common.answers import Recorder
from amends.common.events import Reporter
from amends.common.github.ourselves import our_accounts
from amends.common.log import Log
from amends.common.logs import say
from amends.common.ops import OpsNotServed
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
    if not alone.told(settings):
        return alone.USAGE
    if not settings.gateway.webhook_secrets and not settings.gateway.tokens:
        say("nobody would be believed: set gateway.webhook_secrets, or gateway.tokens")
        return alone.USAGE
    try:
        run(_alone(settings))
    except (NotServed, OpsNotServed) as error:
        say(str(error))
        return alone.UNREACHABLE
    return alone.OK


async def _alone(settings: Settings) -> None:
    # Until there is a NATS reports are unavailable, and deliveries answered 503.
    async with alone.standing(settings, SERVICE) as post, serving(settings, post.recorder) as gateway:
        post.working = gateway
        say(f"gateway on {gateway.address}, health and metrics {post.address}")
        await post.stop.wait()
