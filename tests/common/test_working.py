"""A service at work: what runs beside its workers and dies is not only a word in `/readyz`."""

from __future__ import annotations

import asyncio
import logging

import pytest

from amends.common.working import at_work
from tests.support.asynchronous import asynchronous


async def dying() -> None:
    raise KeyError("nodes")


@asynchronous
async def test_what_dies_beside_the_workers_is_logged_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        async with at_work("comment-fetcher", [], dying()) as working:
            await asyncio.wait(working.tasks)
            assert working.checks() == {"comment-fetcher": "KeyError('nodes')"}
    (said,) = caplog.records
    assert (said.getMessage(), said.exc_info and said.exc_info[0]) == ("it died, and does no more", KeyError)


@asynchronous
async def test_what_is_cut_at_the_end_has_not_died(caplog: pytest.LogCaptureFixture) -> None:
    async with at_work("comment-fetcher", [], asyncio.sleep(60)):
        await asyncio.sleep(0)
    assert caplog.records == []
