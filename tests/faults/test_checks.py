"""The checks see what they are there to see: a log and a mirror that somebody has tampered with."""

from contextlib import closing

import pytest

from amends.common.answers import Recorded, Report
from amends.common.bus.consumers import Consumers
from amends.common.bus.link import Link
from amends.common.bus.mirror import Mirror
from amends.common.log import Log
from tests.faults.support.checks import Findings, examined, stored
from tests.faults.support.ledger import Ledger
from tests.faults.support.reflection import compared
from tests.faults.support.team import Pull, chatter
from tests.faults.support.wire import through
from tests.support.facts import EVE
from tests.support.nats import NatsServer
from tests.support.scribe import scribe, tamper

pytestmark = pytest.mark.faults
PULL = Pull(1)
FACTS = chatter(PULL, 1, EVE)


@pytest.fixture
def ledger(sqlite_url: str, nats: NatsServer) -> Ledger:
    """A log of a few facts, its mirror, and a ledger that says what was answered."""
    book = Ledger()
    with scribe(sqlite_url) as one:
        for fact, answer in zip(FACTS, one.tell(*FACTS, about=PULL.about), strict=True):
            report = Report(fact=fact, about=PULL.about)
            book.sending(report)
            book.answered(report, answer)
    through(nats.url, lambda link: mirror(link, sqlite_url))
    return book


async def mirror(link: Link, database: str) -> None:
    with closing(Log(database)) as log:
        await Mirror(link).create(1, log.head().epoch)
        await Mirror(link).publish(log.rows(0))
        await Consumers(link).ensure({}, 1)


def found(ledger: Ledger, database: str, nats: NatsServer) -> Findings:
    findings = examined(database, ledger, twice=True)
    findings.mirrored, findings.differing = compared(stored(database), database, nats.url)
    return findings


def test_a_sound_log_has_nothing_wrong_with_it(ledger: Ledger, sqlite_url: str, nats: NatsServer) -> None:
    assert found(ledger, sqlite_url, nats).wrong == []
    assert found(ledger, sqlite_url, nats).mirrored == len(FACTS) + 1  # and the loop was opened


def test_a_lost_event_shows(ledger: Ledger, sqlite_url: str, nats: NatsServer) -> None:
    tamper(sqlite_url, "DELETE FROM events WHERE pos = 3")
    findings = found(ledger, sqlite_url, nats)
    assert [bool(wrong) for wrong in (findings.lost, findings.gaps, findings.differing)] == [True, True, True]


def test_a_lost_tail_shows_although_the_rest_is_whole(ledger: Ledger, sqlite_url: str, nats: NatsServer) -> None:
    tamper(
        sqlite_url, "DELETE FROM events WHERE pos = (SELECT max(pos) FROM events)",
        "UPDATE head SET (pos, hash, time) = (SELECT pos, hash, time FROM events ORDER BY pos DESC LIMIT 1)",
    )  # fmt: skip
    findings = found(ledger, sqlite_url, nats)
    assert [bool(wrong) for wrong in (findings.lost, findings.gaps, findings.differing)] == [True, False, True]


def test_a_changed_event_shows(ledger: Ledger, sqlite_url: str, nats: NatsServer) -> None:
    other = "CAST(replace(CAST(data AS TEXT), 'C1001', 'C9') AS BLOB)"
    tamper(sqlite_url, f"UPDATE events SET data = {other} WHERE pos = 1")  # noqa: S608 - our own words
    findings = found(ledger, sqlite_url, nats)
    assert [bool(wrong) for wrong in (findings.lost, findings.gaps, findings.differing)] == [True, True, True]


def test_the_same_report_under_two_keys_shows(ledger: Ledger, sqlite_url: str, nats: NatsServer) -> None:
    columns = "type, schema, time, source, actor, cause, policy, data, hash FROM events WHERE pos = 1"
    tamper(sqlite_url, f"INSERT INTO events SELECT 99, loop, 99, 'again', {columns}")
    assert len(found(ledger, sqlite_url, nats).doubled) == 1


def test_an_answer_that_was_given_twice_shows(ledger: Ledger) -> None:
    ledger.answered(Report(fact=FACTS[1], about=PULL.about), Recorded(1))
    assert len(ledger.doubled) == 1


def test_what_nobody_reported_shows(ledger: Ledger, sqlite_url: str, nats: NatsServer) -> None:
    ledger.sent.clear()
    assert len([what for what in found(ledger, sqlite_url, nats).other if "nobody" in what]) == len(FACTS)


def test_a_projection_that_is_off_shows(ledger: Ledger, sqlite_url: str, nats: NatsServer) -> None:
    tamper(sqlite_url, "UPDATE loops SET title = 'another' WHERE loop = '1-pr-1'")
    assert len([what for what in found(ledger, sqlite_url, nats).other if "1-pr-1" in what]) == 2
