"""Where comments stand, and what pushes do to them. The last word has a property test against plain diffing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amends.doubles.github.clock import Clock
from amends.doubles.github.control.pulls import Place, PullHandle
from amends.doubles.github.control.repositories import RepositoryHandle
from amends.doubles.github.diff import moved, parse
from amends.doubles.github.git import Git, Person, Writing
from amends.doubles.github.refusal import Refused
from tests.doubles.client import Api
from tests.support.github import LINES

COMMENTS = "/repos/acme/widget/pulls/1/comments"
CHANGED = LINES.replace("line 10\n", "line ten\n")


def test_a_comment_moves_with_its_line(bob: Api, pull: PullHandle) -> None:
    pull.comment("bob", "hm", path="app.py", line=10)
    pull.push({"app.py": "new\nnew\n" + CHANGED}, by="alice")
    said = bob.json(COMMENTS)[0]
    assert (said["line"], said["original_line"]) == (12, 10)


def test_the_commit_moves_with_the_head_and_the_original_one_does_not(bob: Api, pull: PullHandle) -> None:
    before = pull.head
    pull.comment("bob", "hm", path="app.py", line=10)
    pull.push({"app.py": "new\n" + CHANGED}, by="alice")
    said = bob.json(COMMENTS)[0]
    assert (said["commit_id"], said["original_commit_id"]) == (pull.head, before)


def test_a_changed_line_outdates_its_comment(bob: Api, pull: PullHandle) -> None:
    pull.comment("bob", "hm", path="app.py", line=10)
    pull.push({"app.py": LINES.replace("line 10\n", "line TEN\n")}, by="alice")
    said = bob.json(COMMENTS)[0]
    assert (said["line"], said["position"], said["original_line"]) == (None, None, 10)
    node = bob.pull("reviewThreads(first:1){nodes{isOutdated isResolved line originalLine}}")["reviewThreads"]["nodes"][
        0
    ]
    assert node == {"isOutdated": True, "isResolved": False, "line": None, "originalLine": 10}


def test_a_line_that_leaves_the_diff_outdates_its_comment(pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=13)
    pull.push({"app.py": LINES, "old.py": "other\n"}, by="alice")
    assert thread.outdated


def test_a_force_push_back_brings_the_comment_back(repo: RepositoryHandle, pull: PullHandle) -> None:
    first = pull.head
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    pull.push({"app.py": "gone\n"}, by="alice")
    assert thread.outdated
    repo.point("feature", first, by="alice")
    assert (thread.outdated, thread.line) == (False, 10)


def test_a_deleted_file_outdates_its_comments(pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    on_file = pull.comment("bob", "file", path="app.py")
    pull.push({"app.py": None}, by="alice")
    assert (thread.outdated, on_file.outdated) == (True, False)


def test_a_comment_follows_a_renamed_file(pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", line=10)
    pull.push({"app.py": None, "moved.py": CHANGED}, by="alice")
    assert (thread.path, thread.line) == ("moved.py", 10)


def test_a_range_moves_as_one(bob: Api, pull: PullHandle) -> None:
    pull.comment("bob", "hm", path="app.py", start_line=9, line=11)
    pull.push({"app.py": "new\n" + CHANGED}, by="alice")
    said = bob.json(COMMENTS)[0]
    assert (said["start_line"], said["line"], said["original_start_line"]) == (10, 12, 9)
    assert (said["start_side"], said["side"]) == ("RIGHT", "RIGHT")


def test_a_line_that_slips_into_a_range_outdates_it(pull: PullHandle) -> None:
    thread = pull.comment("bob", "hm", path="app.py", start_line=9, line=11)
    pull.push({"app.py": CHANGED.replace("line ten\n", "line ten\nline ten and a half\n")}, by="alice")
    assert thread.outdated


def test_a_comment_on_a_deleted_line_is_on_the_left(bob: Api, pull: PullHandle) -> None:
    thread = pull.comment("bob", "why?", path="app.py", line=10, side="LEFT")
    said = bob.json(COMMENTS)[0]
    assert (said["side"], said["diff_hunk"].splitlines()[-1]) == ("LEFT", "-line 10")
    pull.push({"app.py": "new\n" + CHANGED}, by="alice")
    assert thread.line == 10


def test_a_restored_line_outdates_the_comment_on_its_deletion(pull: PullHandle) -> None:
    thread = pull.comment("bob", "why?", path="app.py", line=10, side="LEFT")
    pull.push({"app.py": LINES.replace("line 12\n", "line twelve\n")}, by="alice")
    assert thread.outdated


def test_a_comment_on_a_file_has_no_line_and_is_not_outdated(bob: Api, pull: PullHandle) -> None:
    thread = pull.comment("bob", "file", path="app.py")
    said = bob.json(COMMENTS)[0]
    assert (said["subject_type"], said["line"], said["original_line"]) == ("file", None, None)
    assert not thread.outdated


def test_a_single_line_has_no_start(bob: Api, pull: PullHandle) -> None:
    pull.comment("bob", "hm", path="app.py", line=10)
    said = bob.json(COMMENTS)[0]
    assert (said["start_line"], said["start_side"], said["original_start_line"]) == (None, None, None)


@pytest.mark.parametrize(
    "place",
    [
        Place(path="app.py", line=1),
        Place(path="app.py", line=99),
        Place(path="app.py", line=11, start_line=12),
        Place(path="nowhere.py", line=1),
    ],
)
def test_a_place_that_is_not_in_the_diff_is_refused(pull: PullHandle, place: Place) -> None:
    with pytest.raises(Refused, match="422"):
        pull.comment("bob", "hm", **place)


def test_a_comment_on_an_earlier_commit_is_placed_at_the_head(bob: Api, pull: PullHandle) -> None:
    first = pull.head
    pull.push({"app.py": "new\n" + CHANGED}, by="alice")
    thread = pull.comment("bob", "hm", path="app.py", line=10, commit=first)
    assert (thread.line, bob.json(COMMENTS)[0]["original_commit_id"]) == (11, first)


def test_positions_count_from_the_first_hunk(bob: Api, pull: PullHandle) -> None:
    body = {"body": "hm", "commit_id": pull.head, "path": "app.py", "position": 4}
    said = bob.post(COMMENTS, body).json()
    assert (said["position"], said["side"], said["line"]) == (4, "LEFT", 10)


LINE = st.sampled_from(["a", "b", "c", "", "  d"])


@settings(max_examples=60, deadline=None)
@given(old=st.lists(LINE, min_size=1, max_size=12), new=st.lists(LINE, max_size=12), number=st.integers(1, 12))
def test_a_line_is_found_where_it_still_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str], number: int
) -> None:
    number = min(number, len(old))
    found = followed(tmp_path_factory.mktemp("git"), old, new, number)
    assert found is None or new[found - 1] == old[number - 1]
    assert found == number or old != new


def followed(root: Path, old: list[str], new: list[str], number: int) -> int | None:
    """The line's number in the new file, by the double's own following."""
    git, who = Git(root), Person("t", "t@example.org", Clock().moment())
    folder = root / "r.git"
    git.create(folder, "main")
    texts = ["".join(f"{line}\n" for line in lines) for lines in (old, new)]
    before = git.write(folder, Writing({"f": texts[0], "x": "x"}, "old", who))
    after = git.write(folder, Writing({"f": texts[1]}, "new", who, (before,)))
    place = moved(git.diff(folder, before, after, 0), "f", number)
    return None if place is None else place[1]


def test_names_with_spaces_and_accents_survive(tmp_path: Path) -> None:
    git, who = Git(tmp_path), Person("t", "t@example.org", Clock().moment())
    folder = tmp_path / "r.git"
    git.create(folder, "main")
    before = git.write(folder, Writing({"a é.txt": "1\n2\n3\n", "b": b"\0\1"}, "old", who))
    after = git.write(folder, Writing({"a é.txt": None, "ü b.txt": "1\n2\n4\n", "b": b"\0\2"}, "new", who, (before,)))
    files = git.diff(folder, before, after)
    assert [(one.path, one.previous, one.status, one.patch is None) for one in files] == [
        ("b", None, "modified", True),
        ("ü b.txt", "a é.txt", "renamed", False),
    ]


def test_parsing_nothing_gives_nothing() -> None:
    assert parse(b"") == ()
