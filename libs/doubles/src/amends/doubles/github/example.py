"""A small repository to try things on: acme/shop, where bob asks alice for changes."""

from __future__ import annotations

from dataclasses import dataclass

from amends.doubles.github.control.apps import AppHandle
from amends.doubles.github.control.pulls import PullHandle
from amends.doubles.github.double import GitHubDouble

_BEFORE = """def total(prices):
    result = 0
    for price in prices:
        result += price
    return result
"""
_AFTER = """def total(prices, discount=0):
    result = 0
    for price in prices:
        result += price
    return result - result * discount / 100


def avarage(prices):
    return total(prices) / len(prices)
"""
_TEST = """from basket import total


def test_total():
    assert total([1, 2]) == 3
"""


@dataclass(frozen=True)
class Example:
    """`token` is of octocat, who may do anything; the App amends is installed."""

    pull: PullHandle
    app: AppHandle
    token: str


def example(double: GitHubDouble) -> Example:
    repo = double.repo("acme/shop", {"basket.py": _BEFORE, "test_basket.py": _TEST}, private=False)
    for login in ("alice", "bob"):
        repo.collaborator(login, "write")
    repo.jobs(test="success")
    repo.protect(approvals=1, checks=("test",))
    app = double.app("amends")
    app.install("acme", [repo])
    pull = repo.pull("discount", by="alice", files={"basket.py": _AFTER}, title="Discounts", body="In percent.")
    review = pull.review(
        "bob",
        "changes_requested",
        "Nearly there; see my comments. A test of the discount is missing.",
        [
            {"path": "basket.py", "line": 5, "body": "What happens with a discount above 100? Please refuse it."},
            {"path": "basket.py", "line": 8, "body": "```suggestion\ndef average(prices):\n```"},
            {"path": "basket.py", "line": 9, "body": "An empty basket divides by zero."},
        ],
    )
    review.threads[0].reply("I would raise ValueError.", by="alice")
    pull.say("alice", "Thank you, I am on it.")
    return Example(pull, app, double.token("octocat"))
