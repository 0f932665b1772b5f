"""The recorded form of a fact: what travels is what is stored, byte for byte, and a changed row shows."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from amends.common.envelope import (
    FACTS,
    GENESIS,
    Event,
    Row,
    UnknownFactError,
    cloud_event,
    decode,
    encode,
    event_id,
    event_of,
    moment,
    rehashed,
    row_from,
    row_of,
    subject,
)
from amends.common.events import AnyFact, FixPushed
from amends.common.identity import LOOP, About, loop_name
from amends.common.upcast import STEPS, Stored, upcast
from tests.support.examples import EXAMPLES, HEAD

PUSHED = Event(
    pos=5, loop="1-pr-7", version=4, key="cycle/1/pushed", time=1_772_452_800_000_001, source="publisher",
    actor="octo-bot", cause=3, policy="1.0", fact=FixPushed(n=1, sha=HEAD, items=("thread/501",)),
)  # fmt: skip
ROW = row_of(PUSHED, GENESIS)
# What a JSON column may hold, and what tempts a parser that looks for the data by its name.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    [',"data":', '\\",\\"data\\":', '"', "\\", "\u2028", "}", "😀", "\x1b", "\0"]
)
NUMBER = st.integers(0, 2**63 - 1)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Any row that the columns could hold, with any JSON object as its data."""
    data = draw(st.dictionaries(TEXT, st.recursive(TEXT | NUMBER | st.none(), st.lists, max_leaves=4), max_size=4))
    return Row(
        pos=draw(NUMBER), loop=draw(TEXT), version=draw(NUMBER), key=draw(TEXT), type=draw(TEXT),
        schema=draw(st.integers(1, 9)), time=draw(st.integers(0, 250_000_000_000_000_000)), source=draw(TEXT),
        actor=draw(TEXT), cause=draw(NUMBER | st.none()), policy=draw(TEXT),
        data=json.dumps(data, ensure_ascii=draw(st.booleans()), separators=(",", ":")).encode(),
        hash=draw(st.binary(min_size=32, max_size=32)),
    )  # fmt: skip


@given(rows())
def test_a_row_comes_back_from_its_cloud_event_byte_for_byte(row: Row) -> None:
    assert row_from(cloud_event(row)) == row


@given(rows())
def test_a_cloud_event_is_one_json_object_with_everything_in_it(row: Row) -> None:
    envelope = json.loads(cloud_event(row))
    assert envelope["data"] == json.loads(row.data)
    assert envelope["key"] == row.key


def test_an_event_looks_like_this_to_the_world() -> None:
    assert json.loads(cloud_event(ROW)) == {
        "specversion": "1.0",
        "id": "89850232-7854-51a6-bab6-c7f2eba57aac",
        "source": "amends/publisher",
        "type": "fix.pushed",
        "subject": "1-pr-7",
        "time": "2026-03-02T12:00:00.000001Z",
        "datacontenttype": "application/json",
        "loop": "1-pr-7",
        "pos": 5,
        "version": 4,
        "key": "cycle/1/pushed",
        "schema": 1,
        "actor": "octo-bot",
        "cause": 3,
        "policy": "1.0",
        "hash": ROW.hash.hex(),
        "data": {
            "n": 1,
            "sha": HEAD,
            "items": ["thread/501"],
            "adopted": False,
            "wrote": [],
            "ci_seconds": 0,
        },
    }


def test_cloud_events_attribute_names_are_lower_case_letters_and_digits_only() -> None:
    names = set(json.loads(cloud_event(ROW))) - {"data"}
    assert {name for name in names if not (name.isalnum() and name.islower() and len(name) <= 20)} == set()


@given(st.integers(0, 250_000_000_000_000_000))
def test_a_time_keeps_its_last_microsecond(time: int) -> None:
    assert moment(time) - moment(0) == timedelta(microseconds=time)


def test_the_same_intent_has_the_same_id_and_another_one_another() -> None:
    assert UUID(PUSHED.id) == UUID(event_id("1-pr-7", "cycle/1/pushed"))
    assert len({event_id("a", "b/c"), event_id("a/b", "c"), event_id("a", "b"), event_id("b", "a")}) == 4


def test_a_subject_names_the_loop_and_the_fact() -> None:
    assert subject("1-pr-7", "fix.pushed") == "events.1-pr-7.fix.pushed"


@given(st.text(max_size=30) | st.from_regex(LOOP), NUMBER | st.none(), NUMBER | st.none())
def test_inv_10_whatever_a_report_is_about_its_subject_is_of_plain_tokens(
    name: str, repo: int | None, number: int | None
) -> None:
    loops = {loop_name(About(repo=repo, number=number)) or "installation"}
    with suppress(ValidationError):
        loops |= {loop_name(About(loop=name)) or "installation"}
    subjects = [subject(loop, type_) for loop in loops for type_ in FACTS]
    assert [one for one in subjects if not re.fullmatch(r"events(\.[A-Za-z0-9_-]+){2,3}", one)] == []


@pytest.mark.parametrize("fact", EXAMPLES, ids=lambda fact: fact.type)
def test_a_fact_survives_being_stored_and_its_bytes_too(fact: AnyFact) -> None:
    data = encode(fact)
    assert decode(fact.type, 1, data) == fact
    assert encode(decode(fact.type, 1, data)) == data


def test_an_event_survives_being_stored() -> None:
    assert event_of(ROW) == PUSHED


# --- the chain -----------------------------------------------------------------------------------------------------

OTHER: dict[str, object] = {
    "pos": 6, "loop": "1-pr-8", "version": 5, "key": "cycle/2/pushed", "type": "push.refused", "schema": 2,
    "time": 1_772_452_800_000_002, "source": "fixer", "actor": "", "cause": None, "policy": "1.1", "data": b"{}",
}  # fmt: skip


def test_every_column_but_the_hash_is_in_the_chain() -> None:
    assert {*OTHER, "hash"} == {*Row._fields}


@pytest.mark.parametrize("column", OTHER)
def test_a_row_changed_in_one_column_has_another_hash(column: str) -> None:
    changed = ROW._replace(**{column: OTHER[column]})  # type: ignore[arg-type]  # each value fits its column
    assert rehashed(ROW, GENESIS) == ROW.hash
    assert rehashed(changed, GENESIS) != ROW.hash


def test_a_row_behind_another_row_has_another_hash() -> None:
    assert rehashed(ROW, b"\1" * 32) != ROW.hash


@given(rows(), st.integers(1, 30))
def test_nothing_moved_from_one_text_column_to_the_next_keeps_the_hash(row: Row, cut: int) -> None:
    joined = row.source + row.actor
    moved = row._replace(source=joined[:cut], actor=joined[cut:])
    assert (rehashed(moved, GENESIS) == rehashed(row, GENESIS)) == (moved == row)


# --- old and new schemas -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("type_", "schema"), [("fix.dreamed", 1), ("fix.pushed", 2)])
def test_what_is_newer_than_this_program_is_unknown_and_not_guessed(type_: str, schema: int) -> None:
    with pytest.raises(UnknownFactError, match=rf"{type_} schema {schema} is newer than this program"):
        decode(type_, schema, b"{}")


def renamed(stored: Stored) -> Stored:
    return {**{name: value for name, value in stored.items() if name != "commit"}, "sha": stored["commit"]}


def listed(stored: Stored) -> Stored:
    return {**stored, "items": [stored["items"]]}


MADE_UP = {"fix.pushed": {1: renamed, 2: listed}}


def test_an_old_event_is_brought_up_step_by_step() -> None:
    old: Stored = {"n": 1, "commit": HEAD, "items": "thread/501"}
    assert FixPushed.model_validate(upcast("fix.pushed", 1, 3, old, MADE_UP)) == PUSHED.fact


def test_a_newer_event_skips_the_steps_that_it_does_not_need() -> None:
    assert upcast("fix.pushed", 2, 3, {"items": "thread/501"}, MADE_UP) == {"items": ["thread/501"]}


def test_a_missing_step_is_an_error_and_not_half_an_event() -> None:
    with pytest.raises(LookupError, match=r"fix\.pushed has no step from schema 3"):
        upcast("fix.pushed", 1, 4, {"n": 1, "commit": HEAD, "items": "thread/501"}, MADE_UP)


def test_every_old_schema_has_its_step() -> None:
    old = {(type_, schema) for type_, cls in FACTS.items() for schema in range(1, cls.schema_version)}
    assert old == {(type_, schema) for type_, steps in STEPS.items() for schema in steps}


def test_the_log_s_dates_are_dates_of_utc() -> None:
    assert moment(1_772_452_800_000_001) == datetime.fromisoformat("2026-03-02T12:00:00.000001+00:00")
