"""An agent that is a command of the operator's, in the same sandbox and under the same contract as our own.

It reads a task, changes files, and leaves a report. The model is all that it reaches, through the broker; what it
changed is looked at as our own agent's changes are, and what speaks against it is said to it in another run.
"""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from amends.common.events import Failure, Verdict
from amends.common.policy import Severity
from amends.fixer import verdicts
from amends.fixer.agent import Judged, Stopped, Wanted
from amends.fixer.broker import Broker
from amends.fixer.bubblewrap import INSIDE, INTERPRETER
from amends.fixer.dialogue import Json
from amends.fixer.door import door
from amends.fixer.endpoint import Endpoint
from amends.fixer.ledger import Ledger
from amends.fixer.prompts import CONTRACT
from amends.fixer.sandbox import Command, Ended, Ran, Sandbox, SandboxUnavailable
from amends.fixer.verdicts import Report, Unreadable

_RUNS = 3
_LOOK = 3.0  # seconds between two looks whether the work is still wanted
_MOST_SAID = 8_000
_FENCED = re.compile(r"^```(?:json)?[ \t]*\n(\{.*?\})[ \t]*\n```[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Outside:
    """What the operator has work: the words of a command, and where its model is."""

    words: tuple[str, ...]
    endpoint: Endpoint

    async def trouble(self, sandbox: Sandbox) -> str:
        """Why it cannot be started in there; nothing when it can."""
        return await missing(self.words, sandbox)


async def missing(words: tuple[str, ...], sandbox: Sandbox) -> str:
    """What is to be said about a command that is not there."""
    with TemporaryDirectory(prefix="amends-command-") as folder:
        looking = Command(("/bin/sh", "-c", 'command -v -- "$1"', "sh", words[0]), seconds=10)
        ran = await sandbox.run(Path(folder), looking)
    if ran.passed:
        return ""
    return (
        f"agent.command: there is no {words[0][:200]!r} inside the sandbox: install it below /usr, or name the"
        " directory that holds its bin/ in sandbox.readable"
    )


@dataclass
class Commanded:
    """One run of it, or a few: each begins anew, and all together have one budget."""

    outside: Outside
    wanted: Wanted
    ledger: Ledger
    sandbox: Sandbox
    workspace: Path
    judge: Callable[[Report, Mapping[str, Severity]], Awaitable[Judged]]
    allowed: Callable[[], Awaitable[None]]
    broker: Broker = field(init=False)
    _said: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.broker = Broker(self.outside.endpoint, self.ledger, self.allowed)

    def unsaid(self) -> Sequence[Json]:
        """What was said and is not in the record yet."""
        new, self._said = self._said, []
        return new

    async def verdicts(self) -> tuple[Verdict, ...]:
        """Let it work until each task has one; raises Stopped."""
        against, reason = "", Failure.MALFORMED
        for _ in range(_RUNS):
            given = await self._reported(against)
            try:
                found, against = await self._judged(given)
            except Unreadable as wrong:
                against, reason = str(wrong), Failure.MALFORMED
            else:
                if not against:
                    return found
                reason = Failure.POLICY
        raise Stopped(reason, f"the report of agent.command: {against}")

    async def _judged(self, given: Mapping[str, object]) -> tuple[tuple[Verdict, ...], str]:
        """The verdicts, or what speaks against them."""
        tasks = self.wanted.tasks
        triage = verdicts.triage(given, tasks)
        if triage.overall == "blocked":
            return tuple(verdicts.handed_over(triage, tasks)), ""
        report = verdicts.report(given, tasks)
        below = verdicts.deferred(triage, tasks, self.wanted.threshold)
        judged = await self.judge(report, below)
        if judged.against:
            return (), judged.against
        return tuple(verdicts.verdicts(report, triage, tasks, below, judged.hunks)), ""

    async def _reported(self, against: str) -> Mapping[str, object]:
        """Its report, whatever it is worth."""
        if over := self.ledger.over():
            raise Stopped(Failure.LIMITS, f"the limit of {over} for one run is reached")
        await self.allowed()
        again = f"\n\n{_AGAIN}\n\n{against[:_MOST_SAID]}" if against else ""
        task = f"{CONTRACT.replace('{threshold}', self.wanted.threshold)}\n\n{self.wanted.text}{again}"
        ended = _read(await self._ran(task))
        self._said.append({"command": self.outside.words[0], "code": ended.code, "wrote": ended.wrote[-_MOST_SAID:]})
        if ended.report is not None:
            return ended.report
        raise self.broker.outage or self._silence(ended)

    def _silence(self, ended: _End) -> Stopped:
        if self.broker.refusal:
            return Stopped(Failure.REFUSED, "the model refuses, and agent.command left no report")
        last = ended.wrote.strip().splitlines()[-1:]
        said = f": {last[0][:300]}" if last else ""
        return Stopped(Failure.MALFORMED, f"agent.command ended with {ended.code} and left no report{said}")

    async def _ran(self, task: str) -> Ran:
        given = {"task": task, "command": self.outside.words, "model": self.outside.endpoint.model}
        async with door(self.broker.serve) as socket:
            command = Command(
                (*INTERPRETER, f"{INSIDE}/forwarder.py"), json.dumps(given).encode(), max(1.0, self.ledger.left), socket
            )
            running = asyncio.create_task(self.sandbox.run(self.workspace, command))
            looking = asyncio.create_task(self._watched())
            over = asyncio.create_task(self.broker.over.wait())
            try:
                await asyncio.wait({running, looking, over}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task_ in (running, looking, over):
                    task_.cancel()
                await asyncio.wait({running, looking, over})
        if self.broker.stopped is not None:
            raise self.broker.stopped
        if not looking.cancelled():
            looking.result()
        try:
            ran = running.result()
        except SandboxUnavailable as error:
            raise Stopped(Failure.SANDBOX_UNAVAILABLE, str(error)) from error
        if ran.ended is not Ended.ITSELF:
            raise Stopped(Failure.LIMITS, f"agent.command took too much {ran.ended}")
        return ran

    async def _watched(self) -> None:
        while True:
            await asyncio.sleep(_LOOK)
            await self.allowed()


@dataclass(frozen=True)
class _End:
    """How a command ended, what it wrote, and its report, if there is one."""

    code: int
    wrote: str
    report: Mapping[str, Any] | None


def _read(ran: Ran) -> _End:
    try:
        said = json.loads(ran.output)
        report, out, err = (b64decode(said[name]).decode(errors="replace") for name in ("report", "out", "err"))
        code = int(said["code"])
    except (ValueError, KeyError, TypeError):
        return _End(ran.code, ran.text, None)
    return _End(code, f"{out}\n{err}".strip(), _object(report) if report.strip() else _last(out))


def _last(text: str) -> Mapping[str, Any] | None:
    """The report that was written: all of it, the last line, or the last fenced block, which more may follow."""
    stripped = text.strip()
    lines = stripped.splitlines()
    for said in (stripped, lines[-1] if lines else "", *reversed(_FENCED.findall(stripped))):
        if (found := _object(said)) is not None and "items" in found:
            return found
    return None


def _object(text: str) -> Mapping[str, Any] | None:
    with suppress(ValueError, RecursionError):
        said = json.loads(text, strict=False)  # who prints may break lines, also within a string
        return said if isinstance(said, dict) else {}
    return None


_AGAIN = (
    "You have worked on this before: the files are as you left them. Your report was not accepted, for this reason."
    " Mend it, and report on all items again:"
)
