"""Suggested changes: applied exactly as GitHub does or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amends.comment_fetcher.visible import suggestions, visible
from amends.common.events import Author, Judgement
from amends.common.feedback import Anchor, Feedback, Remark, Suggestion
from amends.common.gate import unclaimed
from amends.fixer.suggestions import Applied, applied

CORPUS = Path(__file__).parents[1] / "data" / "suggestions.json"
BOB = Author(id=2, login="bob")
FILE = b"one\ntwo\nthree\nfour\n"


def block(text: str) -> str:
    return f"```suggestion\n{text}```"


def remark(body: str, by: Author = BOB) -> Remark:
    """As the comment-fetcher passes it on."""
    found = tuple(Suggestion(text=one.text, exact=one.exact) for one in suggestions(body))
    return Remark(id=1, author=by, text=visible(body), suggestions=found)


def asked(body: str, start: int, end: int | None = None, content: bytes = FILE, **more: Any) -> Feedback:
    """A thread on lines of a file, as it was when they were written."""
    last = end or start
    seen = content.decode("utf-8", "replace").split("\n")[:last]
    hunk = f"@@ -0,0 +1,{last} @@\n" + "\n".join(f"+{line.removesuffix(chr(13))}" for line in seen)
    place: dict[str, Any] = {
        "path": "a.py", "line": last, "start_line": start if end else None, "origin_line": last,
        "origin_start_line": start if end else None, "hunk": hunk,
    }  # fmt: skip
    anchor = Anchor(**{**place, **{name: more.pop(name) for name in list(more) if name in Anchor.model_fields}})
    kept = more.pop("remarks", (remark(body),))
    item = more.pop("item", f"thread/{start}-{last}")
    return Feedback(item=item, kind="thread", version="f" * 16, author=BOB, anchor=anchor, remarks=kept, **more)


def after(*items: Feedback, content: bytes = FILE) -> bytes | None:
    """The file with all of them in it; None if none is."""
    return applied({"a.py": content}, items).files.get("a.py")


def left(item: Feedback, content: bytes = FILE) -> str:
    """Why it was not taken over."""
    result = applied({"a.py": content}, [item])
    assert (result.files, result.verdicts, result.beside) == ({}, (), ())
    return result.left[0].reason


# --- what is applied -------------------------------------------------------------------------------------------------


def test_a_line_takes_the_place_of_a_line() -> None:
    assert after(asked(block("TWO\n"), 2)) == b"one\nTWO\nthree\nfour\n"


def test_lines_take_the_place_of_lines() -> None:
    assert after(asked(block("a\nb\nc\n"), 2, 3)) == b"one\na\nb\nc\nfour\n"


def test_an_empty_block_deletes_and_a_blank_line_is_one() -> None:
    assert after(asked(block(""), 2)) == b"one\nthree\nfour\n"
    assert after(asked(block("\n"), 2)) == b"one\n\nthree\nfour\n"


def test_several_in_one_file_are_applied_in_one_pass() -> None:
    items = [asked(block("1\n1\n"), 1), asked(block(""), 2, 3), asked(block("4\n"), 4)]
    assert after(*items) == b"1\n1\n4\n"


def test_the_ends_of_the_replaced_line_are_kept() -> None:
    mixed = b"one\r\ntwo\nthree\r\n"
    assert after(asked(block("1\n1\n"), 1, content=mixed), content=mixed) == b"1\r\n1\r\ntwo\nthree\r\n"
    assert after(asked(block("2\n"), 2, content=mixed), content=mixed) == b"one\r\n2\nthree\r\n"


def test_what_was_typed_in_a_browser_has_other_ends_and_that_does_not_matter() -> None:
    assert after(asked("```suggestion\r\nTWO\r\n```\r\n", 2)) == b"one\nTWO\nthree\nfour\n"


def test_a_file_without_a_final_newline_keeps_to_that() -> None:
    bare = b"one\r\ntwo"
    assert after(asked(block("2\n3\n"), 2, content=bare), content=bare) == b"one\r\n2\r\n3"
    assert after(asked(block(""), 2, content=bare), content=bare) == b"one\r\n"
    assert after(asked(block("1\n"), 1, content=bare), content=bare) == b"1\r\ntwo"


def test_a_file_may_lose_all_its_lines() -> None:
    assert after(asked(block(""), 1, 4)) == b""


def test_lines_end_at_lf_and_nowhere_else() -> None:
    odd = "a\x0cb\u2028c\nnext\n".encode()
    assert after(asked(block("NEXT\n"), 2, content=odd), content=odd) == "a\x0cb\u2028c\nNEXT\n".encode()


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    odd = b"\xff\xfe caf\xe9\ntwo\n"
    assert after(asked(block("2\n"), 2, content=odd), content=odd) == b"\xff\xfe caf\xe9\n2\n"


def test_the_mark_at_the_beginning_of_a_file_stays() -> None:
    marked = b"\xef\xbb\xbfone\ntwo\n"
    assert after(asked(block("1\n"), 1, content=marked), content=marked) == b"\xef\xbb\xbf1\ntwo\n"


def test_a_longer_fence_holds_shorter_ones() -> None:
    body = "````suggestion\n```sh\nls\n```\n````"
    assert after(asked(body, 2)) == b"one\n```sh\nls\n```\nthree\nfour\n"


def test_it_is_credited_and_judged_with_the_lines_it_claims() -> None:
    result = applied({"a.py": FILE}, [asked(block("TWO\n"), 2)])
    verdict = result.verdicts[0]
    assert (verdict.judgement, verdict.hunks, result.credits) == (Judgement.FIXED, ("a.py:2-2",), (BOB,))
    assert unclaimed("a.py", FILE, result.files["a.py"], verdict.hunks) == ()


def test_words_beside_it_are_told_apart() -> None:
    result = applied({"a.py": FILE}, [asked("Also fix the tests.\n" + block("TWO\n"), 2)])
    assert (result.verdicts, len(result.beside), list(result.files)) == ((), 1, ["a.py"])


def test_the_same_by_two_people_is_applied_once() -> None:
    same = [asked(block("TWO\n"), 2, item="thread/1"), asked(block("TWO\n"), 2, item="thread/2")]
    result = applied({"a.py": FILE}, same)
    assert (result.files["a.py"], len(result.verdicts)) == (b"one\nTWO\nthree\nfour\n", 2)


def test_what_is_no_suggestion_is_left_without_a_reason() -> None:
    assert left(asked("Why?", 2)) == ""


# --- what is not -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (asked(block("two\n"), 2), "changes nothing"),
        (asked(block("x\n"), 2, content=b"one\n2\nthree\n"), "not what the reviewer saw"),
        (asked(block("x\n"), 9, content=FILE * 3), "the file has 4 lines"),
        (asked(block("x\n"), 2, outdated=True), "outdated"),
        (asked(block("x\n"), 2, line=None), "outdated"),
        (asked(block("x\n"), 2, side="LEFT"), "deleted lines"),
        (asked(block("x\n"), 2, 3, start_side="LEFT"), "deleted lines"),
        (asked(block("x\n"), 3, 2), "in no order"),
        (asked(block("x\n"), 2, whole_file=True), "whole file"),
        (asked(block("x\n"), 2, hunk=""), "not known"),
        (asked(block("x\n"), 2, 3, hunk="@@ -1 +3 @@\n+three"), "not known"),
        (asked(block("x\n"), 2, 3, origin_start_line=1), "moved apart"),
        (asked(block("x\n"), 2, path="b.py"), "no regular file"),
        (asked(block("x\n"), 2, path=".git/config"), "no regular file"),
        (asked(block("x\n") + "\n" + block("y\n"), 2), "several suggestions"),
        (asked(block("x\n"), 2, resolved=True), "resolved"),
        (asked("", 2, remarks=(remark(block("x\n")), remark("No, please do not."))), "said more"),
        (asked("", 2, remarks=(remark(block("x\n")), remark(block("y\n")))), "several suggestions"),
        (asked(block("zero\u200bwidth\n"), 2), "cannot be seen"),
    ],
)  # fmt: skip
def test_inv_26_what_is_doubtful_leaves_the_file_untouched(item: Feedback, why: str) -> None:
    assert why in left(item)


@pytest.mark.parametrize(
    "body",
    [
        "```suggestion\nunclosed\n",
        "~~~suggestion\nx\n~~~",
        "    ```suggestion\n    x\n    ```",
        "<!-- ```suggestion\nx\n``` -->",
        "````md\n```suggestion\nx\n```\n````",
        "```suggestion:-0+1\nx\n```",
        "```Suggestion\nx\n```",
    ],
)
def test_inv_26_what_github_shows_as_no_suggestion_is_none(body: str) -> None:
    assert left(asked(body, 2)) == ""


def test_inv_26_a_quoted_suggestion_is_not_taken_over() -> None:
    assert "cannot be seen" in left(asked("> ```suggestion\n> x\n> ```", 2))


def test_inv_26_binary_files_are_left_alone() -> None:
    binary = b"one\n\0two\nthree\n"
    assert "not text" in left(asked(block("x\n"), 3, content=binary), binary)


def test_inv_26_overlapping_ones_leave_their_lines_untouched() -> None:
    items = [asked(block("x\n"), 1, 2), asked(block("y\n"), 2, 3), asked(block("4\n"), 4)]
    result = applied({"a.py": FILE}, items)
    assert result.files["a.py"] == b"one\ntwo\nthree\n4\n"
    assert [one.reason for one in result.left] == ["it overlaps with another suggestion"] * 2


def test_inv_26_what_stands_there_by_chance_is_not_taken_for_the_change() -> None:
    """He wants line 4 to 6 to be an empty one; meanwhile line 6 was changed, and an empty line follows three a's."""
    item = asked(block("\n"), 4, 6, content=b"a\na\na\na\n\nx\n")
    assert "not what the reviewer saw" in left(item, b"a\na\na\na\n\ny\n")


def test_inv_26_carriage_returns_within_lines_are_not_taken_for_the_change() -> None:
    content = b"b\na\n\r\r\n"
    assert "not what the reviewer saw" in left(asked(block("a\n"), 2, 3, content=content), content)


# --- whatever it is --------------------------------------------------------------------------------------------------

LINES = st.lists(st.sampled_from(["a", "bb", "", "\ttab", "é", "x" * 9, "\r"]).map(str.encode), min_size=1, max_size=12)
TEXTS = st.lists(st.sampled_from(["new", "", " spaced ", "ü"]), max_size=3).map(
    lambda lines: "".join(f"{x}\n" for x in lines)
)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    content = draw(st.sampled_from([b"\n", b"\r\n"])).join(draw(LINES))
    return content + draw(st.sampled_from([b"", b"\n", b"\r\n"]))


@st.composite
def reviews(draw: st.DrawFn) -> tuple[bytes, list[Feedback]]:
    content = draw(files())
    count = max(1, content.count(b"\n"))
    items = []
    for number in range(draw(st.integers(1, 5))):
        start = draw(st.integers(1, count))
        end = draw(st.integers(start, min(count, start + 2)))
        items.append(asked(block(draw(TEXTS)), start, end, content=content, item=f"thread/{number}"))
    return content, items


def done(result: Applied) -> list[tuple[int, int]]:
    ranges = [verdict.hunks[0].rpartition(":")[2].split("-") for verdict in (*result.verdicts, *result.beside)]
    return sorted({(int(start), int(end)) for start, end in ranges})


@settings(max_examples=300, deadline=None)
@given(reviews(), st.randoms())
def test_inv_26_the_order_makes_no_difference(review: tuple[bytes, list[Feedback]], random: Any) -> None:
    content, items = review
    shuffled = random.sample(items, len(items))
    one, other = applied({"a.py": content}, items), applied({"a.py": content}, shuffled)
    assert (one.files, done(one)) == (other.files, done(other))


@settings(max_examples=300, deadline=None)
@given(reviews())
def test_inv_26_what_was_not_asked_for_stays_as_it_is(review: tuple[bytes, list[Feedback]]) -> None:
    content, items = review
    result = applied({"a.py": content}, items)
    new = result.files.get("a.py", content)
    ranges = done(result)
    good = {verdict.item for verdict in (*result.verdicts, *result.beside)}
    for before, after_ in _between(content, new, ranges, [one for one in items if one.item in good]):
        assert before == after_
    claims = [hunk for verdict in (*result.verdicts, *result.beside) for hunk in verdict.hunks]
    if new != content:
        assert unclaimed("a.py", content, new, claims) == ()


def _between(
    content: bytes, new: bytes, ranges: Sequence[tuple[int, int]], items: Sequence[Feedback]
) -> list[tuple[list[bytes], list[bytes]]]:
    """The lines before, between and after what was replaced: as they were, and as they are."""
    sizes = {(one.anchor.start_line or 0, one.anchor.line or 0): one.remarks[0].suggestions[0].text.count("\n")
             for one in items if one.anchor}  # fmt: skip
    old, now = content.split(b"\n"), new.split(b"\n")
    pairs, at, shift = [], 0, 0
    for start, end in ranges:
        pairs.append((old[at : start - 1], now[at + shift : start - 1 + shift]))
        at, shift = end, shift + sizes[start, end] - (end - start + 1)
    if at < len(old) - 1:
        pairs.append((old[at:-1], now[at + shift : len(old) - 1 + shift]))
    return pairs


# --- what people wrote -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", json.loads(CORPUS.read_text(encoding="utf-8")))
def test_inv_26_what_people_wrote_is_applied_or_left_and_never_misapplied(said: dict[str, Any]) -> None:
    right = [line[1:] for line in said["commented_code"].split("\n")[1:] if line[:1] in {"+", " "}] or [""]
    content = "".join(f"{line}\n" for line in right).encode()
    item = asked(said["comment_body"], len(right), content=content, hunk=said["commented_code"])
    result = applied({"a.py": content}, [item])
    if result.files:
        (expected,) = said["suggestion_blocks"]
        blank = "```suggestion\n\n```" in said["comment_body"].replace("\r", "")
        lines = expected.split("\n") if expected or blank else []  # the corpus writes both as nothing
        new = [*right[:-1], *(line.removesuffix("\r") for line in lines)]
        assert result.files["a.py"].decode() == "".join(f"{line}\n" for line in new)
    else:
        assert result.left


# --- what somebody has made himself ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suggested", "now"),
    [
        ("TWO\n", b"one\nTWO\nthree\nfour\n"),
        ("TWO\n", b"new\none\r\nTWO\r\nthree\nfour\n"),
        ("two\ntwo b\n", b"one\ntwo\ntwo b\nthree\nfour\n"),
    ],
    ids=["as_it_was", "moved_down", "added"],
)
def test_a_suggestion_that_somebody_made_himself_is_answered(suggested: str, now: bytes) -> None:
    result = applied({"a.py": now}, [asked(block(suggested), 2, line=None, outdated=True)])
    [verdict] = result.verdicts
    assert (verdict.judgement, verdict.reason) == (Judgement.ANSWERED, "The branch has this already.")
    assert (result.files, result.left) == ({}, ())


@pytest.mark.parametrize(
    ("body", "now"),
    [
        (block("TWO\n"), b"one\n2\nthree\nfour\n"),
        (block("TWO\n"), b"TWO\nthree\n"),
        (block("TWO\n"), b"one\nTWO\none\nTWO\n"),
        (block("TWO\n"), b"one\nTWO\none\ntwo\n"),
        (block(""), b"one\nthree\nfour\n"),
        (f"Also rename it.\n{block(chr(84) + 'WO' + chr(10))}", b"one\nTWO\nthree\nfour\n"),
    ],
    ids=["otherwise", "elsewhere", "twice", "the_old_one_is_there", "deleted", "with_words"],
)
def test_what_may_be_something_else_is_left_to_whoever_can_think(body: str, now: bytes) -> None:
    assert left(asked(body, 2, line=None, outdated=True), now) == "it is outdated"
