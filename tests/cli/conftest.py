"""A log to read for every test, and one running `amends up` to talk to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from amends.common.answers import Report
from amends.common.events import AnyFact, PrObserved
from amends.common.identity import About
from tests.support.command import called, up
from tests.support.facts import FULL_NAME, observed, policy_changed
from tests.support.scribe import Scribe, scribe, tell_of_a_cycle

HOSTILE = "Add a \x1b[31mbasket\x1b[0m \x07\u202e\x9b2J 買い物かご"


def hostile() -> PrObserved:
    """A pull request whose title would like to have the terminal."""
    return observed(50, title=HOSTILE, head="b" * 40)


@pytest.fixture
def told(sqlite_url: str) -> Iterator[Scribe]:
    """The log of one cycle, and its recorder."""
    with scribe(sqlite_url) as one:
        tell_of_a_cycle(one)
        one.tell(hostile())
        yield one


def opened(directory: Path, number: int, *facts: AnyFact) -> str:
    """A loop of its own in the running evaluator."""
    reported(directory, About(), policy_changed("listed", repositories=(FULL_NAME,), settle_seconds=0))
    reported(directory, About(repo=1, number=number), observed(), *facts)
    return f"1-pr-{number}"


def reported(directory: Path, about: About, *facts: AnyFact) -> None:
    """Facts for the running evaluator, as a service would report them."""
    reports = [Report(fact=fact, about=about).model_dump_json(by_alias=True) for fact in facts]
    result = called("report", "-", "--data-dir", str(directory), given="\n".join(reports))
    assert result.exit_code == 0, result.output


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The data directory of a running `amends up` that tests of this package share: each uses loops of its own."""
    with up(tmp_path_factory.mktemp("up") / "data") as directory:
        yield directory
