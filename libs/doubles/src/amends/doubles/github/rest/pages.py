"""Lists in pages: 30 unless asked, 100 at most, with the Link header that leads on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from amends.doubles.github.refusal import Json
from amends.doubles.github.rest.call import Answer, Call

T = TypeVar("T")
_USUAL, _MOST = 30, 100


def paged(call: Call, items: Sequence[T], shape: Callable[[T], object]) -> Answer:
    page, size = asked(call)
    shown = items[(page - 1) * size : page * size]
    return Answer(200, [shape(one) for one in shown], _links(call, page, size, len(items)))


def wrapped(call: Call, name: str, items: Sequence[T], shape: Callable[[T], object]) -> Answer:
    """A page within an object that says how many there are."""
    answer = paged(call, items, shape)
    content: Json = {"total_count": len(items), name: answer.content}
    return Answer(200, content, answer.headers)


def visible(call: Call, items: Sequence[T], node: Callable[[T], str]) -> list[T]:
    """Without what a replica that is behind does not have yet."""
    return [one for one in items if not call.world.lag.hidden(node(one))]


def asked(call: Call) -> tuple[int, int]:
    page, size = call.query.get("page", ""), call.query.get("per_page", "")
    return (
        max(1, int(page)) if page.isdigit() else 1,
        min(_MOST, max(1, int(size))) if size.isdigit() and int(size) else _USUAL,
    )


def _links(call: Call, page: int, size: int, count: int) -> dict[str, str]:
    last = max(1, -(-count // size))
    targets = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
    wanted = [name for name in targets if (page > 1 if name in {"prev", "first"} else page < last)]
    if not wanted:
        return {}
    return {"link": ", ".join(f'<{_url(call, targets[name])}>; rel="{name}"' for name in wanted)}


def _url(call: Call, page: int) -> str:
    """By number and not by name, as GitHub does: a link survives a rename."""
    path = call.path
    if call.repo is not None and path.startswith("/repos/"):
        path = f"/repositories/{call.repo.id}/" + "/".join(path.split("/")[4:])
    return call.world.urls.api(path) + "?" + urlencode({**call.query, "page": page})
