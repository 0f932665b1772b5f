"""What travels: every answer comes back as it was, and nonsense is never taken for one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.answers import Already, Answer, Go, Recorded, Refused, Stop, Unavailable
from amends.common.bus import wire
from amends.common.events import FixStarted
from tests.support.chain import command, fetched, push

CLAIM = FixStarted(n=2, k=1, holder="fixer-0", run="run-1")
ANSWERS: list[Answer] = [
    Recorded(7),
    Already(7),
    *(Already(7, fact) for fact in (CLAIM, command("c"), push(1), fetched(3))),
    Refused("busy", "somebody else holds it", 12.5),
    Refused("malformed", 'n: not \ud800 a number "\n'),
    Unavailable("the log cannot be written"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
def test_an_answer_comes_back_as_it_was(answer: Answer) -> None:
    assert wire.answer_from(wire.answer_bytes(answer)) == answer


@pytest.mark.parametrize("leave", [Go(), Stop("paused"), Unavailable("no answer")], ids=str)
def test_a_leave_comes_back_as_it_was(leave: Go | Stop | Unavailable) -> None:
    assert wire.leave_from(wire.leave_bytes(leave)) == leave


def test_a_claim_in_a_form_we_do_not_know_is_no_grant() -> None:
    assert wire.answer_from(b'{"already":7,"fact":{"type":"fix.started","shape":"new"}}') == Already(7, None)


JSON = st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda value: json.dumps(value).encode())


@given((st.binary() | JSON).filter(lambda raw: not raw.lstrip().startswith(b"{")))
def test_any_other_bytes_are_an_answer_we_cannot_read(raw: bytes) -> None:
    assert isinstance(wire.answer_from(raw), Unavailable)
    assert isinstance(wire.leave_from(raw), Unavailable)


@given(st.binary(max_size=64))
def test_any_other_bytes_are_no_part_of_a_blob(raw: bytes) -> None:
    assert wire.chunk_from(raw) is None


@pytest.mark.parametrize("size", [0, 1, wire.CHUNK, wire.CHUNK + 1, 3 * wire.CHUNK])
def test_a_blob_is_the_sum_of_its_parts(size: int) -> None:
    content = bytes(range(256)) * (size // 256 + 1)
    parts = [wire.chunk_from(wire.chunk_bytes(part)) for part in wire.chunks(content[:size])]
    assert b"".join(part.data for part in parts if part) == content[:size]
    assert [part and (part.n, part.of, part.size) for part in parts] == [
        (n, len(parts), size) for n in range(len(parts))
    ]
