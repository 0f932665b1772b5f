"""What another version of the code kept beside the log is folded again before anything is decided on it."""

from __future__ import annotations

from amends.common.log import Log
from amends.evaluator.audit import audit
from amends.evaluator.code import CODE
from amends.evaluator.refresh import refresh
from amends.evaluator.writer import Writer
from tests.support.scribe import scribe, tell_of_a_cycle


def test_views_of_another_version_are_folded_again(database_url: str, log: Log, writer: Writer) -> None:
    with scribe(database_url) as one:
        tell_of_a_cycle(one)
    with writer.transaction() as tx:
        stale = [row._replace(status="watching", n=9) for row in log.loops()]
        tx.save([row._replace(state=b"{}") for row in stale])
        tx.advance(tx.head._replace(code="0.0.0"))
    assert refresh(log, writer) == len(stale)
    assert audit(log).counts == {}
    assert log.head().code == CODE


def test_views_of_this_version_are_left_alone(database_url: str, log: Log, writer: Writer) -> None:
    with scribe(database_url) as one:
        tell_of_a_cycle(one)
    assert refresh(log, writer) == 0
