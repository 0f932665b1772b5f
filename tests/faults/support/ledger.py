"""What was said to an installation and what it answered: the other book, to which the log is held afterwards."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from amends.common.answers import Already, Answer, Recorded, Refused, Report
from amends.common.identity import loop_name


class Told(NamedTuple):
    """A fact as it must be found in the log: in which loop, of what type, with what in it."""

    loop: str
    type: str
    data: str

    def __str__(self) -> str:
        return f"{self.type} in {self.loop}: {self.data[:120]}"


def told(loop: str, type_: str, data: bytes | str) -> Told:
    """The same for what was reported and for what is stored, whichever way its JSON was written."""
    return Told(loop, type_, json.dumps(json.loads(data), sort_keys=True))


def telling(report: Report) -> Told:
    """What a report must look like in the log."""
    return told(loop_name(report.about) or "", report.fact.type, report.fact.model_dump_json(exclude={"type"}))


@dataclass
class Ledger:
    """Filled by the load's thread, read by the test's. `sent` holds what may be in the log, the others what must be."""

    complete: bool = True  # nobody else reports anything
    sent: Counter[Told] = field(default_factory=Counter)
    recorded: dict[int, Told] = field(default_factory=dict)
    already: list[tuple[int, str, str]] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    unanswered: int = 0
    blobs: dict[str, bytes] = field(default_factory=dict)

    @property
    def acknowledged(self) -> int:
        """How many answers said that something is in the log."""
        return len(self.recorded) + len(self.already)

    def sending(self, report: Report) -> None:
        """It is about to be sent: from now on it may be in the log, whatever we hear."""
        self.sent[telling(report)] += 1

    def answered(self, report: Report, answer: Answer) -> None:
        """What is recorded or already known may never be lost from now on."""
        what = telling(report)
        match answer:
            case Recorded(pos=pos):
                if pos in self.recorded:
                    self.doubled.append(f"position {pos} was answered to {self.recorded[pos]} and to {what}")
                self.recorded[pos] = what
            case Already(pos=pos):
                self.already.append((pos, what.loop, report.fact.key))
            case Refused(reason=reason):
                self.refused[reason] += 1
            case _:
                self.unanswered += 1
