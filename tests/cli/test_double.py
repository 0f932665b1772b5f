"""`amends double github`: a GitHub of one's own, with its addresses printed and an example in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.command import WHOLE, called, ran, started, stopped

UP = "is up."


def said_by(*arguments: str) -> tuple[dict[str, Any], int]:
    """What it says of itself, as it is for a program, and its exit code after Ctrl-C."""
    with started(["double", "github", *arguments], UP) as process:
        assert process.stdout is not None
        said: dict[str, Any] = json.loads(process.stdout.readline())
        said["zen"] = httpx.get(f"{said['api_url']}/zen").status_code
        said["state"] = httpx.get(f"{said['control_url']}/state").json()
        return said, stopped(process)


def test_it_answers_where_it_says_until_ctrl_c_ends_it() -> None:
    said, code = said_by()
    assert (said["zen"], code) == (200, 0)
    assert said["state"]["repositories"] == {}
    with pytest.raises(httpx.ConnectError):
        httpx.get(said["url"])


def test_the_api_may_be_at_the_root() -> None:
    said, _ = said_by("--prefix", "")
    assert said["api_url"] == said["url"]
    assert said["zen"] == 200


def test_the_example_is_a_pull_request_with_a_rejection() -> None:
    said, _ = said_by("--example")
    pull = said["state"]["repositories"]["acme/shop"]["issues"]["1"]
    assert [review["state"] for review in pull["reviews"]] == ["CHANGES_REQUESTED"]
    assert len(pull["threads"]) == 3
    assert said["private_key"].startswith("-----BEGIN RSA PRIVATE KEY-----")


def test_the_example_is_reached_with_what_is_printed_for_it() -> None:
    with started(["double", "github", "--example", "--output", "text"], UP) as process:
        assert process.stdout is not None
        printed = "".join(process.stdout.readline() for _ in range(11))
        given = dict(re.findall(r"export AMENDS_GITHUB_(\w+)=(\S+)", printed))
        headers = {"authorization": f"Bearer {given['TOKEN']}"}
        pull = httpx.get(f"{given['API_URL']}/repos/acme/shop/pulls/1", headers=headers).json()
        viewer = httpx.post(given["GRAPHQL_URL"], headers=headers, json={"query": "{viewer{login}}"}).json()
    assert (pull["title"], viewer["data"]["viewer"]["login"]) == ("Discounts", "octocat")


def test_the_lines_of_its_help_work_as_they_stand() -> None:
    help_text = called("double", "github", "--help").output
    posts = re.findall(r"_double/(\w+) --json(?: \\\n *)? *'(\{.*?\})'", help_text)
    assert [verb for verb, _ in posts] == ["comment", "webhook", "fault"]
    with started(["double", "github", "--example"], UP) as process:
        assert process.stdout is not None
        control = json.loads(process.stdout.readline())["control_url"]
        answers = [httpx.post(f"{control}/{verb}", json=json.loads(body)) for verb, body in posts]
    assert [one.status_code for one in answers] == [200, 200, 200]


def test_a_port_that_is_taken_is_said_so() -> None:
    with started(["double", "github"], UP) as process:
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["url"].rpartition(":")[2]
        refused = ran("double", "github", "--port", port)
    assert (refused.returncode, refused.stderr) == (1, f"Error: port {port}: Address already in use\n")


def test_nothing_of_it_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WHOLE, "TMPDIR", str(tmp_path))
    with started(["double", "github", "--example"], UP):
        assert [path.name[:14] for path in tmp_path.iterdir()] == ["amends-github-"]
    assert list(tmp_path.iterdir()) == []
