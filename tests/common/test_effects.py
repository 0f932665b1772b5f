"""What a process does to the outside is told to whoever watches, and to nobody where nobody does."""

from collections.abc import Iterator

import pytest

from amends.common import effects
from amends.common.effects import When, effect, passing


@pytest.fixture
def seen() -> Iterator[list[tuple[str, object, When]]]:
    """What a watcher heard."""
    found: list[tuple[str, object, When]] = []
    effects.watching = lambda kind, what, when: found.append((kind, what, when))
    yield found
    effects.watching = None


def test_an_effect_is_told_before_and_after(seen: list[tuple[str, object, When]]) -> None:
    with effect("git", "push"):
        assert seen == [("git", "push", "before")]
    assert seen[1:] == [("git", "push", "after")]


def test_an_effect_that_fails_has_ended_all_the_same(seen: list[tuple[str, object, When]]) -> None:
    with pytest.raises(OSError, match="no"), effect("rename", "a"):
        raise OSError("no")
    assert [when for _, _, when in seen] == ["before", "after"]


def test_one_end_of_an_effect_can_be_told_alone(seen: list[tuple[str, object, When]]) -> None:
    passing("commit", "x", "before")
    assert seen == [("commit", "x", "before")]


def test_where_nobody_watches_an_effect_is_nothing() -> None:
    assert effect("git", "push") is effect("http", "GET")
    passing("commit", "x", "before")
