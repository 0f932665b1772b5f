"""What tests of the fixer start from."""

from collections.abc import Iterator

import pytest

from amends.doubles.model import ModelDouble


@pytest.fixture
def double() -> Iterator[ModelDouble]:
    with ModelDouble() as running:
        yield running
