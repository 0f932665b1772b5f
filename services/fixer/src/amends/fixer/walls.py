"""The sandbox of the settings, and whether it holds here: tried before anything runs in it, and again now and then."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

from amends.common.sections import Sandbox as Settings
from amends.fixer import measures
from amends.fixer.bubblewrap import Bubblewrap, found
from amends.fixer.sandbox import MIB, Bounds, Command, Ran, SandboxUnavailable

log = logging.getLogger(__name__)
_PROVED_FOR = 600.0  # seconds until walls that held are tried again; those that did not are tried every time


@dataclass
class Walled:
    """A sandbox that runs nothing before it has held."""

    settings: Settings
    trouble: str = "not tried yet"
    _until: float = 0.0
    _trying: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def prove(self) -> None:
        """See that nothing gets in or out."""
        await self._sandbox().prove()

    async def run(self, workspace: Path, command: Command) -> Ran:
        """Run a command, if the walls held when they were tried last."""
        if self.trouble:
            raise SandboxUnavailable(self.trouble)
        return await self._sandbox().run(workspace, command)

    def _sandbox(self) -> Bubblewrap:
        known = self.settings
        bounds = Bounds(
            seconds=known.seconds,
            memory=known.memory_mb * MIB,
            processes=known.processes,
            disk=known.disk_mb * MIB,
            scratch=known.scratch_mb * MIB,
        )
        return Bubblewrap(found(known.bwrap), bounds, known.readable)

    async def tried(self) -> str:
        """Why it does not hold; nothing when it does."""
        async with self._trying:
            if time.monotonic() < self._until:
                return ""
            try:
                await self.prove()
            except SandboxUnavailable as error:
                self.trouble = str(error)
                log.warning("no code of anybody runs here", extra={"error": self.trouble[:400]})
            else:
                self.trouble, self._until = "", time.monotonic() + _PROVED_FOR
            measures.sandboxed(holds=not self.trouble)
            return self.trouble
