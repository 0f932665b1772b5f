"""The services' process against a real evaluator: killed anywhere, it does every step and every effect once."""

import pytest

from tests.connected.support.yard import working

pytestmark = [pytest.mark.connected, pytest.mark.faults]


def test_a_service_killed_again_and_again_does_everything_once() -> None:
    with working(seconds=0.03) as yard:
        yard.kill_the_crew(times=4)
        assert yard.installation.settled("kill -9 of the services", times=4).wrong == []
        assert yard.amiss() == []


def test_a_service_does_everything_once_while_the_mirror_is_lost_and_rebuilt() -> None:
    with working() as yard:
        yard.installation.suffer(yard.installation.nats.wipe, times=2, work=20)
        yard.installation.suffer(yard.installation.nats.restart, times=2, work=20)
        assert yard.installation.settled("mirror wiped below the services", times=4).wrong == []
        assert yard.amiss() == []


def test_a_service_asked_to_stop_hands_back_what_it_has_and_strands_nothing() -> None:
    with working() as yard:
        yard.installation.progress(40)
        assert yard.crew.stop(seconds=5) == 0
        assert yard.stranded() == {}
