"""What the agent says about items, checked against a schema and against what was asked; it decides nothing itself.

Which files change is taken from the files, what is allowed from the policy. Here is only what becomes of each item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from amends.common.events import Judgement, Name, Verdict
from amends.common.policy import Severity
from amends.fixer.brief import Task

Words = Annotated[str, StringConstraints(max_length=8_000)]
Category = Literal["security", "architecture", "logic", "style", "performance", "testing", "documentation"]
Kind = Literal["actionable", "question", "needs_human"]
Said = Literal["fixed", "answered", "declined", "deferred", "needs_human"]
_ORDER = {severity: place for place, severity in enumerate(Severity)}


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


SaidT = TypeVar("SaidT", bound=_Said)


class Sorted(_Said):
    """What one item is; `beside` are those that the same decision of a human settles."""

    item: str
    kind: Kind
    severity: Severity = Severity.MEDIUM
    category: Category = "logic"
    reason: Words = ""
    beside: tuple[Name, ...] = ()


class Triage(_Said):
    """What every item is, and whether there is anything to do at all."""

    overall: Literal["ready", "needs_human_input", "blocked"] = "ready"
    items: tuple[Sorted, ...]


class Answer(_Said):
    """What became of one item; `beside` are those that the same decision of a human settles."""

    item: str
    verdict: Said
    reason: Words = ""
    hunks: tuple[Name, ...] = ()
    beside: tuple[Name, ...] = ()


class Report(_Said):
    """What became of every item."""

    items: tuple[Answer, ...]
    concerns: Words = ""


class Unreadable(Exception):
    """What was said does not fit; the message says where."""


def triage(given: Mapping[str, object], tasks: Sequence[Task]) -> Triage:
    """The triage that was said, of every task and of nothing else; raises Unreadable."""
    said = _read(Triage, given)
    _complete([one.item for one in said.items], tasks)
    return said


def report(given: Mapping[str, object], tasks: Sequence[Task]) -> Report:
    """The report that was said; raises Unreadable."""
    said = _read(Report, given)
    _complete([one.item for one in said.items], tasks)
    for one in said.items:
        if one.verdict != "fixed" and not one.reason.strip():
            raise Unreadable(f"{one.item}: {one.verdict} needs a reason: what is to be said to the reviewer?")
        if one.verdict == "fixed" and not one.hunks:
            raise Unreadable(f"{one.item}: fixed needs the names of the hunks that serve it, as `changes` shows them")
    return said


def deferred(said: Triage, tasks: Sequence[Task], threshold: Severity) -> dict[str, Severity]:
    """The tasks that are not bad enough to be worked on now: the reviewer's word counts more than the model's."""
    own = {task.name: task.feedback.severity for task in tasks}
    found = {one.item: own[one.item] or one.severity for one in said.items if one.kind == "actionable"}
    return {name: severity for name, severity in found.items() if _ORDER[severity] > _ORDER[threshold]}


def verdicts(
    said: Report, sorted_: Triage, tasks: Sequence[Task], below: Mapping[str, Severity], hunks: Collection[str]
) -> Iterator[Verdict]:
    """One for each task; `hunks` are those that there are."""
    severities = {one.item: one.severity for one in sorted_.items}
    answers = {one.item: one for one in said.items}
    groups = together(one for one in said.items if one.verdict == "needs_human")
    known = {task.name: task.feedback.item for task in tasks}
    for task in tasks:
        item, answer = task.feedback, answers[task.name]
        severity = item.severity or severities.get(task.name)
        judgement, reason = Judgement(answer.verdict), answer.reason
        if task.name in below and judgement is not Judgement.FIXED:
            judgement, reason = Judgement.DEFERRED, f"{below[task.name]} is below the threshold of the policy"
        named = tuple(one for one in answer.hunks if one in hunks) if judgement is Judgement.FIXED else ()
        group = groups.get(task.name, ()) if judgement is Judgement.NEEDS_HUMAN else ()
        if group:  # the same question in all of them
            reason = answers[group[0]].reason
        yield Verdict(
            item=item.item, version=item.version, judgement=judgement, reason=reason, hunks=named, severity=severity,
            beside=tuple(known[name] for name in group if name != task.name),
        )  # fmt: skip


def together(open_: Iterable[Sorted | Answer]) -> dict[str, tuple[str, ...]]:
    """For each item that one decision settles together with others, all of these in the order they were told in."""
    wanted = {one.item: one.beside for one in open_}
    groups: list[set[str]] = []
    for name, beside in wanted.items():
        joined = {name, *(other for other in beside if other in wanted)}
        for group in [group for group in groups if group & joined]:
            groups.remove(group)
            joined |= group
        groups.append(joined)
    order = list(wanted)
    return {name: tuple(sorted(group, key=order.index)) for group in groups if len(group) > 1 for name in group}


def handed_over(said: Triage, tasks: Sequence[Task]) -> Iterator[Verdict]:
    """When nothing can be done before somebody has decided: a question for each task, or one for several."""
    answers = {one.item: one for one in said.items}
    groups = together(said.items)
    known = {task.name: task.feedback.item for task in tasks}
    for task in tasks:
        group = groups.get(task.name, (task.name,))
        yield Verdict(
            item=task.feedback.item,
            version=task.feedback.version,
            judgement=Judgement.NEEDS_HUMAN,
            reason=answers[group[0]].reason or "nothing can be done about this before somebody has decided",
            severity=task.feedback.severity or answers[task.name].severity,
            beside=tuple(known[name] for name in group if name != task.name),
        )


def _complete(names: Sequence[str], tasks: Sequence[Task]) -> None:
    known = {task.name for task in tasks}
    if strange := sorted(set(names) - known):
        raise Unreadable(f"there is no {', '.join(strange)[:200]}")
    if missing := sorted(known - set(names)):
        raise Unreadable(f"missing: {', '.join(missing)}")
    if len(names) > len(known):
        raise Unreadable("an item stands there twice")


def _read(kind: type[SaidT], given: Mapping[str, object]) -> SaidT:
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)[:5]
        lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong]
        raise Unreadable("; ".join(lines)) from error
