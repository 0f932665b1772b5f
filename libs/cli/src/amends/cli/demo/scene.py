"""Where the demo takes place: a GitHub of its own, a small repository, two pull requests, and the people around them.

What reviewers say is placed by the code it is about, so that it stands right whatever was pushed in between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amends.doubles.github import GitHubDouble

if TYPE_CHECKING:
    from amends.doubles.github.control.pulls import Inline, PullHandle

REPOSITORY = "acme/shop"
DISCOUNTS, RECEIPTS = 1, 2  # the pull requests

_BASKET = '''"""A basket is a list of prices in cents."""


def total(prices):
    return sum(prices)
'''
_DISCOUNTS = '''"""A basket is a list of prices in cents."""


def total(prices, discount=0):
    return sum(prices) * (100 - discount) / 100


def avarage(prices):
    return total(prices) / len(prices)
'''
_TEST = """import unittest

from basket import total


class Basket(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""
_RECEIPTS = '''"""What the customer takes home."""


def line(name, price):
    return name + ": " + str(price)


def receipt(lines):
    return "\\n".join(lines)
'''
TOO_MUCH = "A discount above 100 makes the total negative. Please refuse it with a ValueError."
EMPTY = "An empty basket divides by zero here. Please answer 0."
UNTESTED = "Thank you. Please add a test that such a discount is refused."
NEARLY = "Nearly there: three comments."


def suggestion(*lines: str) -> str:
    """A comment that is nothing but a suggestion."""
    return "\n".join(("```suggestion", *lines, "```"))


class Scene:
    """The GitHub, and what its people do; amends is the App that is installed there."""

    def __init__(self, github: GitHubDouble) -> None:
        self.github = github
        self.repo = github.repo(REPOSITORY, {"basket.py": _BASKET, "test_basket.py": _TEST}, private=False)
        for login in ("alice", "bob", "carol", "dora"):
            self.repo.collaborator(login, "write")
        self.repo.jobs(test="success")
        self.repo.protect(approvals=1, checks=("test",))
        self.app = github.app("amends")
        self.app.install("acme", [self.repo])
        self.pulls: dict[int, PullHandle] = {}
        self.begun: dict[int, str] = {}  # the head that each pull request was opened with

    def read(self, pull: PullHandle, path: str) -> str:
        """A file as it stands on the pull request's branch."""
        return (self.repo.read(path, pull.head) or b"").decode()

    # --- #1: a reviewer who is satisfied in the end -------------------------------------------------------------------

    def discounts(self) -> None:
        """Alice opens it."""
        self._open("discounts", "alice", {"basket.py": _DISCOUNTS}, "Discounts")

    def bob_asks_for_changes(self) -> None:
        """A suggestion, and two wishes in prose."""
        self._review(
            DISCOUNTS, "bob", NEARLY,
            ("basket.py", "return sum(prices)", TOO_MUCH),
            ("basket.py", "def avarage", suggestion("def average(prices):")),
            ("basket.py", "return total(prices) /", EMPTY),
        )  # fmt: skip

    def bob_is_not_satisfied_yet(self) -> None:
        """One more wish, about the code that was just pushed."""
        self._review(DISCOUNTS, "bob", "", ("basket.py", "return sum(prices)", UNTESTED))

    def bob_approves(self) -> None:
        self.pulls[DISCOUNTS].review("bob", "approved", "")

    # --- #2: a reviewer who always finds something --------------------------------------------------------------------

    def receipts(self) -> None:
        """Carol opens it."""
        self._open("receipts", "carol", {"receipt.py": _RECEIPTS}, "Receipts")

    def dora_finds_the_first(self) -> None:
        self._review(RECEIPTS, "dora", "", ("receipt.py", "return name", suggestion('    return f"{name}: {price}"')))

    def dora_finds_the_second(self) -> None:
        wanted = suggestion('    return "".join(f"{one}\\n" for one in lines)')
        self._review(RECEIPTS, "dora", "", ("receipt.py", 'return "\\n".join', wanted))

    def dora_finds_a_third(self) -> None:
        self._review(RECEIPTS, "dora", "", ("receipt.py", "def receipt", "The receipt still shows no total."))

    # --- how ----------------------------------------------------------------------------------------------------------

    def _open(self, branch: str, by: str, files: dict[str, str], title: str) -> None:
        pull = self.repo.pull(branch, by=by, files=files, title=title)
        self.pulls[pull.number], self.begun[pull.number] = pull, pull.head

    def _review(self, number: int, by: str, body: str, *remarks: tuple[str, str, str]) -> None:
        pull = self.pulls[number]
        inline: list[Inline] = []
        for path, code, said in remarks:
            lines = self.read(pull, path).splitlines()
            inline.append(
                {"path": path, "line": next(n for n, one in enumerate(lines, 1) if code in one), "body": said}
            )
        pull.review(by, "changes_requested", body, inline)
