"""Sends deliveries, one after the other, from a thread of its own, and keeps a list of what became of each."""

from __future__ import annotations

import queue
import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from amends.doubles.github.refusal import Json, not_found
from amends.doubles.github.state.accounts import Installation
from amends.doubles.github.state.repositories import Hook, Repository
from amends.doubles.github.state.world import Happening, World
from amends.doubles.github.webhooks import payloads, signing
from amends.doubles.github.webhooks.disorder import Disorder, Mishap

PATIENCE = 10.0  # seconds, as GitHub's
_BIGGEST = 25 * 1024 * 1024


@dataclass(frozen=True)
class Outcome:
    """What became of a delivery; code 0: nobody answered."""

    code: int
    status: str
    duration: float
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


UNDER_WAY = Outcome(0, "pending", 0.0)


@dataclass(eq=False, repr=False)
class Delivery:
    """One try to tell one hook of one event. A redelivery is another one with the same guid."""

    id: int
    guid: str
    hook: Hook
    event: str
    action: str
    raw: bytes
    payload: Json
    at: datetime
    repo: Repository | None = None
    installation: int | None = None
    again: bool = False
    outcome: Outcome | None = None

    @property
    def sent(self) -> bytes:
        return signing.body(self.hook, self.raw)

    @property
    def headers(self) -> dict[str, str]:
        return signing.headers(self.hook, self.event, self.guid, self.sent)


class Post:
    """The outgoing post. `hold` keeps everything back until `release` lets it go, in any order."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.disorder = Disorder()
        self.deliveries: list[Delivery] = []
        self.check: Callable[[str, Json], None] | None = None
        self._held: list[Delivery] | None = None
        self._queue: queue.Queue[Delivery | None] = queue.Queue()
        self._waiting = 0
        self._quiet = threading.Condition()
        self._thread: threading.Thread | None = None
        self._timers: list[threading.Timer] = []
        world.listeners.append(self.hear)

    def hear(self, one: Happening) -> None:
        """Address an event to every hook that wants it."""
        addressed = [(hook, number) for hook in self._hooks(one) if (number := self._addressee(hook, one)) is not None]
        if not addressed and self.check is None:
            return
        said = payloads.payload(self.world, one)
        for hook, installation in addressed:
            # A payload beyond 25 MB is not sent at all.
            delivery = self._delivery(hook, one, said, installation)
            if len(delivery.raw) <= _BIGGEST:
                self._put(delivery)
        if self.check is not None:
            self.check(one.event, said)

    def _hooks(self, one: Happening) -> list[Hook]:
        repo = [] if one.repo is None else one.repo.hooks
        apps = [app.hook for app in self.world.apps if app.hook is not None]
        return [hook for hook in [*self.world.hooks, *repo, *apps] if hook.hears(one.event) or _always(hook, one.event)]

    def _addressee(self, hook: Hook, one: Happening) -> int | None:
        """The installation's id, 0 for a hook that needs none, None for an App that this is none of the business of."""
        if hook.app is None:
            return 0
        installed = one.parts.get("installation")
        if one.repo is None:
            return installed.id if isinstance(installed, Installation) and installed.app is hook.app else None
        found = self.world.installation_of(hook.app, one.repo)
        return None if found is None or found.suspended is not None else found.id

    def _delivery(self, hook: Hook, one: Happening, said: Json, installation: int) -> Delivery:
        body = said
        if installation and "installation" not in said:
            node = self.world.installations[installation].node
            body = {**said, "installation": {"id": installation, "node_id": node}}
        number, guid = self.world.ids.take("delivery"), str(uuid.uuid4())
        made = Delivery(number, guid, hook, one.event, one.action, signing.encode(body), body, self.world.clock.now())
        made.repo, made.installation = one.repo, installation or None
        return made

    def _put(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        mishap = self.disorder.take(delivery.event, delivery.action)
        if mishap is not None and mishap.lose:
            delivery.outcome = Outcome(0, "failed to connect to host", 0.0)
            return
        if mishap is not None and mishap.seconds:
            self._later(delivery, mishap.seconds)
            return
        for one in [delivery, *self._copies(delivery, mishap)]:
            self._out(one)

    def _copies(self, delivery: Delivery, mishap: Mishap | None) -> list[Delivery]:
        count = 0 if mishap is None else mishap.copies
        new = mishap is not None and mishap.new_ids
        return [self._again(delivery, str(uuid.uuid4()) if new else delivery.guid) for _ in range(count)]

    def _again(self, delivery: Delivery, guid: str, *, redelivered: bool = False) -> Delivery:
        number = self.world.ids.take("delivery")
        made = replace(delivery, id=number, guid=guid, outcome=None, again=redelivered, at=self.world.clock.now())
        self.deliveries.append(made)
        return made

    def _later(self, delivery: Delivery, seconds: float) -> None:
        self._count(1)

        def go() -> None:
            self._out(delivery)
            self._count(-1)

        timer = threading.Timer(seconds, go)
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def _out(self, delivery: Delivery) -> None:
        if self._held is not None:
            self._held.append(delivery)
            return
        self._count(1)
        self._queue.put(delivery)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="github-double-post", daemon=True)
            self._thread.start()

    def redeliver(self, number: int) -> Delivery:
        """Again, with the same guid and today's signature."""
        found = next((one for one in self.deliveries if one.id == number), None)
        if found is None:
            raise not_found()
        made = self._again(found, found.guid, redelivered=True)
        self._out(made)
        return made

    def replay(self, delivery: Delivery) -> Delivery:
        """As somebody who recorded it would: the same signed bytes under another delivery id."""
        made = self._again(delivery, str(uuid.uuid4()))
        self._out(made)
        return made

    def hold(self) -> None:
        self._held = self._held if self._held is not None else []

    def release(self, seed: int | None = None, *, backwards: bool = False) -> None:
        """Let everything go that was held: in order, backwards, or shuffled."""
        held, self._held = self._held or [], None
        if seed is not None:
            random.Random(seed).shuffle(held)  # noqa: S311 - a repeatable disorder
        for one in reversed(held) if backwards else held:
            self._out(one)

    def wait(self, seconds: float = 10.0) -> None:
        """Until everything is delivered that is not held back."""
        with self._quiet:
            if not self._quiet.wait_for(lambda: self._waiting == 0, seconds):
                raise TimeoutError(f"{self._waiting} deliveries are still under way")

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join(PATIENCE + 1)

    def _count(self, change: int) -> None:
        with self._quiet:
            self._waiting += change
            self._quiet.notify_all()

    def _work(self) -> None:
        while (delivery := self._queue.get()) is not None:
            delivery.outcome = deliver(delivery)
            self._count(-1)


def _always(hook: Hook, event: str) -> bool:
    """An App hears of its own installations without asking."""
    return hook.active and hook.app is not None and event in {"installation", "installation_repositories"}


def deliver(delivery: Delivery) -> Outcome:
    """One HTTP request; a redirect is not followed, a slow answer not waited for."""
    url = urlsplit(delivery.hook.url)
    started = time.monotonic()
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=PATIENCE)
    try:
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        connection.request("POST", path, delivery.sent, delivery.headers)
        answer = connection.getresponse()
        text = answer.read(65_536).decode("utf-8", "replace")
        took = time.monotonic() - started
        return Outcome(answer.status, answer.reason or "OK", took, dict(answer.getheaders()), text)
    except TimeoutError:
        return Outcome(0, "timed out", time.monotonic() - started)
    except (OSError, HTTPException):
        return Outcome(0, "failed to connect to host", time.monotonic() - started)
    finally:
        connection.close()
