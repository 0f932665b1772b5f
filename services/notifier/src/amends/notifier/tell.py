"""Tells people what an event asks to be told: each channel for itself, and each only once.

What is reported is known from then on; what was done and not yet reported is found where it was done. So a channel
that fails keeps no other waiting, and whoever begins again begins where it ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Protocol
from uuid import uuid4
from weakref import WeakValueDictionary

from amends.common.answers import Already, Go, Recorded, Recorder, Refused, Report, Stop, Unavailable
from amends.common.delivery import Later
from amends.common.envelope import Event
from amends.common.events import (
    AnyFact,
    CommandAccepted,
    CommandRefused,
    CycleFinished,
    Escalated,
    FixFailed,
    FixRequested,
    LoopFinished,
    LoopPaused,
    Notified,
    NotifyFailed,
    NotifyStarted,
    PolicyObserved,
    ReviewRequested,
)
from amends.common.github.client import Client
from amends.common.github.errors import Denied, Missing
from amends.common.github.text import clean
from amends.common.identity import About
from amends.common.patience import report_until_answered
from amends.common.situation import Asked, Situation
from amends.common.worker import RefusedReport, addressed
from amends.notifier.answers import answered, place
from amends.notifier.board import Board, Rules, Stopped
from amends.notifier.measures import Outcome, ended
from amends.notifier.messages import Messages, Told
from amends.notifier.page import Page
from amends.notifier.words import Words

_LOG = logging.getLogger(__name__)
GITHUB, NOBODY = "github", "nobody"
_AWAY, _PAUSED, _MANY = 10.0, 60.0, 300.0
_UNKNOWN = "unknown: it was begun before and may have arrived, so it is not said again"
Asking = CycleFinished | ReviewRequested | Escalated | LoopFinished | LoopPaused


class Knowing(Recorder, Protocol):
    """A recorder that also says how a loop stands."""

    async def asked(self, pos: int) -> Asked | None:
        """What the event at `pos` asks of us, and how its loop stands."""
        ...


class Turn(Protocol):
    """Whether it is our turn to tell: others of us may run."""

    term: int

    async def confirm(self, term: int) -> None:
        """Right before an effect; raises Later unless it has been our turn since `term` began."""
        ...


class Always:
    """Nobody else runs."""

    term = 0

    async def confirm(self, term: int) -> None:
        """It is."""


class Turned(Exception):
    """A channel does not take it, and will not take it later."""


Claim = Callable[[], Awaitable[None]]


class Channel(Protocol):
    """A place beside GitHub where people read."""

    async def send(self, messages: Messages, fact: Told, claim: Claim) -> str:
        """Say it there once; answers with its address, if it has one.

        Raises Later, which says that it was not said, or Turned. Where nobody can look whether it was, `claim` is
        called right before that cannot be taken back any more.
        """
        ...


class Teller:
    """Answers the notifier's events. `age` is how many seconds ago an event was recorded."""

    def __init__(
        self, client: Client | None, recorder: Knowing, words: Words, ours: frozenset[int], most: int = 20
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._words = words
        self._ours = ours
        self._most = most
        self.channels: Mapping[str, Channel] = {}
        self.turn: Turn = Always()
        self.run = f"notifier-{uuid4().hex[:16]}"
        self._unsaid: set[tuple[str, str]] = set()
        self.patience = 1_800.0
        self.age: Callable[[Event], float] = lambda event: time.time() - event.time / 1_000_000
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def tell(self, event: Event) -> Sequence[AnyFact]:
        """What the event asks to be told is told, and reported; there is nothing left to report."""
        turn = self._turns.setdefault(event.loop, asyncio.Lock())
        async with turn:  # two who write one card would take turns in undoing each other
            match event.fact:
                case CycleFinished() | ReviewRequested() | Escalated() | LoopFinished() | LoopPaused() as fact:
                    await self._tell(event, fact)
                case FixRequested() | FixFailed():
                    await self._show(event)
                case CommandAccepted() | CommandRefused() as fact:
                    await self._answer(event, fact)
                    if isinstance(fact, CommandAccepted):
                        await self._show(event)
                case PolicyObserved(error=error) as fact if error:
                    await self._warn(event, fact)
                case _:
                    pass
        return []

    async def _tell(self, event: Event, fact: Asking) -> None:
        asked = await self._recorder.asked(event.pos)
        if asked is None or not asked.owed:
            return  # answered, or asked again since
        wanted = [one for one in self._wanted(fact, asked.situation) if one not in {*asked.told, *asked.failed}]
        if not wanted:
            why = "everybody has been told" if asked.told else "there is nobody to tell: see `notify` and the settings"
            failed = NotifyFailed(of=event.pos, channel=NOBODY, reason=why)
            await self._report(addressed(event, failed))
            return
        waiting: list[Later] = []
        for channel in wanted:
            try:
                said = await self._say(channel, event, partial(self._through, channel, event, fact, asked))
            except Later as later:
                waiting.append(later)
                ended(channel, "later")
                continue
            last = not waiting and channel == wanted[-1]
            await self._report(addressed(event, said.model_copy(update={"last": last})))
        if waiting:
            raise min(waiting, key=lambda later: later.delay)

    def _wanted(self, fact: Asking, now: Situation) -> list[str]:
        """Whom it concerns: people elsewhere hear of what waits for them, and of nothing else."""
        calls = isinstance(fact, Escalated) or (isinstance(fact, LoopFinished) and fact.outcome == "ready")
        here = [GITHUB] if self._client is not None and now.kind == "change" and GITHUB in now.channels else []
        beside = [one for one in self.channels if one in now.channels] if calls else []
        return [*here, *beside]

    async def _say(self, channel: str, event: Event, through: Callable[[], Awaitable[str]]) -> Notified | NotifyFailed:
        outcome: Outcome = "failed"
        patient = self.age(event) < self.patience
        try:
            url = await through()
        except Stopped as stopped:
            outcome, why = "stopped", str(stopped)
        except Turned as turned:
            why = str(turned)
        except (Denied, Missing) as error:
            if patient:
                raise Later(_PAUSED, f"{channel}: {error}") from error
            why = str(error)
        except Later as later:
            if channel == GITHUB or patient:
                raise
            why = f"given up: {later}"
        else:
            ended(channel, "told")
            return Notified(of=event.pos, channel=channel, url=url[:400])
        ended(channel, outcome)
        return NotifyFailed(of=event.pos, channel=channel, reason=clean(why)[:2_000])

    async def _through(self, channel: str, event: Event, fact: Asking, asked: Asked) -> str:
        if channel == GITHUB:
            page = await self._page(event, asked.situation)
            named = fact.patch if isinstance(fact, Escalated) else None
            kept = await self._recorder.get(named) if named else None
            return await page.tell(fact, _text(kept or b""))
        if isinstance(fact, LoopPaused):
            return ""
        await self._leave(event.pos, self.turn.term)
        messages = Messages(self._words, asked.situation)
        begun = channel, messages.reference(fact)

        async def claim() -> None:
            await self._claimed(event, begun, asked)

        try:
            return await self.channels[channel].send(messages, fact, claim)
        except Later:
            self._unsaid.add(begun)  # so whoever begins again, if that is we, doubles nothing
            raise

    async def _claimed(self, event: Event, begun: tuple[str, str], asked: Asked) -> None:
        """It is ours to say, and was not said before; raises Turned where nobody can tell."""
        channel, again = begun[0], begun in self._unsaid
        before = asked.begun.get(channel)
        if before is not None and not (before == self.run and again):
            raise Turned(_UNKNOWN)
        fact = NotifyStarted(of=event.pos, channel=channel, run=self.run)
        match await report_until_answered(self._recorder, addressed(event, fact)):
            case Recorded():
                pass
            case Already(fact=NotifyStarted(run=self.run)):
                pass  # we asked more than once: nobody answered at first
            case Already():
                raise Turned(_UNKNOWN)
            case Refused() as refused:
                raise Later(refused.until or _AWAY, refused.detail)
            case Unavailable() as unavailable:
                raise Later(_AWAY, unavailable.detail)
        self._unsaid.discard(begun)

    async def _show(self, event: Event) -> None:
        """The card and the label as they are now; nobody waits for it."""
        asked = await self._recorder.asked(event.pos)
        if asked is None or not self._here(asked.situation):
            return
        try:
            page = await self._page(event, asked.situation)
            await page.show(new=isinstance(event.fact, FixRequested))
        except (Stopped, Denied, Missing) as error:
            _LOG.info("a card was not brought up to date", extra={"loop": event.loop, "error": str(error)[:400]})

    async def _answer(self, event: Event, fact: CommandAccepted | CommandRefused) -> None:
        """A receipt for whoever gave a command on GitHub, and words where silence would not help him."""
        asked = await self._recorder.asked(event.pos)
        to = place(asked.command) if asked else None
        if asked is None or to is None or {*asked.told, *asked.failed} or not self._here(asked.situation):
            return

        async def through() -> str:
            board = await self._board(event, asked.situation, answered=True)
            return await answered(board, to, fact, Messages(self._words, asked.situation), asked)

        said = await self._say(GITHUB, event, through)
        if not (isinstance(fact, CommandRefused) and fact.reason == "untrusted"):
            await self._report(addressed(event, said))  # what strangers can make us do is no part of the log

    async def _warn(self, event: Event, fact: PolicyObserved) -> None:
        """A policy file that cannot be used: said on one pull request of its repository."""
        asked = await self._recorder.asked(event.pos)
        if asked is None or {*asked.told, *asked.failed} or not self._here(asked.situation):
            return

        async def through() -> str:
            await self._chosen(event, asked.situation.loop)
            board = await self._board(event, asked.situation)
            return await board.say(Messages(self._words, asked.situation).bad_policy(fact, event.key, event.loop))

        await self._report(addressed(event, await self._say(GITHUB, event, through)))

    async def _chosen(self, event: Event, loop: str) -> None:
        """From now on it is this pull request on which it is told: another would not have what we said here."""
        fact = NotifyStarted(of=event.pos, channel=GITHUB, run=self.run)
        await self._report(Report(fact=fact, about=About(loop=loop), cause=event.pos))

    def _here(self, now: Situation) -> bool:
        """Whether anything may be said there that nobody waits for."""
        return now.enabled and GITHUB in self._wanted(LoopPaused(of="x"), now)

    async def _page(self, event: Event, now: Situation) -> Page:
        async def fresh() -> Messages:
            asked = await self._recorder.asked(event.pos)
            return Messages(self._words, asked.situation if asked else now)

        return Page(await self._board(event, now), now, fresh, self._most)

    async def _board(self, event: Event, now: Situation, *, answered: bool = False) -> Board:
        if self._client is None:
            raise Stopped("GitHub does not know us")

        leave = partial(self._leave, event.pos, self.turn.term)  # what was looked at in an earlier term has aged
        try:
            reach = await self._client.repository(now.repo)
        except (Denied, Missing):
            self._client.forget(now.repo)
            raise
        return Board(reach, now.number, self._ours, leave, Rules(now.drafts, now.opt_out_label, answered))

    async def _leave(self, pos: int, term: int) -> None:
        """Right before each effect: may it be made, and by us?"""
        match await self._recorder.may(pos):
            case Go():
                pass
            case Stop(reason="paused"):
                raise Later(_PAUSED, "it is paused")
            case Stop(reason="comments_per_hour"):
                raise Later(_MANY, "enough was said in this hour")
            case Stop(reason="superseded"):
                pass  # a cycle's attempt went on or ended; where the loop stands now may be shown all the same
            case Stop(reason=reason):
                raise Stopped(reason)
            case Unavailable(detail=detail):
                raise Later(_AWAY, detail)
        await self.turn.confirm(term)

    async def _report(self, report: Report) -> None:
        match await report_until_answered(self._recorder, report):
            case Recorded() | Already():
                return
            case Refused(reason="busy" | "not_ready") as refused:
                raise Later(refused.until or _AWAY, refused.detail)
            case Refused() as refused:
                raise RefusedReport(f"{report.fact.type}: {refused.reason}: {refused.detail}")
            case Unavailable() as unavailable:
                raise Later(_AWAY, unavailable.detail)


def _text(content: bytes) -> str:
    """What can be shown as it is; else nothing."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return ""
