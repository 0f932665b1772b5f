"""Review bots bury findings in a text; what they could not do is never taken for a good word."""

from __future__ import annotations

import pytest

from amends.comment_fetcher.bots import meaning
from amends.comment_fetcher.bots.meaning import Meaning, Word
from amends.comment_fetcher.visible import visible
from amends.common.policy import Severity

CODERABBIT = """\
**Actionable comments posted: 1**

<details>
<summary>🧹 Nitpick comments (2)</summary><blockquote>

<details>
<summary>src/app.py (2)</summary><blockquote>

`10-12`: **Use a constant.**

The number is magic.

`40`: **Rename it.**

</blockquote></details>

</blockquote></details>

<details>
<summary>⚠️ Outside diff range comments (1)</summary><blockquote>

<details>
<summary>src/old.py (1)</summary><blockquote>

`7-7`: **Close the file.**

</blockquote></details>

</blockquote></details>
"""
COPILOT = """\
## Pull request overview

Copilot reviewed 2 out of 2 changed files in this pull request and generated no new comments.

<details>
<summary>Comments suppressed due to low confidence (1)</summary>

**src/app.py:12**
* This may be None.
</details>
"""


def said(login: str, raw: str) -> Meaning:
    return meaning(login, raw, visible(raw))


def test_coderabbits_findings_are_found_with_place_and_severity() -> None:
    found = said("coderabbitai[bot]", CODERABBIT).buried
    places = {(one.path, one.start_line, one.line, one.severity) for one in found}
    assert ("src/app.py", 10, 12, Severity.SUGGESTION) in places
    assert ("src/app.py", None, 40, Severity.SUGGESTION) in places
    assert ("src/old.py", None, 7, Severity.MEDIUM) in places


def test_what_coderabbit_could_not_post_as_a_thread_is_found_and_its_praise_is_not() -> None:
    unposted = CODERABBIT.replace("⚠️ Outside diff range comments", "🛑 Comments failed to post")
    found = said("coderabbitai[bot]", unposted.replace("🧹 Nitpick comments", "🔇 Additional comments")).buried
    assert [(one.path, one.line, one.severity) for one in found] == [("src/old.py", 7, Severity.MEDIUM)]


def test_copilots_suppressed_comments_are_found() -> None:
    [found] = said("copilot-pull-request-reviewer[bot]", COPILOT).buried
    assert (found.path, found.line, found.severity) == ("src/app.py", 12, Severity.LOW)


def test_any_bots_list_of_places_is_taken_apart() -> None:
    found = said("lint[bot]", "Found:\n\n- `a/b.py:3`: unused\n- `c.py:4-6`: too long\n").buried
    assert [(one.path, one.start_line, one.line) for one in found] == [("a/b.py", None, 3), ("c.py", 4, 6)]


@pytest.mark.parametrize(
    ("login", "raw", "word"),
    [
        ("coderabbitai[bot]", "No actionable comments were generated in the recent review. 🎉", Word.CLEAN),
        ("coderabbitai[bot]", "> [!WARNING]\n> ## Rate limit exceeded\n> Please wait.", Word.UNAVAILABLE),
        ("coderabbitai[bot]", "Review skipped\n\nNo actionable comments were generated", Word.UNAVAILABLE),
        ("copilot[bot]", "Copilot reviewed 3 out of 3 changed files and generated no comments.", Word.CLEAN),
        ("copilot[bot]", "Copilot reviewed 2 out of 3 changed files and generated no comments.", Word.UNKNOWN),
        ("copilot[bot]", "Copilot wasn't able to review this pull request: quota", Word.UNAVAILABLE),
        ("copilot[bot]", "## Pull request overview\n\nAdds a basket.", Word.UNKNOWN),
        ("other[bot]", "All good, no issues found!", Word.UNKNOWN),
        ("other[bot]", "", Word.UNKNOWN),
        ("other[bot]", "You are out of credits.", Word.UNAVAILABLE),
        ("other[bot]", "Rate limit exceeded: try again in 12 minutes.", Word.UNAVAILABLE),
        ("other[bot]", "You have reached your monthly usage limit.", Word.UNAVAILABLE),
        ("other[bot]", "An internal error occurred while reviewing.", Word.UNAVAILABLE),
    ],
)
def test_silence_is_unknown_and_a_notice_is_no_good_word(login: str, raw: str, word: Word) -> None:
    assert said(login, raw).word is word


@pytest.mark.parametrize(
    "raw",
    [
        "The login endpoint has no rate limit. Add one.",
        "When an error occurred in parse(), the file stays open.",
        "The token limit of the prompt is never checked.",
        "load() is unable to process an empty file.",
    ],
)
def test_a_finding_about_limits_and_errors_is_no_notice(raw: str) -> None:
    assert (said("other[bot]", raw).word, said("other[bot]", raw).rest) == (Word.UNKNOWN, raw)
