"""A list read in pages while it changes: whatever stays in it from beginning to end is never missed."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from amends.comment_fetcher.strand import SIZE, Page, Span, Strand


class Shelf:
    """A list behind cursors, as GitHub has it: a cursor names a place between entries and survives them."""

    def __init__(self, size: int) -> None:
        self.entries = list(range(size))
        self.next = size

    def page(self, span: Span) -> Page[int]:
        after = int(span.after) if span.after is not None else -1
        before = int(span.before) if span.before is not None else self.next
        inside = [one for one in self.entries if after < one < before]
        found = inside[-span.size :] if span.last else inside[: span.size]
        first, last = (found[0], found[-1]) if found else (0, 0)
        return Page(
            span, tuple(found), str(first) if found else None, str(last) if found else None,
            more_before=bool(found) and any(after < one < first for one in self.entries),
            more_after=bool(found) and any(last < one < before for one in self.entries),
            total=len(self.entries),
        )  # fmt: skip

    def add(self, _at: int) -> None:
        self.entries.append(self.next)
        self.next += 1

    def remove(self, at: int) -> None:
        if self.entries:
            self.entries.pop(at % len(self.entries))


def read(shelf: Shelf, starts: tuple[str, ...], acts: list[tuple[bool, int]]) -> tuple[Strand[int], int]:
    """Read it whole, with something happening before each round; and how many rounds it took."""
    strand: Strand[int] = Strand(str, (), starts)
    rounds = 0
    while gaps := strand.gaps():
        rounds += 1
        for add, at in acts[:3]:
            (shelf.add if add else shelf.remove)(at)
        acts = acts[3:]
        for gap in reversed(gaps):
            strand = strand.filled(gap, [shelf.page(span) for span in gap.spans])
    return strand, rounds


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 600), st.lists(st.tuples(st.booleans(), st.integers(0, 10_000)), max_size=30))
def test_what_stays_is_read_once_whatever_happens(size: int, acts: list[tuple[bool, int]]) -> None:
    shelf = Shelf(size)
    before = set(shelf.entries)
    strand, rounds = read(shelf, (), acts)
    found = strand.entries()
    assert before & set(shelf.entries) <= set(found)
    assert len(found) == len(set(found))
    assert rounds <= 3 + size // (2 * SIZE) + len(acts)


@given(st.integers(0, 1_500))
def test_the_next_time_all_pages_are_asked_for_at_once(size: int) -> None:
    shelf = Shelf(size)
    strand, _ = read(shelf, (), [])
    again, rounds = read(shelf, strand.cursors(), [])
    assert again.entries() == shelf.entries
    assert rounds == 1
    assert len(strand.cursors()) <= max(0, -(-size // SIZE))
