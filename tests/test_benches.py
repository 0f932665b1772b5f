"""The story that the benches measure: a change that breaks it shows here, and not when somebody measures."""

from __future__ import annotations

from dataclasses import dataclass

from amends.common.answers import Answer, Recorded
from amends.common.log import Log
from amends.evaluator.audit import audit
from tests.bench.ours.recording import recording
from tests.bench.workload import EVENTS, Said, allowed, pull_request
from tests.support.asynchronous import asynchronous


@dataclass(frozen=True)
class Told:
    """One report of the workload, its answer, and how many decisions followed it in the log."""

    said: Said
    answer: Answer
    decided: int


async def tell(url: str) -> list[Told]:
    """The workload once, report by report, through a recorder with the benches' own policy."""
    log, told, last = Log(url), [], 0
    async with recording(url) as recorder:
        assert log.head().pos == 1 + allowed().decides
        for said in pull_request(7):
            before = log.head().pos
            answer = await recorder.report_raw(said.service, said.about(last))
            told.append(Told(said, answer, log.head().pos - before - 1))
            last = answer.pos if isinstance(answer, Recorded) and said.decides else last
    return told


@asynchronous
async def test_every_report_of_the_workload_is_recorded_and_decides_as_much_as_it_says(sqlite_url: str) -> None:
    told = await tell(sqlite_url)
    assert [one for one in told if not isinstance(one.answer, Recorded)] == []
    assert [one for one in told if one.decided != one.said.decides] == []
    assert len(told) + sum(one.decided for one in told) == EVENTS


@asynchronous
async def test_at_the_end_of_the_workload_everybody_has_answered_and_the_log_is_sound(sqlite_url: str) -> None:
    await tell(sqlite_url)
    log = Log(sqlite_url)
    assert [(loop.status, loop.used) for loop in log.loops() if loop.kind == "change"] == [("done", 2)]
    assert (log.outstanding(), log.timers()) == ([], [])
    assert (audit(log).violations, audit(log).notes) == ([], [])
