"""Nothing is left running, and what was found is printed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.support.enumeration import nursery
from tests.faults.support.processes import left_running
from tests.faults.support.report import write_table


@pytest.fixture(scope="session", autouse=True)
def _nothing_is_left_running() -> Iterator[None]:
    yield
    if nursery.cache_info().currsize:
        nursery().end()
    assert left_running() == []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    write_table(terminalreporter)
