# mypy: ignore-errors
# Peers are not installed where mypy runs.
"""Contender: PyGithub, whose lists turn their pages themselves. It learns no resolutions.

python -m tests.bench.peers.pygithub_reading '{"api": ...}'
"""

from __future__ import annotations

import json
import sys
import time

from github import Auth, Github

from tests.bench.conversation import converse, measured

AT = json.loads(sys.argv[1])
GITHUB = Github(auth=Auth.Token(AT["token"]), base_url=AT["api"], per_page=100, seconds_between_requests=0)


def read() -> float:
    began = time.perf_counter()
    pull = GITHUB.get_repo(AT["name"], lazy=True).get_pull(AT["number"])
    found = (len(list(pull.get_review_comments())), len(list(pull.get_reviews())), len(list(pull.get_issue_comments())))
    assert found == (250, 40, 120), found
    return time.perf_counter() - began


def answer(times: int, first: bool = True):
    began, cpu = time.perf_counter(), time.process_time()
    took = [read() for _ in range(times)]
    return measured(time.perf_counter() - began, time.process_time() - cpu, took)


read()
converse(answer)
