# mypy: ignore-errors
# Peers are not installed where mypy runs.
"""Contender: `gh api --paginate` in kind, which follows one link after the other. gh itself goes to no plain http.

python -m tests.bench.peers.paging '{"api": ...}'
"""

from __future__ import annotations

import json
import re
import sys
import time

import requests

from tests.bench.conversation import converse, measured

AT = json.loads(sys.argv[1])
PLACES = ("pulls/{number}/comments", "pulls/{number}/reviews", "issues/{number}/comments")
SESSION = requests.Session()
SESSION.headers["Authorization"] = f"Bearer {AT['token']}"


def paged(place: str) -> int:
    url, found = f"{AT['api']}/repos/{AT['name']}/{place.format(**AT)}?per_page=100", 0
    while url:
        told = SESSION.get(url, timeout=30)
        found += len(told.json())
        following = re.search(r'<([^<>]*)>; rel="next"', told.headers.get("link", ""))
        url = following and following[1]
    return found


def read() -> float:
    began = time.perf_counter()
    found = tuple(map(paged, PLACES))
    assert found == (250, 40, 120), found
    return time.perf_counter() - began


def answer(times: int, first: bool = True):
    began, cpu = time.perf_counter(), time.process_time()
    took = [read() for _ in range(times)]
    return measured(time.perf_counter() - began, time.process_time() - cpu, took)


read()
converse(answer)
