"""What a review agent prints, read as a review: exactly, or not at all."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amends.common.events import Finding
from amends.common.policy import Severity
from amends.gateway.outside import Opinion, Unclear, opinion

REJECTED = """Some thoughts first.

REVIEW_RESULT: changes_requested
FINDINGS_COUNT: 2
SEVERITY: high
SUMMARY: The token is logged, and the retry never stops."""


def test_a_rejection_is_its_summary_with_its_severity() -> None:
    read = opinion(REJECTED)
    (finding,) = read.findings
    assert (read.approved, finding.severity) == (False, Severity.HIGH)
    assert finding.text == read.summary == "The token is logged, and the retry never stops."


@pytest.mark.parametrize("word", ["approved", "APPROVED", "approve", "pass", "**approved**", "`approved`", "Approved."])
def test_an_approval_is_read_in_the_ways_in_which_agents_write_it(word: str) -> None:
    assert opinion(f"REVIEW_RESULT: {word}\nFINDINGS_COUNT: 0\nSEVERITY: none\nSUMMARY: Fine.").approved


@pytest.mark.parametrize(
    "text",
    ["", "looks good to me", "REVIEW_RESULT:", "REVIEW_RESULT: maybe", "REVIEW_RESULT: <approved|changes_requested>"],
)
def test_nothing_said_is_not_approval(text: str) -> None:
    with pytest.raises(Unclear, match="REVIEW_RESULT: write approved or changes_requested"):
        opinion(text)


@pytest.mark.parametrize(
    "text",
    [
        "1. REVIEW_RESULT: rejected\n2. SUMMARY: it leaks\n",
        "REVIEW_RESULT: \N{CROSS MARK} CHANGES_REQUESTED\nSUMMARY: it leaks",
        "REVIEW_RESULT: CHANGES_REQUESTED - two problems\nSUMMARY: it leaks",
        "\x1b[31mREVIEW_RESULT: reject\x1b[0m\nSUMMARY: \x1b[1mit leaks\x1b[0m",
        "\ufeffREVIEW_RESULT=changes_requested\nSUMMARY = it leaks",
        "```text\r\n**Review_Result:** `changes requested`\r\n**Summary**: it leaks\r\n```\r\nBye.",
    ],
)
def test_a_rejection_is_read_in_the_ways_in_which_agents_print_it(text: str) -> None:
    assert opinion(text) == Opinion(False, "it leaks", (Finding(text="it leaks", severity=Severity.MEDIUM),))


def test_a_summary_is_not_cut_at_an_empty_line() -> None:
    said = opinion("REVIEW_RESULT: changes_requested\nSUMMARY:\n\n- one\n- two\n\n- three\n")
    assert said.summary == "- one\n- two\n\n- three"


@pytest.mark.parametrize("words", ["approved if it is fixed", "not approved", "changes_requested | approved"])
def test_what_may_be_an_approval_and_may_be_none_is_refused(words: str) -> None:
    with pytest.raises(Unclear, match="REVIEW_RESULT"):
        opinion(f"REVIEW_RESULT: {words}\nSUMMARY: it leaks")


def test_the_last_result_counts_because_the_first_may_be_the_prompt() -> None:
    prompt = "REVIEW_RESULT: approved\nSUMMARY: <one line>\n\n"
    assert opinion(prompt + REJECTED) == opinion(REJECTED)


def test_an_approval_with_grave_findings_is_none() -> None:
    said = opinion("REVIEW_RESULT: approved\nFINDINGS_COUNT: 1\nSEVERITY: critical\nSUMMARY: Keys are logged.")
    assert (said.approved, said.findings[0].severity) == (False, Severity.CRITICAL)
    listed = opinion('REVIEW_RESULT: approved\nBLOCKING_ISSUES: [{"severity": "blocker", "description": "no"}]')
    assert not listed.approved


def test_a_rejection_without_a_word_is_refused_and_the_field_is_named() -> None:
    with pytest.raises(Unclear, match="SUMMARY: say what is to be changed"):
        opinion("REVIEW_RESULT: changes_requested\nFINDINGS_COUNT: 3")


def test_listed_issues_are_findings_with_their_place() -> None:
    issues = '[{"severity": "minor", "category": "style", "path": "a.py", "line": 3, "description": "name it"}, 7, {}]'
    (finding,) = opinion(f"REVIEW_RESULT: rejected\nBLOCKING_ISSUES: {issues}\nSUMMARY: Nearly.").findings
    assert (finding.severity, finding.category, finding.path, finding.line) == (Severity.LOW, "style", "a.py", 3)


def test_inv_20_a_secret_that_an_agent_prints_is_not_kept() -> None:
    assert "ghp_" not in opinion(f"REVIEW_RESULT: rejected\nSUMMARY: it prints ghp_{'a1B2' * 9}").summary


@given(st.text(st.characters(exclude_categories=()), max_size=300), st.sampled_from(["", "REVIEW_RESULT: rejected\n"]))
def test_whatever_an_agent_prints_is_read_or_refused(text: str, first: str) -> None:
    with suppress(Unclear):
        assert opinion(first + text).findings or not first
