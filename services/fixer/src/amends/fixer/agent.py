"""The agent: a linear conversation between a model and its tools, until everything has a verdict or a limit is met.

The limits are looked at before every turn, and so is whether the work is still wanted. Nothing that was said is changed
afterwards, so each request begins with the bytes of the one before it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amends.common.events import Failure, Verdict
from amends.common.github.text import legible
from amends.common.policy import Severity
from amends.fixer import verdicts
from amends.fixer.brief import Task
from amends.fixer.dialogue import Call, Json, Model, Opening, Reply, Tokens, TurnFailed
from amends.fixer.ledger import Ledger, Turn
from amends.fixer.prompts import SYSTEM
from amends.fixer.sandbox import SandboxUnavailable
from amends.fixer.tools import CHANGING, FILES, TOOLS, Result, Toolbox
from amends.fixer.verdicts import Report, Triage, Unreadable

OPENING = Opening(SYSTEM, TOOLS)
_PATIENCE = 3  # replies in a row that lead nowhere
_REPORTS = 4
_BYTES = 3  # at least, that make a token


@dataclass(frozen=True)
class Wanted:
    """What the run is about. `below` this severity nothing is done."""

    tasks: tuple[Task, ...]
    text: str
    threshold: Severity


@dataclass(frozen=True)
class Judged:
    """What there is to say against a report: nothing, or what has to be mended. `hunks` are those that there are."""

    against: str = ""
    hunks: frozenset[str] = frozenset()


class Stopped(Exception):
    """The run ended without a result, and why."""

    def __init__(self, reason: Failure, detail: str, retry_after: float = 0.0) -> None:
        super().__init__(detail)
        self.reason = reason
        self.retry_after = retry_after


@dataclass(frozen=True)
class Around:
    """What the agent is given: its model and tools, who looks at its work, and who says whether it is still wanted.

    `wanted` raises Stopped when it is not. `changes` shows what differs.
    """

    model: Model
    toolbox: Toolbox
    judge: Callable[[Report, Mapping[str, Severity]], Awaitable[Judged]]
    changes: Callable[[], Awaitable[str]]
    wanted: Callable[[], Awaitable[None]]


@dataclass
class Run:
    """One run; what it said and cost is in the ledger, whatever its end."""

    wanted: Wanted
    ledger: Ledger
    around: Around
    messages: list[Json] = field(default_factory=list)
    triage: Triage | None = None
    below: dict[str, Severity] = field(default_factory=dict)
    result: tuple[Verdict, ...] | None = None
    _astray: int = 0
    _reports: int = 0
    _kept: int = 0
    _size: int = 0

    async def verdicts(self) -> tuple[Verdict, ...]:
        """Work until each task has one; raises Stopped."""
        self._say({"role": "user", "content": [{"type": "text", "text": self.wanted.text}]})
        try:
            while self.result is None:
                await self._allowed()
                reply = await self._turn()
                self._say({"role": "user", "content": await self._answered(reply)})
        except TurnFailed as failed:
            raise Stopped(failed.reason, str(failed), failed.retry_after) from failed
        except SandboxUnavailable as error:
            raise Stopped(Failure.SANDBOX_UNAVAILABLE, str(error)) from error
        return self.result

    def unsaid(self) -> Sequence[Json]:
        """What was said and is not in the record yet; before all else, with what it began."""
        opening = [] if self._kept else [{"system": OPENING.system, "tools": [tool["name"] for tool in OPENING.tools]}]
        new = [*opening, *self.messages[self._kept :]]
        self._kept = len(self.messages)
        return new

    def _say(self, message: Json) -> None:
        self.messages.append(message)
        self._size += len(json.dumps(message))

    async def _turn(self) -> Reply:
        model = self.around.model
        await self.ledger.opened(Turn(model.name, Tokens(written=self._size // _BYTES, said=model.longest)))
        try:
            reply = await model.turn(OPENING, self.messages, self.ledger.left)
        except TurnFailed as failed:
            await self.ledger.closed(Turn(model.name, failed.tokens), self.unsaid(), whole=False)
            raise
        if reply.said["content"]:
            self._say(reply.said)
        await self.ledger.closed(Turn(model.name, reply.tokens), self.unsaid())
        return reply

    # --- limits ------------------------------------------------------------------------------------------------------

    async def _allowed(self) -> None:
        if over := self.ledger.over():
            raise Stopped(Failure.LIMITS, f"the limit of {over} for one run is reached")
        await self.around.wanted()

    def _lost(self, reason: Failure, why: str, remedy: str) -> list[Json]:
        """A reply that leads nowhere is answered with what to do, but not for ever."""
        self._astray += 1
        if self._astray >= _PATIENCE:
            raise Stopped(reason, f"{why}, {self._astray} times in a row")
        return [{"type": "text", "text": remedy}]

    # --- answers -----------------------------------------------------------------------------------------------------

    async def _answered(self, reply: Reply) -> list[Json]:
        match reply.stop:
            case "refusal":
                raise Stopped(Failure.REFUSED, f"the model refuses: {reply.text[:400] or 'without a word'}")
            case "context":
                raise Stopped(Failure.LIMITS, "the conversation is longer than the model can hold")
            case "cut":
                said = self._lost(Failure.LIMITS, "the reply was cut off", "Your reply was cut off: say less at once.")
                return [*(_result(call, Result("cut off, not done", wrong=True)) for call in reply.calls), *said]
            case "paused":
                return self._lost(Failure.MALFORMED, "the model pauses", "Go on.")
            case "calls" | "end" if not reply.calls:
                return self._lost(Failure.MALFORMED, "the model ends without a report", "Call `report` to end.")
            case "calls" | "end":
                self._astray = 0
                return [_result(call, await self._used(call)) for call in reply.calls]

    async def _used(self, call: Call) -> Result:
        if self.result is not None:
            return Result("the work has ended", wrong=True)
        if call.name in CHANGING and self.triage is None:
            return Result("call `triage` first", wrong=True)
        try:
            if call.name in FILES or call.name == "run":
                return await self.around.toolbox.use(call.name, call.given, max(1.0, self.ledger.left))
            return await self._said(call.name, call.given)
        except Unreadable as wrong:
            return Result(str(wrong), wrong=True)

    async def _said(self, name: str, given: Mapping[str, Any]) -> Result:
        match name:
            case "changes":
                return Result(await self.around.changes())
            case "triage":
                return self._sorted(verdicts.triage(given, self.wanted.tasks))
            case "report":
                return await self._reported(given)
            case _:
                return Result(f"there is no tool {name[:80]!r}", wrong=True)

    def _sorted(self, said: Triage) -> Result:
        if self.triage is not None:
            return Result("there was a triage already", wrong=True)
        self.triage = said
        if said.overall == "blocked":
            self.result = tuple(verdicts.handed_over(said, self.wanted.tasks))
            return Result("noted: a human decides")
        self.below = verdicts.deferred(said, self.wanted.tasks, self.wanted.threshold)
        if self.below:
            names = ", ".join(sorted(self.below))
            return Result(f"noted. Do not work on {names}: the policy leaves what is less than {self.wanted.threshold}")
        return Result("noted")

    async def _reported(self, given: Mapping[str, Any]) -> Result:
        if self.triage is None:
            return Result("call `triage` first", wrong=True)
        said = verdicts.report(given, self.wanted.tasks)
        judged = await self.around.judge(said, self.below)
        if judged.against:
            self._reports += 1
            if self._reports >= _REPORTS:
                raise Stopped(Failure.POLICY, judged.against)
            return Result(judged.against, wrong=True)
        found = verdicts.verdicts(said, self.triage, self.wanted.tasks, self.below, judged.hunks)
        self.result = tuple(found)
        return Result("accepted")


def _result(call: Call, result: Result) -> Json:
    said: Json = {"type": "tool_result", "tool_use_id": call.id, "content": legible(result.text) or "[nothing]"}
    return {**said, "is_error": True} if result.wrong else said
