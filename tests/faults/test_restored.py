"""A log that came back from a backup meets a mirror that knows more: it is not written over, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support.checks import stored
from tests.faults.support.copies import copied, put_back
from tests.faults.support.installation import Installation, installed
from tests.faults.support.load import Crowd
from tests.faults.support.wire import mirrored

pytestmark = pytest.mark.faults
FAILED = 1


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("backups") / "earlier.db"


@pytest.fixture(scope="module")
def installation(backup: Path) -> Iterator[Installation]:
    """It was backed up, went on until the mirror had it all, and lost its power."""
    with installed(crowd=Crowd(people=0, gossips=4)) as one:
        one.evaluator().ready()
        one.progress()
        copied(one.database, backup)
        one.progress()
        one.settle()  # what the mirror had not got yet, nobody could give back
        one.power_cut()
        yield one


def test_a_log_is_not_mirrored_over_another_ones_mirror(installation: Installation, tmp_path: Path) -> None:
    reached = mirrored(installation.nats.url)
    foreign = installation.evaluator(AMENDS_DATABASE=f"sqlite:///{tmp_path}/another.db")
    assert (foreign.ended(), "this log is" in foreign.said()) == (FAILED, True)
    assert mirrored(installation.nats.url) == reached
    assert installation.examine("another log's mirror").wrong == []


def test_two_histories_of_one_log_are_never_merged(installation: Installation, backup: Path, tmp_path: Path) -> None:
    copy = copied(f"sqlite:///{backup}", tmp_path / "fork.db")
    with installed(copy) as fork:
        fork.evaluator()
        fork.progress(200)
    before, reached = stored(copy), mirrored(installation.nats.url)
    forked = installation.evaluator(AMENDS_DATABASE=copy)
    assert (forked.ended(), "hold different events" in forked.said()) == (FAILED, True)
    assert (stored(copy), mirrored(installation.nats.url)) == (before, reached)
    assert installation.examine("fork of two copies").wrong == []


def test_a_restored_log_is_not_written_until_the_mirror_has_given_back_the_rest_and_then_goes_on(
    installation: Installation, backup: Path
) -> None:
    put_back(installation.database, backup)
    refusing = installation.evaluator()
    assert (refusing.ended(), "amends restore --import-tail" in refusing.said()) == (FAILED, True)
    assert stored(installation.database) == stored(f"sqlite:///{backup}")
    assert installation.run("restore", "--import-tail") == 0
    assert installation.examine("log restored, tail imported").wrong == []
    installation.again()  # the same reporters, who are told that all is known
    installation.evaluator()
    installation.progress()
    assert installation.settled("the same reports once more").wrong == []
    installation.settle()
    installation.power_cut()  # as the others found it
