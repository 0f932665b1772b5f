"""Lists in GraphQL: `first`/`last` from 1 to 100 is obligatory, and cursors name items, not places.

So a list that changes between two pages still shows what came after the last item seen.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from amends.doubles.github.graphql.fields import Arguments, Resolver, add
from amends.doubles.github.refusal import Refused

MOST = 100


class BadPage(Refused):
    """The request asks for too much at once, or does not say how much."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(422, message)
        self._kind = kind

    @property
    def kind(self) -> str:
        return self._kind


@dataclass(frozen=True)
class Page:
    """A part of a list, with what its connection says."""

    nodes: Sequence[Any]
    cursors: Sequence[str]
    has_next: bool
    has_previous: bool
    total: int
    # What edges say besides their node, by position.
    edges: Sequence[Any] = field(default=())


def page(name: str, arguments: Arguments, items: Sequence[Any], key: Callable[[Any], object] | None = None) -> Page:
    """The part of `items` that the arguments ask for; `key` names an item for its cursor."""
    size, backwards = _size(name, arguments)
    keys = [str(key(one)) if key is not None else str(number) for number, one in enumerate(items)]
    start, end = _bounds(arguments, keys)
    shown = range(max(start, end - size), end) if backwards else range(start, min(end, start + size))
    nodes = [items[n] for n in shown]
    more_before, more_after = bool(nodes) and shown.start > 0, bool(nodes) and shown.stop < len(items)
    return Page(nodes, [cursor(keys[n]) for n in shown], more_after, more_before, len(items))


def _size(name: str, arguments: Arguments) -> tuple[int, bool]:
    first, last = arguments.get("first"), arguments.get("last")
    if first is None and last is None:
        said = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise BadPage("MISSING_PAGINATION_BOUNDARIES", said)
    if first is not None and last is not None:
        said = f"Passing both `first` and `last` values to paginate the `{name}` connection is not supported."
        raise BadPage("INVALID_PAGINATION_BOUNDARIES", said)
    size, word = (last or 0, "last") if first is None else (first, "first")
    if size > MOST:
        said = f"Requesting {size} records on the `{name}` connection exceeds the `{word}` limit of {MOST} records."
        raise BadPage("EXCESSIVE_PAGINATION", said)
    if size < 0:
        said = f"`{word}` on the `{name}` connection cannot be less than zero."
        raise BadPage("INVALID_PAGINATION_BOUNDARIES", said)
    return size, first is None


def _bounds(arguments: Arguments, keys: Sequence[str]) -> tuple[int, int]:
    start, end = 0, len(keys)
    if (after := arguments.get("after")) is not None:
        start = _place(_key(after), keys, behind=True)
    if (before := arguments.get("before")) is not None:
        end = _place(_key(before), keys, behind=False)
    return start, max(start, end)


def _place(wanted: str, keys: Sequence[str], *, behind: bool) -> int:
    """Where an item is, or where it was: what it was named by ascends."""
    if wanted in keys:
        return keys.index(wanted) + behind
    later = (n for n, one in enumerate(keys) if _rank(one) > _rank(wanted))
    return next(later, len(keys))


def _rank(key: str) -> tuple[int, str]:
    return (int(key), "") if key.isdigit() else (0, key)


def cursor(key: str) -> str:
    return urlsafe_b64encode(f"cursor:v2:{key}".encode()).decode()


def _key(said: str) -> str:
    try:
        return urlsafe_b64decode(said.encode()).decode().removeprefix("cursor:v2:")
    except (Error, UnicodeError):
        raise BadPage("INVALID_CURSOR_ARGUMENTS", f"`{said}` does not appear to be a valid cursor.") from None


add(
    "PageInfo",
    {
        "hasNextPage": lambda one, _, __: one.has_next,
        "hasPreviousPage": lambda one, _, __: one.has_previous,
        "endCursor": lambda one, _, __: one.cursors[-1] if one.cursors else None,
        "startCursor": lambda one, _, __: one.cursors[0] if one.cursors else None,
    },
)


def connection(item: str, *, edge_fields: dict[str, Callable[[Any], Any]] | None = None, name: str = "") -> None:
    """Make `<item>Connection` and its edges known."""
    base = name or item
    add(
        f"{base}Connection",
        {
            "nodes": lambda one, _, __: one.nodes,
            "edges": lambda one, _, __: list(zip(one.cursors, one.nodes, one.edges or one.nodes, strict=True)),
            "pageInfo": lambda one, _, __: one,
            "totalCount": lambda one, _, __: one.total,
        },
    )
    add(f"{base}Edge", {"cursor": lambda one, _, __: one[0], "node": lambda one, _, __: one[1]})
    for field_name, said in (edge_fields or {}).items():
        add(f"{base}Edge", {field_name: _edge_field(said)})


def _edge_field(said: Callable[[Any], Any]) -> Resolver:
    return lambda one, _, __: said(one[2])
