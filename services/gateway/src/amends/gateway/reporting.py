"""What was observed, on its way to the recorder: about the right pull requests, all at once, answered by the worst."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from amends.common.answers import Already, Answer, Recorded, Recorder, Refused, Report, Unavailable
from amends.common.events import AnyFact, CommandGiven, PrObserved
from amends.common.identity import About, PullId
from amends.common.redaction import Redactor
from amends.gateway.found import Ignored, Observed
from amends.gateway.places import Places

_NOT_NOW = frozenset({"busy", "not_ready"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of all the reports of one request; `positions` are in the order of its facts."""

    kind: Literal["recorded", "refused", "unavailable"]
    why: str = ""
    positions: Sequence[int] = ()
    answers: Sequence[Answer] = ()


class Desk:
    """Reports for the gateway."""

    def __init__(self, recorder: Recorder, places: Places, redacted: Redactor) -> None:
        self._recorder = recorder
        self._places = places
        self._redacted = redacted

    async def report(self, found: Observed) -> Outcome | Ignored:
        """Have it recorded. Everything that one delivery says comes to the recorder together."""
        if found.access is None and not await self._places.listed(found.repo, found.full_name):
            return Ignored("not_configured", found.repo, found.full_name)
        self._places.remember(found.repo, found.heads)
        said = await self._placed(found)
        if not said:
            return Ignored("nobody_concerned", found.repo, found.full_name)
        return await self.send([_report(pull, self._discreet(fact), found.actor) for pull, fact in said])

    async def send(self, reports: Sequence[Report]) -> Outcome:
        """Report all of them, and answer with what is worst."""
        if len(reports) == 1:
            return combined([await self._recorder.report(reports[0])])
        return combined(await asyncio.gather(*(self._recorder.report(report) for report in reports)))

    def _discreet(self, fact: AnyFact) -> AnyFact:
        """The fact without our own secrets; whatever looks like one was taken out of its words before."""
        match fact:
            case CommandGiven(text=text) if text:
                return fact.model_copy(update={"text": self._redacted(text)})
            case PrObserved(title=title, labels=labels):
                discreet = {"title": self._redacted(title), "labels": tuple(map(self._redacted, labels))}
                unchanged = discreet == {"title": title, "labels": labels}
                return fact if unchanged else fact.model_copy(update=discreet)
            case _:
                return fact

    async def _placed(self, found: Observed) -> list[tuple[PullId, AnyFact]]:
        if found.access is not None:
            concerned = await self._places.concerned(found.access)
            return [(pull, found.access.fact) for pull in concerned]
        if found.check is not None:
            numbers = await self._places.headed_by(found.repo, found.full_name, found.check.head)
            return [(PullId(found.repo, number), found.check) for number in numbers]
        return [(PullId(found.repo, number), fact) for number, fact in found.facts]


def _report(pull: PullId, fact: AnyFact, actor: str) -> Report:
    return Report(fact=fact, version=fact.schema_version, about=About(repo=pull.repo, number=pull.number), actor=actor)


def combined(answers: Sequence[Answer]) -> Outcome:
    """One word for all answers: what may not be in the log weighs more than what will never be."""
    kept = [answer.pos for answer in answers if isinstance(answer, Recorded | Already)]
    if len(kept) == len(answers):
        return Outcome("recorded", positions=kept, answers=answers)
    others = [answer for answer in answers if isinstance(answer, Refused | Unavailable)]
    why = "; ".join(answer.detail for answer in others)
    never = all(isinstance(answer, Refused) and answer.reason not in _NOT_NOW for answer in others)
    return Outcome("refused" if never else "unavailable", why, kept, answers)
