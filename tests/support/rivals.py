"""Evaluators that write one log at the same time, each in a process or a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from amends.common.answers import Answer
from amends.evaluator.recorder import Recorder
from amends.evaluator.writer import Writer
from tests.support.book import reported
from tests.support.facts import comment


def report_comments(url: str, numbers: Sequence[int]) -> list[Answer]:
    """Report these comments, each in one of three pull requests, a few at a time; the answers."""
    recorder = Recorder(Writer(url))
    recorder.start()
    recorder.open()
    try:
        return asyncio.run(_all(recorder, numbers))
    finally:
        recorder.close()


async def _all(recorder: Recorder, numbers: Sequence[int]) -> list[Answer]:
    answers: list[Answer] = []
    for start in range(0, len(numbers), 8):
        some = [reported(comment(number), number % 3 + 1) for number in numbers[start : start + 8]]
        answers += await asyncio.gather(*(recorder.report(said.service, said.report) for said in some))
    return answers
