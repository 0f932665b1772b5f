"""Which request goes where. Templates are those of GitHub's own description, so that a test can compare them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from amends.doubles.github.caller import Need
from amends.doubles.github.rest.call import Answer, Call

Handler = Callable[[Call], Answer]
# These may hold slashes.
_LONG = {"path", "ref", "basehead", "branch", "tree_sha"}


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    need: Need | None
    handler: Handler
    pattern: re.Pattern[str]


class Routes:
    """Routes in the order they were added; the first that fits answers."""

    def __init__(self, *others: Routes) -> None:
        self.all: list[Route] = [route for other in others for route in other.all]
        self._near: dict[tuple[str, str], list[Route]] = {}
        for route in self.all:
            self._index(route)

    def on(self, line: str, need: Need | None = None) -> Callable[[Handler], Handler]:
        """`@ROUTES.on("GET /repos/{owner}/{repo}/pulls", Need(...))`."""
        method, _, template = line.partition(" ")

        def add(handler: Handler) -> Handler:
            route = Route(method, template, need, handler, _pattern(template))
            self.all.append(route)
            self._index(route)
            return handler

        return add

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]] | None:
        for route in self._near.get((method, _district(path)), []):
            if match := route.pattern.fullmatch(path):
                return route, match.groupdict()
        return None

    def methods(self, path: str) -> Iterable[str]:
        return (route.method for route in self.all if route.pattern.fullmatch(path))

    def _index(self, route: Route) -> None:
        self._near.setdefault((route.method, _district(route.template)), []).append(route)


def _district(path: str) -> str:
    """The word that tells most: `pulls` of /repos/o/r/pulls/1, or the first one."""
    words = path.split("/")
    if words[1] != "repos":
        return words[1]
    return "/" + (words[4] if len(words) > 4 else "")  # noqa: PLR2004 - "", repos, owner, repo, word


def _pattern(template: str) -> re.Pattern[str]:
    def slot(match: re.Match[str]) -> str:
        name = match.group(1)
        # So that /pulls/comments is not the pull request of that number.
        form = r"\d+" if name.endswith(("_id", "_number")) else ".+" if name in _LONG else "[^/]+"
        return f"(?P<{name}>{form})"

    return re.compile(re.sub(r"\{(\w+)\}", slot, template.replace(".", r"\.")))
