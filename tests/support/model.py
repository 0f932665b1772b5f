"""The model of tests: a double over HTTP, and the client that asks it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from amends.common.sections import Model
from amends.doubles.model import ModelDouble
from amends.doubles.model.double import KEY, MODEL


def model_settings(double: ModelDouble, **other: object) -> Model:
    """The product's `[model]` for a double, in a hurry."""
    known = {"api_key": SecretStr(KEY), "base_url": double.url, "name": MODEL, "first_pause": 0.01, "tries": 3}
    return Model.model_validate({**known, **other})


@pytest.fixture
def double() -> Iterator[ModelDouble]:
    """A model with an empty script."""
    with ModelDouble() as running:
        yield running
