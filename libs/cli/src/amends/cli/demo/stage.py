"""The demo as it runs: everything is started, people play their parts, and what the log says is shown."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amends.cli.demo.expected import WHOLE, WITHOUT_A_SANDBOX, Wanted, missing
from amends.cli.demo.installation import NotUp
from amends.cli.demo.plays import PLAYS, Performance
from amends.cli.demo.scene import Scene
from amends.cli.demo.view import View, wrapped
from amends.common.envelope import event_of
from amends.common.log import Log, LogUnreachable
from amends.doubles.github import GitHubDouble
from amends.fixer.sandbox import SandboxUnavailable
from amends.fixer.walls import Walled

if TYPE_CHECKING:
    from amends.cli.demo.installation import Installation
    from amends.common.envelope import Event
    from amends.common.sections import Sandbox

_LOOK = 0.05
_PATIENCE, _PATIENCE_FOR_CLAUDE = 120.0, 900.0
_ENDING = 5.0  # how long what follows the last scene may take once nobody owes an answer
_PULL = "-pr-"


@dataclass
class Found:
    """What came of it: all events, what is missing, and why there was no sandbox."""

    events: dict[int, list[Event]] = field(default_factory=lambda: defaultdict(list))
    missing: list[str] = field(default_factory=list)
    no_sandbox: str = ""
    seconds: float = 0.0


@dataclass
class Stage:
    """Everything that is there while the demo runs."""

    installation: Installation
    scene: Scene
    log: Log
    view: View
    found: Found

    @classmethod
    @contextmanager
    def set_up(cls, installation: Installation) -> Iterator[Stage]:
        """GitHub, the model and amends, all of them running."""
        began = time.time_ns() // 1_000
        with GitHubDouble(installation.root / "github") as github:
            scene = Scene(github)
            installation.settle(scene)
            with installation.up() as gateway:
                github.webhooks.to(f"{gateway}/webhooks/github", installation.secret, scene.app)
                log = Log(installation.database)
                try:
                    yield cls(installation, scene, log, View(began, installation.mind.name), Found())
                finally:
                    log.close()

    def play(self) -> Found:
        """Both plays, to their end or as far as they come."""
        began = time.monotonic()
        self.found.no_sandbox = asyncio.run(_no_sandbox(self.installation.sandbox))
        if self.found.no_sandbox:
            wrapped(f"Only suggestions are applied here: {self.found.no_sandbox}")
        acts = {number: Performance(play(self.scene)) for number, play in PLAYS.items()}
        for act in acts.values():
            act.begin()
        until = began + (_PATIENCE if self.installation.mind.scripted else _PATIENCE_FOR_CLAUDE)
        after = 0
        while not all(act.over for act in acts.values()) and time.monotonic() < until:
            after = self._see(after, acts)
        self._ends(after, acts)
        self.view.still()
        self.found.seconds = time.monotonic() - began
        return self.found

    @property
    def _wanted(self) -> Mapping[int, Wanted]:
        return WITHOUT_A_SANDBOX if self.found.no_sandbox else WHOLE

    def _see(self, after: int, acts: dict[int, Performance]) -> int:
        """What is new in the log; the position that was reached."""
        self.installation.look()
        try:
            rows = self.log.rows(after)
        except LogUnreachable as error:
            raise NotUp(str(error)) from error
        for event in map(event_of, rows):
            _, pull, number = event.loop.partition(_PULL)
            if pull:
                self.found.events[int(number)].append(event)
                self.view.see(int(number), event)
                acts[int(number)].see(event)
        if rows:
            return rows[-1].pos
        self.view.wait(sorted({one.service for one in self.log.outstanding()}))
        time.sleep(_LOOK)
        return after

    def _ends(self, after: int, acts: dict[int, Performance]) -> None:
        """Until nobody owes an answer any more, and all that follows is there, or will not come."""
        until = time.monotonic() + _ENDING
        while time.monotonic() < until:
            owed = bool(self.log.outstanding())  # asked first: who owes nothing any more has said what he had to say
            before, after = after, self._see(after, acts)
            self.found.missing = list(missing(self.scene, self.found.events, self._wanted))
            if after == before and not owed and not self.found.missing:
                return


async def _no_sandbox(settings: Sandbox) -> str:
    """Why there is none; nothing when it holds."""
    try:
        await Walled(settings).prove()
    except SandboxUnavailable as error:
        return str(error)
    return ""
