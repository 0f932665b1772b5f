"""One tour of the whole double for all contract tests, because it visits everything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from amends.doubles.github import GitHubDouble
from tests.contract.descriptions import Descriptions, load
from tests.contract.tour import Toured, tour


@pytest.fixture(scope="session")
def descriptions() -> Descriptions:
    return load()


@pytest.fixture(scope="session")
def toured() -> Iterator[Toured]:
    """Everything was asked for once, with every request, answer and event checked."""
    with tour() as done:
        yield done


@pytest.fixture
def github() -> Iterator[GitHubDouble]:
    """A double of its own, that checks everything."""
    with GitHubDouble() as double:
        double.check(load())
        yield double
