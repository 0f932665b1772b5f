"""Every event that was ever stored can be read, folded and understood, for ever."""

from __future__ import annotations

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.envelope import FACTS, GENESIS, encode, event_of, rehashed
from amends.common.loop import Loop, evolve
from amends.common.policy import Policy
from amends.common.standing import counting, requests, status, timers
from amends.common.state import dump, load
from tests.support.corpus import ADD, SINGLES, STORY, Line, folded, read, written

PARTS = (SINGLES, STORY)
LINES = [line for part in PARTS for line in read(part)]


def called(line: Line) -> str:
    return f"{line.row.pos} {line.row.type}"


def test_every_type_and_schema_that_is_written_today_is_in_the_corpus() -> None:
    today = {(type_, cls.schema_version) for type_, cls in FACTS.items()}
    assert today - written() == set(), f"{ADD} appends what is missing; give tests/support/examples.py an example first"


def test_every_schema_that_ever_was_is_in_the_corpus() -> None:
    ever = {(type_, schema) for type_, cls in FACTS.items() for schema in range(1, cls.schema_version + 1)}
    assert ever - written() == set(), "an old example was removed: the corpus only grows"


@pytest.mark.parametrize("part", PARTS)
def test_no_stored_row_was_changed(part: str) -> None:
    rows = [line.row for line in read(part)]
    previous = [GENESIS, *(row.hash for row in rows)]
    assert [row.pos for row, before in zip(rows, previous, strict=False) if rehashed(row, before) != row.hash] == []


@pytest.mark.parametrize("line", LINES, ids=called)
def test_a_stored_fact_is_still_unique_for_the_same_reason(line: Line) -> None:
    fact = event_of(line.row).fact
    assert line.row.key == (f"{fact.key}/{line.row.key.rpartition('/')[2]}" if fact.slot else fact.key)


@pytest.mark.parametrize("line", LINES, ids=called)
def test_a_stored_fact_still_says_all_that_it_said(line: Line) -> None:
    fact = event_of(line.row).fact
    assert line.row.schema < fact.schema_version or kept(json.loads(line.row.data), json.loads(encode(fact)))


def kept(before: object, now: object) -> bool:
    """Whether all of `before` is in `now`, which may have grown."""
    if isinstance(before, dict) and isinstance(now, dict):
        return all(name in now and kept(value, now[name]) for name, value in before.items())
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and all(kept(*pair) for pair in zip(before, now, strict=True))
    return before == now


@pytest.mark.parametrize("part", PARTS)
def test_stored_events_make_of_a_loop_what_they_always_made(part: str) -> None:
    lines = read(part)
    assert [(row.pos, then) for row, _, then in folded([line.row for line in lines])] == [
        (line.row.pos, line.then) for line in lines
    ], "if that is right: python -m tests.support.corpus again"


@pytest.mark.parametrize("part", PARTS)
def test_a_folded_loop_survives_being_stored(part: str) -> None:
    loops = {loop.id: loop for _, loop, _ in folded([line.row for line in read(part)])}
    assert {name: load(dump(loop)) for name, loop in loops.items()} == loops


@cache
def events() -> list[Line]:
    return [line for line in LINES if line.row.loop == "1-pr-7"]


@given(st.lists(st.sampled_from(range(len(events()))), min_size=1, max_size=60))
def test_evolve_takes_every_fact_in_any_order_any_number_of_times(order: list[int]) -> None:
    loop = Loop("1-pr-7")
    for version, place in enumerate(order, 1):
        event = event_of(events()[place].row)._replace(pos=version, version=version, time=version * 1_000_000)
        loop = evolve(loop, event)
    policy = Policy(enabled=True)
    assert loop.version == len(order)
    assert status(loop, policy)
    assert len(timers(loop, policy)) + len(requests(loop, policy)) + len(counting(loop, policy)) >= 0
