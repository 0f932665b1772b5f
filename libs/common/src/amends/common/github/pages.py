"""Lists that come in pages: asked for by number, all at once where that is known, and never by following a link."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

from amends.common.github.errors import Torn
from amends.common.github.limits import Headers

T = TypeVar("T")
SIZE = 100
_LINK = re.compile(r'<([^<>]*)>((?:\s*;\s*[\w*]+\s*=\s*(?:"[^"]*"|[^\s",;]+))*)')
_REL = re.compile(r';\s*rel\s*=\s*"?(\w+)', re.IGNORECASE)
_NUMBER = re.compile(r"[?&]page=([0-9]{1,6})(?:&|$)")
_SOON = 30.0


class TooMany(Exception):
    """There is more than anybody would read."""


class Page(NamedTuple, Generic[T]):
    """One page, and which one is the last as far as it knows."""

    entries: list[T]
    last: int


Turn = Callable[[int], Awaitable[Page[T]]]


def last_page(headers: Headers, asked: int, *, full: bool = False) -> int:
    """The last page by the answer to the one that was asked for; its links have to lead on, not round.

    Behind a `full` one without any links (a proxy may drop them) there may be another.
    """
    said = headers.get("link", "")
    urls = {rel[1].lower(): url for url, beside in _LINK.findall(said) if (rel := _REL.search(beside))}
    numbers = {rel: int(found[1]) for rel, url in urls.items() if (found := _NUMBER.search(url))}
    following, last = numbers.get("next"), numbers.get("last", 0)
    if following is None and "next" in urls:
        raise Torn(_SOON, f"page {asked} is followed by one without a number")
    if following is None:
        return asked + (full and not said)
    if following != asked + 1 or (last and last < following):
        raise Torn(_SOON, f"page {asked} is followed by page {following} of {last or '?'}")
    return max(following, last)


async def every(turn: Turn[T], known: int = 1, most: int = 100) -> tuple[list[T], int]:
    """All entries, in order, and how many pages there were; `known` is how many there were last time."""
    pages: dict[int, Page[T]] = {}
    last = min(known, most)
    while wanted := [number for number in range(1, last + 1) if number not in pages]:
        found = await together(turn(number) for number in wanted)
        pages.update(zip(wanted, found, strict=True))
        last = max(page.last if page.entries or number == 1 else 1 for number, page in pages.items())
        if last > most:
            raise TooMany(f"{last} pages, at most {most} are read")
    return [entry for _, page in sorted(pages.items()) for entry in page.entries], last


async def together(work: Iterable[Awaitable[T]]) -> list[T]:
    """What comes of all, side by side; when one fails the others are cancelled, and its error is the answer.

    No TaskGroup: in Python 3.11 one that fails leaves its task marked as cancelled, and no timeout works around it.
    """
    tasks = [asyncio.ensure_future(_awaited(one)) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _awaited(one: Awaitable[T]) -> T:
    return await one
