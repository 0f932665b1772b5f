"""The whole product, each service a process of its own, between doubles of all that is outside."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from amends.common.bus.consumers import Consumers
from amends.common.bus.errands import look_around
from amends.common.bus.jetstream import Rejected
from amends.common.bus.link import Link, Unanswered
from amends.common.envelope import Event, event_of
from amends.common.log import Log
from amends.common.loop import Loop
from amends.common.rows import TimerRow
from amends.common.state import load
from amends.doubles.github import GitHubDouble
from amends.doubles.github.webhooks.post import Delivery
from amends.doubles.model import ModelDouble
from amends.doubles.model.double import KEY, MODEL
from amends.evaluator.migrate import migrate
from tests.faults.support.nursery import Child, Nursery
from tests.faults.support.processes import TookTooLong
from tests.faults.support.watched import Plan
from tests.faults.support.wire import mirrored, through
from tests.support.elsewhere import MailDouble, SlackDouble, mail, slack
from tests.support.gateway import SECRET
from tests.support.github import Scene, github, set_scene
from tests.support.nats import NatsServer

SERVICES = ("evaluator", "gateway", "comment-fetcher", "fixer", "publisher", "notifier")
LONGEST = 60.0
_UP = {"evaluator": "amends: up", "gateway": "amends: gateway on"}
_SHARED_MEMORY = Path("/dev/shm")
_PATH = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}


class Bus(Protocol):
    """NATS, as somebody who may do everything comes to it."""

    @property
    def url(self) -> str: ...


class Living(Protocol):
    """A service's process."""

    @property
    def over(self) -> bool: ...
    def kill(self) -> None: ...


@dataclass
class Life:
    """A process from its beginning to its end."""

    pid: int
    handle: int

    @property
    def over(self) -> bool:
        return bool(select.select([self.handle], [], [], 0)[0])

    def kill(self) -> None:
        """As a power cut would."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        select.select([self.handle], [], [], 10)
        os.close(self.handle)


@dataclass(frozen=True)
class Outside:
    """All that is not ours, and outlives whatever happens to us."""

    nats: Bus
    scene: Scene
    model: ModelDouble
    slack: SlackDouble
    mail: MailDouble

    @property
    def github(self) -> GitHubDouble:
        return self.scene.double


class House:
    """What runs, and what somebody who looks after it does: whoever has died is started again."""

    members: Sequence[str] = SERVICES

    def __init__(self, folder: Path, outside: Outside, nursery: Nursery | None = None, database: str = "") -> None:
        self.folder = folder
        self.outside = outside
        self.database = database or f"sqlite:///{folder}/log.db"
        migrate(self.database)
        self.log = Log(self.database)
        self.deaths: list[str] = []
        self.reborn: Callable[[str], Plan] | None = None
        self.befalls: Callable[[], None] = lambda: None
        self._nursery = nursery
        self._place = _kept_port()
        self._lives: dict[str, Living] = {}
        self._settings = {f"AMENDS_{name.upper()}": str(value) for name, value in self._said().items()}
        self._again: set[int] = set()

    def _said(self) -> dict[str, object]:
        known, out = self.outside.scene.app_settings, self.outside
        return {
            "database": self.database, "nats_url": out.nats.url, "data_dir": self.folder / "data", "holder": "house",
            "grace_seconds": 0, "ack_seconds": 2, "answer_seconds": 2, "log_level": "info",
            "policy_repositories": '["acme/widget"]', "policy_settle_seconds": 2, "policy_max_cycles": 5,
            "policy_max_attempts": 20, "policy_waits_ci_seconds": 1, "fetcher_poll_seconds": 600,
            "notifier_apart_seconds": 0, "notifier_silent_seconds": 1,
            "github_api_url": known.api_url, "github_graphql_url": known.graphql_url, "github_app_id": known.app_id,
            "github_private_key": known.private_key.get_secret_value(), "our_accounts": f"[{out.scene.app.account_id}]",
            "gateway_port": self._port, "gateway_webhook_secrets": json.dumps([SECRET]),
            "model_api_key": KEY, "model_base_url": out.model.url, "model_name": MODEL, "model_first_pause": 0.01,
            "slack_token": "xoxb-1", "slack_channel": "C1", "slack_api_url": out.slack.url,
            "smtp_host": "127.0.0.1", "smtp_port": out.mail.port, "smtp_security": "none",
            "smtp_sender": "amends@acme.test", "smtp_to": '["ops@acme.test"]',
        }  # fmt: skip

    # --- its life ----------------------------------------------------------------------------------------------------

    def begin(self, plan: Callable[[str], Plan]) -> None:
        """Start all of it: the evaluator first, and the rest once it accepts reports."""
        for service in self.members:
            self.start(service, plan(service))
            self.until(partial(self._is_up, service), f"{service} is up")
        hook = f"http://127.0.0.1:{self._port}/webhooks/github"
        self.outside.github.webhooks.to(hook, SECRET, self.outside.scene.app)
        self.until(self._looked_around, "the comment-fetcher has looked around")

    def start(self, service: str, plan: Plan | None = None) -> None:
        """A life of this service."""
        self._lives[service] = self._born(service, plan)

    def _born(self, service: str, plan: Plan | None) -> Living:
        folder = self.folder / service
        folder.mkdir(parents=True, exist_ok=True)
        assert self._nursery is not None
        pid = self._nursery.fork(Child(("run", service), {**_PATH, **self._settings}, str(folder), plan))
        return Life(pid, os.pidfd_open(pid))

    def kill(self, service: str) -> None:
        """In the middle of whatever it does."""
        self._lives.pop(service).kill()
        self.deaths.append(service)
        self.start(service, self.reborn(service) if self.reborn else None)

    def linger(self, seconds: float = 0.2) -> None:
        """The last word of a story may end somebody, too: the others are told of him when they notice."""
        deadline = time.monotonic() + seconds
        while not self.deaths and time.monotonic() < deadline:
            self.mend()
            time.sleep(0.01)
        self.until(self.rests, "all rests again")

    def end(self) -> None:
        """All at once."""
        for life in self._lives.values():
            life.kill()
        self._lives.clear()

    def close(self) -> None:
        """Let go of everything."""
        self.end()
        self.log.close()
        self._place.close()

    def mend(self) -> None:
        """Start again who has died, and have GitHub tell again what nobody took."""
        for service in [service for service, life in self._lives.items() if life.over]:
            self.kill(service)
        for delivery in self.outside.github.webhooks.deliveries:
            if delivery.id not in self._again and _failed(delivery):
                self._again.add(delivery.id)
                with suppress(OSError), socket.create_connection(("127.0.0.1", self._port), 1):
                    self.outside.github.webhooks.redeliver(delivery)
                    continue
                self._again.discard(delivery.id)

    @property
    def _port(self) -> int:
        port: int = self._place.getsockname()[1]
        return port

    def _is_up(self, service: str) -> bool:
        if service not in _UP:
            return True
        said = self.folder / service / "stderr"
        return said.exists() and _UP[service] in said.read_text(errors="replace")

    def _looked_around(self) -> bool:
        if {"policy.observed", "pr.observed"} <= {event.type for event in self.events()}:
            return True
        if "comment-fetcher" not in self.deaths and "evaluator" not in self.deaths:
            return False
        with suppress(Unanswered, TimeoutError):  # a round that was cut short comes again in ten minutes
            through(self.outside.nats.url, lambda link: look_around(link, "", 1))
        return False

    # --- what can be seen of it --------------------------------------------------------------------------------------

    def until(self, reached: Callable[[], bool], what: str, seconds: float = LONGEST) -> None:
        """Return as soon as something is so; what dies meanwhile is mended."""
        deadline = time.monotonic() + seconds
        while not reached():
            self.befalls()
            if time.monotonic() > deadline:
                raise TookTooLong(f"{what}: not within {seconds:g} s\n{self.standing()}")
            self.mend()
            time.sleep(0.02)

    def rests(self, *facts: str) -> bool:
        """Whether these are in the log, nothing is owed or under way, and nothing will come of itself."""
        webhooks = self.outside.github.webhooks.deliveries
        if any(one.outcome is None or (_failed(one) and one.id not in self._again) for one in webhooks):
            return False
        if self.log.outstanding() or any(_soon(timer) for timer in self.log.timers()):
            return False
        types = [row.type for row in self.log.rows(0, 100_000)]
        if any(types.count(one) < facts.count(one) for one in facts):
            return False
        try:
            return mirrored(self.outside.nats.url) == len(types) and through(self.outside.nats.url, _idle)
        except (Unanswered, Rejected, OSError):  # also in between two leaders
            return False

    def events(self) -> list[Event]:
        """The log."""
        return [event_of(row) for row in self.log.rows(0, 100_000)]

    @property
    def loop(self) -> Loop:
        """The pull request's."""
        name = f"{self.outside.scene.repo.id}-pr-{self.outside.scene.pull.number}"
        row = self.log.loop(name)
        return load(row.state) if row else Loop(name)

    def standing(self) -> str:
        """For who has to find out what went wrong."""
        events = "\n".join(f"{one.pos:>4} {one.loop:<14} {one.source:<16} {one.key}" for one in self.events())
        said = {one: (self.folder / one / "stderr") for one in self.members}
        words = "\n".join(f"--- {one}\n{file.read_text()[-1_500:]}" for one, file in said.items() if file.exists())
        return f"died: {self.deaths}\n{events}\n{words}"


def _kept_port() -> socket.socket:
    """A port of 127.0.0.1 that nobody else is given, in the gateway's lives and between them."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    return made


def _soon(timer: TimerRow) -> bool:
    return timer.name.startswith(("settle", "retry", "ci"))


def _failed(delivery: Delivery) -> bool:
    return delivery.outcome is not None and delivery.outcome.code // 100 != 2


async def _idle(link: Link) -> bool:
    return not any(waiting or in_hand for waiting, in_hand, _ in (await Consumers(link).standing()).values())


@contextmanager
def outside(nats: Bus) -> Iterator[Outside]:
    """Doubles of all that is outside, new, around this NATS."""
    with ExitStack() as stack:
        scene = set_scene(stack.enter_context(github()))
        model = stack.enter_context(ModelDouble())
        yield Outside(nats, scene, model, stack.enter_context(slack()), stack.enter_context(_mail()))


@contextmanager
def _mail() -> Iterator[MailDouble]:
    """A mail server, in a thread of its own."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    found: list[MailDouble] = []
    over = asyncio.Event()

    async def serve() -> None:
        async with mail() as double:
            found.append(double)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait()
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


@contextmanager
def house(nursery: Nursery) -> Iterator[House]:
    """A house of which nothing runs yet."""
    home = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
    name = Path(tempfile.mkdtemp(prefix="amends-house-", dir=home))
    nats = NatsServer(name).start()
    try:
        with outside(nats) as everything:
            made = House(name, everything, nursery)
            try:
                yield made
            finally:
                made.close()
    finally:
        nats.kill()
        shutil.rmtree(name, ignore_errors=True)
