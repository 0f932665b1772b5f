"""No room left: nothing is acknowledged that was not stored, and with room again it all goes on without repair."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.support.disks import filled, must_be_mounted, no_room, small_disk
from tests.faults.support.installation import Installation, installation_on, up_at
from tests.faults.support.processes import page, wait_for

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A disk of its own for the mirror, where one can be mounted."""
    with small_disk(tmp_path_factory.mktemp("disks") / "small", 64) as folder:
        yield folder


@pytest.fixture(scope="module")
def installation(disk: Path) -> Iterator[Installation]:
    with installation_on(disk) as one:
        one.evaluator().ready()
        yield one


def test_a_log_without_room_for_one_more_byte_acknowledges_nothing(installation: Installation) -> None:
    installation.progress()
    with no_room(installation.evaluators[0].pid):
        installation.wait_for_unready("the log cannot be written")
        installation.stands_still(seconds=0.5)
    assert installation.settled("no room for the log").wrong == []


def test_a_mirror_without_room_is_nothing_to_the_log(installation: Installation, disk: Path) -> None:
    must_be_mounted(disk)
    with filled(disk):
        installation.wait_for_unready("was not mirrored")
        installation.progress()
    installation.nats.restart()  # else it takes nothing more: nats-server#7788
    assert installation.settled("no room for the mirror").wrong == []


@pytest.mark.faults_long
def test_a_full_disk_under_the_log_acknowledges_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 32) as disk, installation_on(tmp_path, f"sqlite:///{disk}/log.db") as one:
        must_be_mounted(disk)
        one.evaluator().ready()
        one.progress()
        with filled(disk):
            one.wait_for_unready("the log cannot be written")
            one.stands_still(seconds=0.5)
        assert one.settled("a full disk under the log").wrong == []


@pytest.mark.faults_long
def test_up_restarts_its_nats_server_after_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", 64) as disk:
        must_be_mounted(disk)
        with up_at(disk, f"sqlite:///{tmp_path}/log.db") as up:
            with filled(disk):
                wait_for(lambda: "was not mirrored" in page(f"{up.ops}/readyz")[1], "it says what is wrong")
            wait_for(lambda: page(f"{up.ops}/readyz")[0] == 200, "it is ready again", seconds=60)
            assert up.stop() == 0
