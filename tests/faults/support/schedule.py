"""Faults at random, one after the other and some at once: what happens when follows from a seed."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import psutil

from amends.common.crash import POINTS
from amends.common.events import REACTIONS
from tests.faults.support.disks import no_room
from tests.faults.support.installation import Installation
from tests.faults.support.processes import Amends, asleep, wait_for
from tests.faults.support.wire import forget_consumer, forget_stream
from tests.support.postgres import PrivateServer

MOST = 3  # evaluators at once
T = TypeVar("T")


class Schedule:
    """Things that happen to an installation; `server` is its PostgreSQL, if that is what it has."""

    def __init__(self, seed: int, installation: Installation, server: PrivateServer | None) -> None:
        self._random = random.Random(seed)
        self._installation = installation
        self._server = server
        installation.evaluator().ready()

    def happen(self, times: int) -> None:
        """So many faults, each in the middle of work; in the end two evaluators that nothing is wrong with."""
        for _ in range(times):
            self._work(self._random.randrange(1, 120))
            name, fault = self._one_of(self._faults())
            print(name)
            fault()
        for evaluator in self._alive():
            evaluator.kill()
        self._installation.evaluator()
        self._installation.evaluator()

    def _work(self, answers: int) -> None:
        """What crashes meanwhile is replaced."""
        goal = self._installation.load.ledger.acknowledged + answers
        wait_for(lambda: self._alive() and self._installation.load.ledger.acknowledged >= goal, "it goes on", 90)

    def _faults(self) -> list[tuple[str, Callable[[], object]]]:
        nats, evaluators = self._installation.nats, self._alive()
        one = self._one_of(evaluators)
        return [
            ("nats-server killed", nats.restart),
            ("nats-server wiped", nats.wipe),
            ("nats-server paused", partial(self._sleep, [nats.pid])),
            ("nats-server killed while paused", partial(self._die_asleep, nats.restart)),
            ("stream deleted", partial(forget_stream, nats.url)),
            ("consumer deleted", partial(forget_consumer, nats.url, self._one_of(sorted(REACTIONS)))),
            ("evaluator killed", one.kill),
            ("evaluator asked to end", one.stop),
            ("evaluator paused", partial(self._sleep, [one.pid])),
            ("all evaluators paused", partial(self._sleep, [evaluator.pid for evaluator in evaluators])),
            ("one evaluator more", partial(self._one_more, evaluators)),
            ("one that will crash", partial(self._one_more, evaluators, AMENDS_CRASH_AT=self._somewhere())),
            *([] if self._server else [("no room for the log", partial(self._no_room, one))]),
            *(self._of(self._server) if self._server else []),
        ]  # fmt: skip

    def _of(self, server: PrivateServer) -> list[tuple[str, Callable[[], object]]]:
        parent = psutil.Process(server.process.pid)
        backends = parent.children()
        family = [parent.pid, *(child.pid for child in backends)]
        everybody = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        return [
            ("PostgreSQL stopped at once", partial(self._crash, server)),
            ("PostgreSQL paused", partial(self._sleep, family)),
            ("connections ended", partial(server.run, everybody)),
        ]

    def _crash(self, server: PrivateServer) -> None:
        server.stop(signal.SIGQUIT)
        server.start()

    def _sleep(self, pids: list[int]) -> None:
        asleep(pids, seconds=self._random.choice([0.2, 1, 3, 12]))  # longer than any request waits

    def _die_asleep(self, again: Callable[[], object]) -> None:
        self._installation.nats.pause()
        again()

    def _no_room(self, evaluator: Amends) -> None:
        with no_room(evaluator.pid):
            asleep([], seconds=self._random.random() * 2)

    def _somewhere(self) -> str:
        return f"{self._random.choice(POINTS)}:{self._random.choice([1, 2, 5, 20])}"

    def _one_more(self, evaluators: list[Amends], **environment: str) -> None:
        if len(evaluators) < MOST:
            self._installation.evaluator(**environment)

    def _alive(self) -> list[Amends]:
        """Those that run; there is always one."""
        evaluators = self._installation.evaluators
        return [one for one in evaluators if one.running] or [self._installation.evaluator()]

    def _one_of(self, things: list[T]) -> T:
        return self._random.choice(things)
