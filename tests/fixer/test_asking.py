"""What somebody else's agent may ask the endpoint for, and what is heard of the answer as it passes."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.doubles.model import Says, Uses
from amends.doubles.model.script import events, message
from amends.fixer.asking import Unfit, asked
from amends.fixer.dialogue import Tokens
from amends.fixer.heard import Heard

WELL: dict[str, Any] = {"model": "claude-x", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
REPLY = Says(("Words, many of them.", Uses("edit", {"path": "a", "new": "b" * 99})), output_tokens=77)
USAGE = {
    "input_tokens": 5, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 40, "output_tokens": 77,
    "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
}  # fmt: skip
SAID = message(1, "claude-x", REPLY, USAGE)
STREAM = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events(SAID, REPLY)).encode()
TOKENS = Tokens(fresh=5, written=10, read=40, said=77, kept=20)


FETCHED = "nothing that would have to be fetched"


def request(**other: Any) -> bytes:
    return json.dumps({**WELL, **other}).encode()


def test_what_a_client_runs_itself_may_be_asked_for() -> None:
    tools = [{"name": "a", "input_schema": {}}, {"type": "custom", "name": "b"}, {"type": "bash_20250124", "name": "c"}]
    found = asked(request(tools=tools, stream=True, system="Be good.", thinking={"type": "adaptive"}))
    assert (found.model, found.most, found.streams, found.system) == ("claude-x", 9, True, "Be good.")


def test_what_stands_there_twice_is_sent_on_as_it_was_looked_at() -> None:
    more = b'"max_tokens": 128000, "tools": [{"type": "x"}], "max_tokens": 9, "tools": []'
    twice = request().replace(b'"max_tokens": 9', more)
    assert b"128000" not in asked(twice).body
    assert json.loads(asked(twice).body) == {**WELL, "tools": []}


def test_what_a_tool_was_called_with_is_data_whatever_it_says() -> None:
    block = {"type": "tool_use", "id": "x", "name": "y", "input": {"source": {"type": "url"}}}
    assert asked(request(messages=[{"role": "assistant", "content": [block]}])).messages[0]["content"] == [block]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the body: JSON"),
        (b"[" * 100_000, "the body: JSON"),
        (b"[]", "the body: an object"),
        (request(model=""), "model"),
        (request(model=["x"]), "model"),
        (request(max_tokens=None), "max_tokens"),
        (request(max_tokens=True), "max_tokens"),
        (request(max_tokens=-1), "max_tokens"),
        (request(messages={}), "messages"),
        (request(messages=["x"]), "messages"),
        (request(tools={"type": "x"}), "tools"),
        (request(tools=[{"type": None}]), "tools"),
        (request(inference_geo="us"), "inference_geo: not taken here"),
        (request(messages=[{"content": [{"content": [{"source": {"type": "url"}}]}]}]), FETCHED),
        (request(system=[{"source": {"type": "file"}}]), FETCHED),
        (request(messages=[{"content": json.loads("[" * 40 + "]" * 40)}]), FETCHED),
    ],
)  # fmt: skip
def test_inv_30_what_leads_further_is_refused_by_name(body: bytes, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        asked(body)


NAMES = st.sampled_from(["messages", "source", "type", "tools", "content", "model", "max_tokens"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda one: st.lists(one) | st.dictionaries(NAMES, one),
    max_leaves=20,
)


@given(VALUES)
def test_whatever_is_sent_is_taken_or_refused(value: object) -> None:
    try:
        asked(json.dumps(value).encode())
    except Unfit:
        return


@given(st.lists(st.integers(1, len(STREAM) - 1), max_size=20))
def test_a_stream_is_understood_however_it_is_cut_into_pieces(cuts: list[int]) -> None:
    heard, places = Heard(streams=True), [0, *sorted(set(cuts)), len(STREAM)]
    for start, end in pairwise(places):
        heard.feed(STREAM[start:end])
    heard.end()
    assert (heard.tokens, heard.stop, heard.fault) == (TOKENS, "tool_use", "")
    assert heard.content[0]["text"] == "Words, many of them."
    assert json.loads(heard.content[1]["partial_json"]) == {"path": "a", "new": "b" * 99}


def test_a_reply_in_one_piece_is_understood() -> None:
    heard = Heard(streams=False)
    heard.feed(json.dumps(SAID).encode())
    heard.end()
    assert (heard.tokens, heard.stop, heard.message["content"]) == (TOKENS, "tool_use", SAID["content"])


@given(st.integers(0, len(STREAM)))
def test_a_stream_that_was_cut_never_costs_less_than_what_came(end: int) -> None:
    heard = Heard(streams=True)
    heard.feed(STREAM[:end])
    heard.end()
    assert heard.tokens.said >= min(77, end // 3)


@given(st.binary(max_size=300), st.booleans())
def test_rubbish_costs_what_it_weighs_and_breaks_nothing(rubbish: bytes, streams: bool) -> None:
    heard = Heard(streams=streams)
    heard.feed(b"data:" + rubbish)
    heard.end()
    assert heard.tokens.said >= len(rubbish) // 3
