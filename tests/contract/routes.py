"""Every route that the double has, by path: what GitHub's description is cut to, and compared with."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

from amends.doubles.github.limits import Limits
from amends.doubles.github.rest import hooks, meta
from amends.doubles.github.rest.dispatch import table
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.state.world import Urls, World
from amends.doubles.github.webhooks.post import Post


def routes() -> Routes:
    world = World(Path(tempfile.gettempdir()), Urls("http://127.0.0.1:9"))
    return table(hooks.routes(Post(world)), meta.routes(Limits(world.clock)))


def all_routes() -> dict[str, list[str]]:
    """Path -> methods."""
    found: dict[str, list[str]] = defaultdict(list)
    for route in routes().all:
        found[route.template].append(route.method)
    return dict(found)
