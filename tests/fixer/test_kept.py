"""What is known of a workspace, written and read: also what was written before."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.fixer.inventory import Print, Sight, Thing
from amends.fixer.kept import Kept
from tests.support.walks import examples

NUMBERS = st.integers(0, 2**63)
THINGS = st.builds(
    Thing, st.sampled_from(("100644", "100755", "000000")), st.text("0123456789abcdef"),
    st.builds(Print, NUMBERS, NUMBERS, NUMBERS),
)  # fmt: skip
PATHS = st.text(st.characters(), min_size=1)
SIGHTS = st.builds(Sight, st.dictionaries(PATHS, THINGS), st.frozensets(PATHS))
SOME = Kept("b" * 40, Sight({"d/a\udcff": Thing("100644", "c" * 40, Print(1, 2, 3))}, frozenset({"d"})), 4.5)
BEFORE = {"base": "b" * 40, "used": 4.5, "folders": ["d"], "things": {"d/a\udcff": ["100644", "c" * 40, 1, 2, 3]}}


@examples(100)
@given(SIGHTS)
def test_what_was_written_is_read(sight: Sight) -> None:
    kept = Kept("b" * 40, sight, 1.5)
    again = Kept.read(kept.written())
    assert (again, list(again.sight.things)) == (kept, list(sight.things))


def test_what_is_read_is_of_the_same_kinds() -> None:
    thing = Kept.read(SOME.written()).sight.things["d/a\udcff"]
    assert (type(thing), type(thing.print)) == (Thing, Print)


def test_what_was_written_before_there_were_columns_is_read() -> None:
    assert Kept.read(json.dumps(BEFORE)) == SOME


@pytest.mark.parametrize("how", ["", "[]", "{}", "7", SOME.written()[:-9], SOME.written().replace("[1]", "[1, 2]")])
def test_what_is_broken_is_not_taken_for_something(how: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError)):
        Kept.read(how)
