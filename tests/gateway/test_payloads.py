"""How a delivery is read: once, and as if its keys had been looked at first and what it holds afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from amends.common.github.text import paired
from amends.gateway.payloads import (
    Delivery,
    OfCheck,
    OfInstallation,
    OfIssueComment,
    OfPull,
    OfRepository,
    OfReview,
    OfReviewComment,
    OfStatus,
    OfThread,
    Unreadable,
    read,
    single,
)
from tests.contract.examples import named, rejections
from tests.gateway.test_fuzz import SOME, mutated
from tests.support.gateway import Json, raw

KINDS: dict[str, type[Delivery]] = {
    "pull_request": OfPull,
    "pull_request_review": OfReview,
    "pull_request_review_comment": OfReviewComment,
    "pull_request_review_thread": OfThread,
    "issue_comment": OfIssueComment,
    "check_run": OfCheck,
    "status": OfStatus,
    "repository": OfRepository,
    "installation": OfInstallation,
    "installation_repositories": OfInstallation,
}
EXAMPLES = [(KINDS[event], payload) for event, payload in named() if event in KINDS]
EXAMPLES += [(KINDS["pull_request_review"], payload) for payload in rejections()]


Reader = Callable[[type[Delivery], bytes], Delivery]


def apart(kind: type[Delivery], body: bytes) -> Delivery:
    """The keys first, the delivery after, each parsed for itself."""
    single(body)
    return kind.model_validate_json(body, context=set())


def outcome(reader: Reader, kind: type[Delivery], body: bytes) -> Delivery | str:
    try:
        return reader(kind, body)
    except ValidationError:
        return "not what the event says"
    except Unreadable as unreadable:
        return str(unreadable) if str(unreadable).endswith("twice") else "not what the event says"


def twice(payload: Json, key: str, value: Any) -> bytes:
    """The payload's JSON with the key once more: last, where most parsers look."""
    return raw(payload)[:-1] + b"," + json.dumps({key: value}).encode()[1:]


@pytest.mark.parametrize(("kind", "payload"), EXAMPLES)
def test_inv_03_each_key_of_the_outermost_object_is_refused_twice(kind: type[Delivery], payload: Json) -> None:
    for key, value in payload.items():
        assert outcome(read, kind, twice(payload, key, value)) == f"the key '{key}' stands there twice"


@pytest.mark.parametrize(("kind", "payload"), [one for one in EXAMPLES if "repository" in one[1]])
@pytest.mark.parametrize("key", ["id", "full_name"])
def test_inv_03_what_names_the_repository_is_refused_twice(kind: type[Delivery], payload: Json, key: str) -> None:
    inner = raw(payload["repository"])
    body = raw(payload).replace(inner, twice(payload["repository"], key, payload["repository"][key]))
    assert outcome(read, kind, body) == f"the key '{key}' stands there twice"


@SOME
@given(st.sampled_from(EXAMPLES), st.randoms(use_true_random=False))
def test_reading_at_once_is_reading_apart(example: tuple[type[Delivery], Json], random: Random) -> None:
    kind, payload = example
    body = paired(mutated(random, payload))
    assert outcome(read, kind, body) == outcome(apart, kind, body)
