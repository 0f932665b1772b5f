"""Reading a report: either a Report, or a refusal that names the field and the remedy. Never an accident."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.answers import PARKED, Malformed, Refused, Report, has_nul, parse
from amends.common.envelope import MAX_ENVELOPE
from amends.common.events import AnyFact
from tests.support.examples import EXAMPLES, REPORTED

VALID: list[bytes] = [
    Report.model_validate({"fact": fact, "about": {"repo": 1, "number": 7}}).model_dump_json(by_alias=True).encode()
    for fact in EXAMPLES
]
CLOSED = '{"fact":{"type":"pr.closed","merged":true,"updated_at":"2026-03-02T12:00:00Z"},"about":{"repo":1,"number":7}}'
PUSHED = '{"fact":{"type":"fix.pushed","n":1,"sha":"","items":["%s"]},"about":{"repo":1,"number":7}}'
ABOUT = '"about":{"repo":1,"number":7}'


def refusal(raw: bytes | str) -> Refused:
    with pytest.raises(Malformed) as caught:
        parse(raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw)
    return caught.value.refused


@pytest.mark.parametrize("fact", REPORTED, ids=lambda fact: fact.type)
def test_every_fact_can_be_reported(fact: AnyFact) -> None:
    report = Report(fact=fact)
    assert parse(report.model_dump_json(by_alias=True).encode()).fact == fact


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        ("", "the report: Invalid JSON: EOF while parsing a value at line 1 column 0: send one JSON object"),
        ("fix it", "the report: Invalid JSON: expected ident at line 1 column 2: send one JSON object in UTF-8"),
        ("\ufeff" + CLOSED, "the report: Invalid JSON: expected value at line 1 column 1: send one JSON object"),
        (CLOSED + CLOSED, "the report: Invalid JSON: trailing characters"),
        ("[]", "the report: Input should be an object"),
        ("{}", "fact: Field required: add it"),
        ('{"fact":{}}', "fact: Unable to extract tag using discriminator 'type': docs/events.md"),
        (CLOSED.replace("true", "7"), "fact.pr.closed.merged: Input should be a valid boolean"),
        (CLOSED.replace("true", "NaN"), "fact.pr.closed.merged: Input should be a valid boolean"),
        (CLOSED.replace('"merged":true,', ""), "fact.pr.closed.merged: Field required: add it"),
        (CLOSED.replace('"merged"', '"\\n\\u001b[31m":1,"merged"'), "fact.pr.closed.?[31m: Extra inputs"),
        (CLOSED.replace("2026-03-02T12:00:00Z", "2026-03-02T12:00:00"), "fact.pr.closed.updated_at: Input should have"),
        (CLOSED.replace('"repo":1', '"repo":1e400'), "about.repo: Input should be a"),
        (CLOSED.replace('"repo":1', '"repo":9223372036854775808'), "about.repo: Input should be less than or equal"),
        (CLOSED.replace('"repo":1', '"repo":' + "9" * 5_000), "the report: Invalid JSON: number out of range"),
        (CLOSED.replace(ABOUT, '"about":{"loop":"installation\\n"}'), "about.loop: String should match pattern"),
        ('{"fact":' * 20_000, "the report: Invalid JSON: recursion limit exceeded"),
        (CLOSED.replace("true", "[" * 20_000), "the report: Invalid JSON: recursion limit exceeded"),
    ],
)  # fmt: skip
def test_a_malformed_report_is_refused_with_its_field_and_a_remedy(raw: str, detail: str) -> None:
    refused = refusal(raw)
    assert (refused.reason, refused.detail[: len(detail)]) == ("malformed", detail)


@pytest.mark.parametrize(
    "raw",
    [
        PUSHED % "\0",
        PUSHED % "\\u0000",
        PUSHED % "\\\\\\u0000",
        PUSHED % "\\ud800",
        PUSHED % "\\udc00 alone",
        PUSHED % "\ud800",
        (PUSHED % "?").encode().replace(b"?", b"\xff"),
    ],
)
def test_text_that_no_store_keeps_is_hostile(raw: bytes | str) -> None:
    refused = refusal(raw)
    assert refused.reason == "hostile_text"
    assert refused.detail.startswith("the report: ")


@pytest.mark.parametrize("text", ["\\\\u0000", "\\\\\\\\u0000", "u0000", "\\ud83d\\ude00", "\\u0001\\u001b"])
def test_text_that_only_looks_hostile_is_taken(text: str) -> None:
    fact = parse((PUSHED % text).encode()).fact
    assert fact.model_dump()["items"] == (json.loads(f'"{text}"'),)


@given(st.text(st.sampled_from("\\u0\0a")))
def test_a_nul_is_found_in_json_exactly_if_it_is_there(text: str) -> None:
    assert has_nul(json.dumps(text).encode()) == ("\0" in text)


def test_an_oversized_report_is_refused_before_it_is_read() -> None:
    refused = refusal(b"{" * (MAX_ENVELOPE + 1))
    assert refused == Refused("oversized", "the report: 262145 bytes, at most 262144: put a blob")


@pytest.mark.parametrize(
    ("raw", "reason", "detail"),
    [
        (CLOSED.replace("pr.closed", "pr.dreamed"), "unknown_type", "fact: no fact is called 'pr.dreamed': docs/"),
        (CLOSED.replace("pr.closed", "\\u001b[2J"), "unknown_type", "fact: no fact is called '\\x1b[2J': docs/"),
        (CLOSED.replace('"pr.closed"', "5"), "unknown_type", "fact: no fact is called '5': docs/"),
        (CLOSED.replace("pr.closed", "pr.created"), "reserved", "fact: pr.created is reserved for a later version: "),
        (CLOSED[:-1] + ',"schema":2}', "unknown_version", "schema: pr.closed has schema 1 here, not 2: upgrade"),
        (CLOSED.replace(ABOUT, '"about":{"number":7}'), "not_addressed", "about: give repo and number, repo alone"),
        (CLOSED.replace(ABOUT, '"about":{"repo":1,"loop":"installation"}'), "not_addressed", "about: give repo and"),
    ],
)
def test_a_report_that_can_be_read_but_not_placed_says_why(raw: str, reason: str, detail: str) -> None:
    refused = refusal(raw)
    assert (refused.reason, refused.detail[: len(detail)]) == (reason, detail)


def test_a_fact_of_a_newer_schema_is_not_blamed_for_the_fields_that_only_that_schema_has() -> None:
    assert refusal(CLOSED.replace('"merged"', '"outcome"')[:-1] + ',"schema":2}').reason == "unknown_version"


def test_of_a_field_that_is_given_twice_the_last_counts() -> None:
    fact = parse(CLOSED.replace('"merged":true', '"merged":false,"merged":true').encode()).fact
    assert fact.model_dump()["merged"] is True


def test_bytes_that_are_bad_in_themselves_are_kept_for_a_human() -> None:
    bad = {"malformed", "oversized", "unknown_type", "unknown_version", "hostile_text", "not_addressed", "unstorable"}
    assert bad == PARKED


def test_a_hundred_thousand_mistakes_cost_no_more_than_one() -> None:
    """A refusal needs one error; collecting them all took the recorder most of a second."""
    mistakes = ",".join(["{}"] * 80_000)
    raw = f'{{"fact":{{"type":"comments.fetched","n":1,"k":1,"head":"","items":[{mistakes}]}},{ABOUT}}}'
    with pytest.raises(Malformed) as caught:
        parse(raw.encode())
    cause = caught.value.__cause__
    assert getattr(cause, "error_count", int)() < 10


def taken_or_refused(raw: bytes) -> None:
    try:
        parse(raw)
    except Malformed as malformed:
        field, _, remedy = malformed.refused.detail.partition(": ")
        assert field.isprintable()
        assert remedy.isprintable()
        assert 0 < len(remedy) < 1_000


@given(st.binary(max_size=300))
def test_random_bytes_are_refused_and_nothing_worse(raw: bytes) -> None:
    taken_or_refused(raw)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text() | st.integers(), st.lists, max_leaves=5))
def test_random_values_in_the_place_of_a_fact_are_refused_and_nothing_worse(value: object) -> None:
    taken_or_refused(json.dumps({"fact": value}).encode())
    taken_or_refused(json.dumps({"fact": {"type": value}}).encode())
    taken_or_refused(json.dumps(value).encode())


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.lists(st.integers()),
    st.dictionaries(st.text(max_size=5), st.integers()), st.datetimes(timezones=st.timezones()).map(str),
    st.sampled_from(["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", 10**400, "x" * 70_000, ""]),
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid report with the value at one place replaced, or moved to a field that nobody knows."""
    report = json.loads(draw(st.sampled_from(VALID)))
    inside, name = draw(st.sampled_from(list(places(report))))
    if draw(st.booleans()):
        inside[name] = draw(VALUES)
    else:
        inside[draw(st.text(max_size=10))] = inside.pop(name)
    return json.dumps(report).encode()


def places(value: Any) -> Iterator[tuple[dict[str, object], str]]:
    """Every named value in it, with the object that it is in."""
    for inner in value if isinstance(value, list) else ():
        yield from places(inner)
    for name, inner in value.items() if isinstance(value, dict) else ():
        yield value, name
        yield from places(inner)


@given(mutated())
def test_a_valid_report_with_something_changed_is_taken_or_refused_and_nothing_worse(raw: bytes) -> None:
    taken_or_refused(raw)


@given(st.sampled_from(VALID), st.integers(0, 10_000), st.binary(max_size=3))
def test_a_valid_report_with_damaged_bytes_is_taken_or_refused_and_nothing_worse(
    raw: bytes, at: int, damage: bytes
) -> None:
    at %= len(raw)
    taken_or_refused(raw[:at] + damage + raw[at + len(damage) :])
    taken_or_refused(raw[:at])
