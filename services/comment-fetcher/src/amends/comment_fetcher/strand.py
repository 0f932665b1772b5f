"""A list of GitHub's GraphQL API, read from both ends and from where its pages began last time, until it is whole.

Cursors name entries and not places, so what is added or deleted meanwhile moves nothing. Two neighbouring pages are
joined when one begins where the other ended, or when they share an entry; anything else is a gap that is still to be
asked for. Counts prove nothing, because what was deleted in between has been counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
SIZE = 100


class Span(NamedTuple):
    """What to ask for: the first entries after a cursor (or of all), or the last before one (or of all)."""

    after: str | None = None
    before: str | None = None
    last: bool = False
    size: int = SIZE


@dataclass(frozen=True)
class Page(Generic[T]):
    """What came of a span. Of `more_*` only the one in the direction of reading can be believed."""

    span: Span
    entries: tuple[T, ...]
    start: str | None = None
    end: str | None = None
    more_before: bool = False
    more_after: bool = False
    total: int = 0


class Gap(NamedTuple):
    """What is missing behind the page at `place`."""

    place: int
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Strand(Generic[T]):
    """The pages in their order, as far as they were read. `name` is what makes an entry the same entry."""

    name: Callable[[T], str]
    pages: tuple[Page[T], ...] = ()
    starts: tuple[str, ...] = ()

    def gaps(self) -> list[Gap]:
        """What is still to be asked for; nothing when it is whole."""
        if not self.pages:
            return [Gap(0, (Span(), *(Span(after=cursor) for cursor in self.starts)))]
        missing = max(page.total for page in self.pages) - len({self.name(entry) for entry in self._entries()})
        found = []
        for place, (page, following) in enumerate(pairwise((*self.pages, None))):
            if page is not None and not self._joined(page, following):
                found.append(Gap(place + 1, _spans(page, following, missing)))
        return found

    def filled(self, gap: Gap, pages: Sequence[Page[T]]) -> Strand[T]:
        """With what came for a gap. Gaps are filled from the last to the first, so that places stay right."""
        return replace(self, pages=(*self.pages[: gap.place], *pages, *self.pages[gap.place :]))

    def entries(self) -> list[T]:
        """All of it, each entry once."""
        return list({self.name(entry): entry for entry in self._entries()}.values())

    def cursors(self) -> tuple[str, ...]:
        """After which entries to begin all pages at once next time: as few as reach every entry."""
        places = {self.name(entry): place for place, entry in enumerate(self.entries(), 1)}
        ends = [
            (places[self.name(page.entries[-1])], page.end) for page in self.pages[:-1] if page.entries and page.end
        ]
        kept: list[str] = []
        begun = 0
        for (place, cursor), (following, _) in pairwise((*sorted(ends), (len(places), ""))):
            if following - begun > SIZE:
                kept.append(cursor)
                begun = place
        return tuple(kept)

    def _entries(self) -> Iterator[T]:
        for page in self.pages:
            yield from page.entries

    def _joined(self, page: Page[T], following: Page[T] | None) -> bool:
        forward = not page.span.last
        if following is None:
            return not page.more_after if forward else page.span.before is None
        if (forward and not page.more_after) or (following.span.last and not following.more_before):
            return True
        if following.span.after is not None and following.span.after == page.end:
            return True
        if page.span.before is not None and page.span.before == following.start:
            return True
        return not {self.name(entry) for entry in page.entries}.isdisjoint(map(self.name, following.entries))


def _spans(page: Page[T], following: Page[T] | None, missing: int) -> tuple[Span, ...]:
    """Onward from the page; where more than a page is missing, also back from the following one or from the end."""
    onward = Span(after=page.end)
    if missing <= SIZE or (following is not None and following.start is None):
        return (onward,)
    size = min(SIZE, missing - SIZE + 1)  # one more, so that the two meet
    return onward, Span(before=following.start if following else None, last=True, size=size)
