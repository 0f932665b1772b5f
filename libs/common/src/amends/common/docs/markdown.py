"""Markdown, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def heading(level: int, title: str) -> Iterator[str]:
    yield from ("", f"{'#' * level} {title}", "")


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for row in (heads, tuple("---" for _ in heads), *rows):
        yield f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |"


def listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def anchor(title: str) -> str:
    return title.replace(".", "")
