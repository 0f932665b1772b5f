"""The genuine payloads that GitHub publishes, and one that it does not: a review that asks for changes."""

from __future__ import annotations

import copy
import gzip
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

Json = dict[str, Any]
_DATA = Path(__file__).parent / "data"


@lru_cache(maxsize=1)
def examples() -> dict[str, list[Json]]:
    """Event -> payloads; 99 in all."""
    found: dict[str, list[Json]] = json.loads(gzip.decompress((_DATA / "webhooks.examples.json.gz").read_bytes()))
    return found


def named() -> list[tuple[str, Json]]:
    """(event, payload) of each."""
    return [(event, payload) for event, payloads in examples().items() for payload in payloads]


def rejections() -> list[Json]:
    """Every submitted review of the examples, as if it asked for changes: with a body, and without one."""
    submitted = [one for one in examples()["pull_request_review"] if one["action"] == "submitted"]
    made = []
    for payload in submitted:
        for body in ("Please change this.", None):
            one = copy.deepcopy(payload)
            one["review"] |= {"state": "changes_requested", "body": body}
            made.append(one)
    return made
