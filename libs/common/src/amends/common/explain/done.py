"""What was done about a change: every decision and every effect, with its reason."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amends.common.envelope import Event
from amends.common.events import (
    CommandAccepted,
    CommandRefused,
    CycleFinished,
    Escalated,
    FixFailed,
    FixPrepared,
    FixPushed,
    FixRequested,
    LoopFinished,
    LoopPaused,
    LoopResumed,
    NotifyFailed,
    PushRefused,
    PushRequested,
    ResolveFinished,
    ReviewRequested,
    Verdict,
)
from amends.common.explain.citing import Citing
from amends.common.explain.explanation import Deed
from amends.common.explain.reasons import ENDINGS, FAILURES, OUTCOMES, UNHEARD_COMMANDS, escalation


@dataclass(frozen=True)
class Done:
    """Reads events."""

    citing: Citing

    def all(self, events: Sequence[Event]) -> Iterator[Deed]:
        """The deeds among them."""
        for event in events:
            if said := self._deed(event):
                what, why, under = said
                yield Deed(event.pos, what, why, self.citing.by(event), under)

    def _then(self, event: Event) -> Citing:
        return self.citing.then(event.pos)

    def _deed(self, event: Event) -> tuple[str, str, str] | None:
        match event.fact:
            case FixRequested() as fact:
                under = f"{self._then(event).values('max_cycles', 'triggers')}, policy {fact.rules.versions}"
                why = "all that is open was asked for" if fact.scope == "all" else "feedback counted"
                return f"cycle {fact.n}, attempt {fact.k} was begun", why, under
            case FixPrepared(notes=notes) | FixFailed(notes=notes) if notes:
                under = self._then(event).values("worktree_missing")
                return "the workspace was not as it was left", "; ".join(notes), under
            case PushRequested() as fact:
                return (
                    f"a push of {_files(len(fact.changes))} on {fact.base[:7]} was asked for",
                    f"the fix of cycle {fact.n} is ready",
                    "",
                )
            case FixPushed() as fact:
                return f"{fact.sha[:7]} was pushed", f"it is the fix of cycle {fact.n}", ""
            case PushRefused() as fact:
                return "a push was not made", FAILURES[fact.reason].means, self._then(event).limits(fact.reason)
            case _:
                return self._ending(event)

    def _ending(self, event: Event) -> tuple[str, str, str] | None:
        match event.fact:
            case CycleFinished() as fact:
                judged = "; ".join(_judged(verdict) for verdict in fact.verdicts)
                why = f"{OUTCOMES[fact.outcome]}{f' ({fact.reason})' if fact.reason else ''}"
                return f"cycle {fact.n} ended {fact.outcome}", f"{why}{f': {judged}' if judged else ''}", ""
            case ReviewRequested() as fact:
                names = ", ".join(reviewer.login or reviewer.account for reviewer in fact.reviewers)
                return f"asked to look again: {names}", f"{fact.sha[:7]} answers all they raised", ""
            case ResolveFinished(roots=roots) as fact if roots:
                return f"threads were resolved: {len(roots)}", f"the fixes of cycle {fact.n} are in the head", ""
            case Escalated() as fact:
                why = escalation(fact.reason).means + (f": {fact.detail}" if fact.detail else "")
                return f"a human was asked for ({fact.reason})", why, self._then(event).limits(fact.reason)
            case NotifyFailed() as fact:
                return (
                    f"{fact.channel} was not told of event {fact.of}",
                    fact.reason,
                    self._then(event).values("notify"),
                )
            case _:
                return self._word(event)

    def _word(self, event: Event) -> tuple[str, str, str] | None:
        match event.fact:
            case LoopPaused():
                return "it was paused", "somebody said so", ""
            case LoopResumed():
                return "it was resumed", "somebody said so", ""
            case LoopFinished() as fact:
                return f"it ended {fact.outcome}", ENDINGS[fact.outcome], ""
            case CommandAccepted() as fact:
                return f"the command {fact.name!r} was obeyed", "its author may give it", ""
            case CommandRefused() as fact:
                under = self._then(event).values("reviewers", "bots") if fact.reason == "untrusted" else ""
                return f"the command {fact.name!r} was refused", UNHEARD_COMMANDS[fact.reason], under
            case _:
                return None


def _judged(verdict: Verdict) -> str:
    return f"{verdict.item} {verdict.judgement}{f' ({verdict.reason})' if verdict.reason else ''}"


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"
