"""Everything in one process, where reports are direct calls: the log takes them whatever becomes of NATS."""

import pytest

from amends.common.answers import Already, Recorded, Report
from amends.common.bus.mirror import Mirror
from amends.common.settings import Settings
from amends.evaluator.app import Evaluator
from tests.connected.support.evaluating import evaluating
from tests.faults.support.team import Pull, chatter
from tests.support.asynchronous import asynchronous, until
from tests.support.facts import EVE
from tests.support.nats import NatsServer, linked

pytestmark = pytest.mark.connected
PULL = Pull(1)
FACTS = [fact for n in range(1, 6) for fact in chatter(PULL, n, EVE)]


async def recorded(evaluator: Evaluator) -> list[type]:
    reports = [Report(fact=fact, about=PULL.about) for fact in FACTS]
    return [type(await evaluator.recorder.report("gateway", report)) for report in reports]


@asynchronous
async def test_the_log_takes_reports_while_nats_is_down_and_the_mirror_catches_up(
    sqlite_url: str, nats: NatsServer
) -> None:
    async with evaluating(Settings(database=sqlite_url), nats.url) as evaluator:
        nats.kill()
        assert await recorded(evaluator) == [Recorded] * len(FACTS)
        await until(lambda: evaluator.checks()["mirror"].startswith("failing"))
        nats.start()
        await until(lambda: evaluator.relay.lag == 0 and evaluator.checks()["mirror"] == "ok")
        assert await recorded(evaluator) == [Already] * len(FACTS)


@asynchronous
async def test_what_was_recorded_before_nats_was_lost_for_good_is_mirrored_by_the_next_one(
    sqlite_url: str, nats: NatsServer
) -> None:
    async with evaluating(Settings(database=sqlite_url), nats.url) as evaluator:
        nats.kill()
        await recorded(evaluator)
        head = evaluator.log.head()
    nats.wipe()
    async with evaluating(Settings(database=sqlite_url), nats.url), linked(nats.url) as link:
        state = await Mirror(link).state()
        assert state is not None
        assert (state.last, state.epoch) == (head.pos, head.epoch)
