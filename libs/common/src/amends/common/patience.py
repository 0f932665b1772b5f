"""Reporting to a recorder that may be away for a while."""

from __future__ import annotations

import asyncio
import random
from math import inf

from amends.common.answers import Answer, Recorder, Report, Unavailable

_FIRST, _LONGEST = 0.1, 10.0  # seconds between two tries


async def report_until_answered(recorder: Recorder, report: Report, seconds: float = inf) -> Answer:
    """The recorder's answer, however often it must be asked; `Unavailable` only when the time is up.

    The same report again is safe: its key is known by then. A service that stops cancels this.
    """
    answer: Answer = Unavailable("nobody was asked")
    pause = _FIRST
    try:
        async with asyncio.timeout(None if seconds == inf else seconds):
            while isinstance(answer := await recorder.report(report), Unavailable):
                await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - spreads a herd, guards nothing
                pause = min(pause * 2, _LONGEST)
    except TimeoutError:
        pass
    return answer
