"""A service's durable consumer, one event at a time: asked for only when somebody is free, and watched."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from time import monotonic
from typing import Any

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from amends.common.bus.consumers import ACK_WAIT, STANDING, durable
from amends.common.bus.delivery import BusDelivery
from amends.common.bus.jetstream import NANOSECONDS, drift
from amends.common.bus.link import SECONDS, Link, Unanswered, drained, status
from amends.common.bus.mirror import STREAM
from amends.common.events import Reporter

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Watch:
    """How long one request for an event stands, and how soon silence is noticed, in seconds."""

    expires: float = 30.0
    heartbeat: float = 5.0
    look: float = 10.0
    pause: float = 0.5
    ack_wait: float = ACK_WAIT


_USUAL = Watch()


class BusInbox:
    """Where one worker's events come from."""

    def __init__(self, link: Link, service: Reporter, watch: Watch = _USUAL) -> None:
        self._link = link
        self._service = service
        self._watch = watch
        self._arrived: list[BusDelivery] = []
        self._sign = asyncio.Event()
        self._subject = ""
        self._subscription: Subscription | None = None
        self._asked = False
        self._heard = self._idle_since = self._not_before = 0.0
        self._closing = False
        self._watching: asyncio.Task[None] | None = None
        self._said = {"consumer": "not looked at yet", "subscription": "nothing asked yet"}

    def health(self) -> dict[str, str]:
        """One entry per check: `ok`, or what is wrong."""
        return {"bus": self._link.health(), **self._said}

    async def open(self) -> None:
        """Begin to listen."""
        self._link.when_restored(self._anew)
        self._watching = asyncio.create_task(self._watched())

    async def close(self) -> None:
        """Ask for no more. A request that still stands would take the next event with it, so the server is told."""
        self._closing = True
        if self._watching is not None:
            self._watching.cancel()
        await self._let_go()
        self._sign.set()

    async def rest(self) -> None:
        """Ask for no more until somebody waits again; what has come is for others."""
        self._anew()
        await self._let_go()
        while self._arrived:
            await self._arrived.pop().put_off(0)

    async def next(self) -> BusDelivery | None:
        """The next event, however long it takes; None after closing, when none is left."""
        while not self._arrived:
            if self._closing:
                return None
            self._sign.clear()
            try:
                await self._ask()
            except Unanswered as unanswered:
                self._wait_a_little(str(unanswered))
            await self._sign_or_silence()
        return self._arrived.pop(0)

    async def _ask(self) -> None:
        if self._asked or monotonic() < self._not_before:
            return
        if not self._subject:
            await self._let_go()
            inbox = self._link.new_inbox()
            self._subscription = await self._link.subscribe(inbox, self._hear)
            self._subject = inbox
        # Nobody is ready before he has heard something: the first sign of life is asked for early.
        heartbeat = self._watch.heartbeat if self._said["subscription"] == "ok" else self._watch.pause
        request = {
            "batch": 1,
            "expires": round(self._watch.expires * NANOSECONDS),
            "idle_heartbeat": round(heartbeat * NANOSECONDS),
        }
        self._asked, self._heard = True, monotonic()
        self._idle_since = self._idle_since or self._heard
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{self._service}"
        await self._link.publish(subject, json.dumps(request).encode(), reply=self._subject)

    async def _sign_or_silence(self) -> None:
        patience = self._watch.heartbeat * 2.5 if self._asked else self._watch.pause
        try:
            async with asyncio.timeout(patience):
                await self._sign.wait()
        except TimeoutError:
            if self._asked and monotonic() - self._heard >= patience:
                self._said["subscription"] = "silent: asking anew"
                self._anew()

    async def _hear(self, message: Msg) -> None:
        code = status(message)
        if not code:
            self._arrived.append(BusDelivery(self._link, self._service, message))
            self._idle_since = 0.0
        elif message.subject != self._subject:
            return  # about a request of an earlier life
        self._heard = monotonic()
        if code == "100":
            self._said["subscription"] = "ok"
            return
        self._asked = False
        if code in {"", "404", "408"}:
            self._said["subscription"] = "ok"
        else:
            self._wait_a_little(f"{code} {(message.headers or {}).get('Description', '').strip()}".strip())
        self._sign.set()

    def _wait_a_little(self, why: str) -> None:
        self._asked = False
        self._said["subscription"] = why
        self._not_before = monotonic() + self._watch.pause

    def _anew(self) -> None:
        """Whatever was asked before may be lost: ask through a new inbox, and the old request cannot bring a second."""
        self._asked, self._subject = False, ""
        self._sign.set()

    async def _let_go(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            await drained(subscription)

    async def _watched(self) -> None:
        # While there is none, it is made in a moment. Nor does anybody say, from one account to another, that nobody
        # answers yet: little patience at first, and more for an evaluator that is slow.
        patience, there = self._watch.pause, False
        while True:
            patience = SECONDS if there else min(2 * patience, SECONDS)
            there = await self._looked(patience)
            await asyncio.sleep(self._watch.look if there else self._watch.pause)

    async def _looked(self, patience: float) -> bool:
        """Whether there is a consumer, well or not."""
        try:
            told = await self._link.request(f"{STANDING}.{self._service}", seconds=patience)
            info = json.loads(told.data)
        except Unanswered as error:
            self._said["consumer"] = str(error)
            return False
        self._said["consumer"] = self._judge(info)
        return info is not None

    def _judge(self, info: dict[str, Any] | None) -> str:
        if info is None:
            return "missing: the evaluator makes it within seconds, if it runs"
        waiting = self._asked and self._idle_since and monotonic() - self._idle_since > self._watch.look
        if waiting and info["num_pending"] and info["num_ack_pending"] < info["config"]["max_ack_pending"]:
            _LOG.warning("events wait and none is delivered: asking anew", extra={"service": self._service})
            self._said["subscription"] = "stalled: asking anew"
            self._anew()
        different = drift(durable(self._service, self._watch.ack_wait), info["config"])
        return f"drifted: {', '.join(different)}" if different else "ok"
