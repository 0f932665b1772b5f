"""The notifier's wiring: the client it writes with, the channels that are configured, the events it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from amends.common import alone
from amends.common.bus.link import Link
from amends.common.bus.seat import seated
from amends.common.bus.work import seated_worker, worker
from amends.common.events import Reporter
from amends.common.github.auth import TELLING
from amends.common.github.client import Client, Nobody
from amends.common.github.pacing import Rate
from amends.common.redaction import Redactor
from amends.common.settings import Settings
from amends.common.working import Working, at_work
from amends.notifier.mail import MailChannel
from amends.notifier.slack import SlackChannel
from amends.notifier.tell import Channel, Knowing, Teller
from amends.notifier.words import Words

SERVICE: Reporter = "notifier"
AT_ONCE = 4  # events in hand, of different pull requests; writes to one installation still go one by one


def configured(settings: Settings) -> dict[str, Channel]:
    """The channels beside GitHub that there are."""
    found: dict[str, Channel] = {}
    if settings.slack.known:
        found["slack"] = SlackChannel(settings.slack)
    if settings.smtp.known:
        found["email"] = MailChannel(settings.smtp)
    return found


def useful(settings: Settings) -> bool:
    """Whether it could tell anybody anything."""
    return settings.github.known or settings.slack.known or settings.smtp.known


@asynccontextmanager
async def notifying(settings: Settings, recorder: Knowing, link: Link) -> AsyncIterator[Working]:
    """At work for the length of a block. The link is there to hear events on, and comes back by itself."""
    known, words = settings.notifier, Words(Redactor(settings.secrets), settings.github.site)
    rate = Rate(known.apart_seconds, known.per_minute, known.per_hour)
    if not useful(settings):
        raise Nobody("there is nobody to tell: set github.app_id and its private key, github.token, slack or smtp")
    async with AsyncExitStack() as stack:
        client = Client(settings.github, TELLING, rate) if settings.github.known else None
        if client is not None:
            await stack.enter_async_context(client)
        teller = Teller(client, recorder, words, frozenset(settings.our_accounts), known.replies)
        teller.channels, teller.patience = configured(settings), known.patience_seconds
        if settings.nats_url:  # others of us may come to it; to a nats-server of our own nobody else does
            seat = await stack.enter_async_context(seated(link, SERVICE, settings.holder, known.silent_seconds))
            teller.turn = seat
            workers = [seated_worker(settings, seat, teller.tell, recorder) for _ in range(AT_ONCE)]
        else:
            workers = [worker(settings, link, SERVICE, teller.tell, recorder) for _ in range(AT_ONCE)]
        yield await stack.enter_async_context(at_work(SERVICE, workers))


def serve(settings: Settings) -> int:
    """`amends run notifier`: alone, on a NATS that somebody else runs; answers the exit code."""
    return alone.serve(settings, SERVICE, partial(notifying, settings), (Nobody,))
