"""Commands in comments: a closed list, at the start of a line, and never by accident."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.github.commands import NAMES, Order, beside_order, order_in


@pytest.mark.parametrize("word", sorted(NAMES.keys() - {"refine"}))
def test_every_command_is_understood_and_nothing_else_is_one(word: str) -> None:
    assert order_in(f"/amends {word}") == Order(NAMES[word], "")


@pytest.mark.parametrize(
    ("body", "order"),
    [
        ("/amends", Order("help", "")),
        ("/amends frobnicate", Order("help", "frobnicate")),
        ("/amends max_cycles=99", Order("help", "max_cycles=99")),
        ("/Amends RETRY now", Order("retry", "now")),
        ("Well.\r\n\r\n  /amends retry\r\nThanks.", Order("retry", "")),
        ("/amends refine one\ntwo", Order("refine", "one\ntwo")),
        ("/amends refine", Order("help", "refine")),
        ("/amends pause\n/amends resume", Order("pause", "")),
        ("<!-- a note -->\n/amends stop", Order("stop", "")),
        ("```\n/amends stop\n```\n/amends fix", Order("fix", "")),
    ],
)
def test_inv_29_what_stands_at_the_start_of_a_line_counts(body: str, order: Order) -> None:
    assert order_in(body) == order


@pytest.mark.parametrize(
    "body",
    [
        "", "please /amends retry", "> /amends retry", "`/amends retry`", "- /amends retry", "/amendsretry",
        "amends retry", "    /amends retry", "```\n/amends retry\n```", "~~~sh\n/amends retry",
        "<!-- /amends retry -->", "<!--\n/amends retry\n-->", "<!-- amends: 7-pr-1/cycle/1 -->\n/amends retry",
    ],
)  # fmt: skip
def test_inv_29_what_is_quoted_shown_or_hidden_does_not(body: str) -> None:
    assert order_in(body) is None


def test_a_secret_in_a_command_is_taken_out() -> None:
    assert order_in("/amends refine use ghp_" + "x" * 36) == Order("refine", "use [redacted]")


@given(st.text(st.characters(exclude_categories=()), max_size=300).map(lambda text: f"{text}\n/amends refine {text}"))
def test_no_text_is_too_strange(body: str) -> None:
    order = order_in(body)
    assert order is None or order.name in NAMES.values()


@pytest.mark.parametrize(
    ("body", "beside"),
    [
        ("no command\n", "no command\n"),
        ("/amends fix", ""),
        ("/amends fix now\n/amends pause", ""),
        ("Rename it.\n\n/amends fix\nThanks.", "Rename it.\n\nThanks."),
        ("Rename it.\n/amends refine use\na set", "Rename it."),
        ("```\n/amends stop\n```\n/amends fix", "```\n/amends stop\n```"),
        ("> /amends stop\n/amends fix", "> /amends stop"),
        ("/amends fix\n/amends refine not heard", ""),
    ],
)
def test_what_is_said_beside_a_command_is_feedback_and_the_command_is_not(body: str, beside: str) -> None:
    assert beside_order(body) == beside


@given(st.text(max_size=200))
def test_beside_its_commands_a_text_holds_none(body: str) -> None:
    assert order_in(beside_order(f"{body}\n/amends fix\n{body}")) is None
