"""The whole loop through `amends up` and a token, on a GitHub that others made from its documentation alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from amends.common.log import Log
from tests.connected.test_orphans import up
from tests.support.strange import TOKEN, strange
from tests.support.strange_graphql import Forge
from tests.support.strange_rest import ROBOT

pytestmark = pytest.mark.connected


def until(true: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not true() and time.monotonic() < end:
        time.sleep(0.1)
    return true()


def suggests(forge: Forge, line: str) -> None:
    forge.thread("bob", f"```suggestion\n{line}\n```", forge.review("bob", "CHANGES_REQUESTED"))


@pytest.mark.parametrize("odd", ["gzip offsets few odd_links limited", "http10 fractions int_nodes null_nodes"])
def test_each_rejection_becomes_one_commit_and_our_own_words_begin_no_cycle(tmp_path: Path, odd: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with strange(tmp_path / "forge", *odd.split()) as forge:
        said = {
            "GITHUB_API_URL": forge.api, "GITHUB_TOKEN": TOKEN, "FETCHER_MODE": "poll", "FETCHER_POLL_SECONDS": "1",
            "POLICY_REPOSITORIES": json.dumps([forge.name]), "POLICY_SETTLE_SECONDS": "1",
            "NOTIFIER_APART_SECONDS": "0",
            "POLICY_RESOLVE_THREADS": "false",  # a thread stays open, and our answer is the last word in it
        }  # fmt: skip
        suggests(forge, "b = 23")
        with up(data, {f"AMENDS_{name}": value for name, value in said.items()}):
            assert until(lambda: forge.requested == ["bob"] and forge.labels == ["amends: waiting"])
            suggests(forge, "b = 24")
            assert until(lambda: "b = 24" in forge.file() and len(forge.threads[1]["comments"]) > 1)
        log = Log(f"sqlite:///{data / 'amends.db'}")
        kinds = [row.type for row in log.rows(0, 1_000)]
        log.close()
        assert [kinds.count(one) for one in ("fix.requested", "fix.pushed", "fix.failed")] == [2, 2, 0]
        assert [one["who"] for thread in forge.threads for one in thread["comments"]] == ["bob", ROBOT] * 2
        assert {one["body"][:12] for one in forge.talk} == {"<!-- amends:"}
