"""What we know of a workspace, in the form in which it lies beside it: a column for each property of what stands there.

So json and the tuples are made without a step of Python for each file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from amends.fixer.inventory import Print, Sight, Thing

_COLUMNS = ("modes", "blobs", "sizes", "changed", "inodes")


@dataclass(frozen=True)
class Kept:
    """The commit that a workspace was brought to, and how we left it."""

    base: str
    sight: Sight
    used: float = 0.0

    @classmethod
    def read(cls, text: str) -> Kept:
        """What was written; raises ValueError, KeyError or TypeError where that is nothing that can be read."""
        said = json.loads(text)
        if "paths" in said:
            things = _things(said["paths"], *(said[name] for name in _COLUMNS))
        else:
            things = _older(said["things"])
        return cls(said["base"], Sight(things, frozenset(said["folders"])), said["used"])

    def written(self) -> str:
        """As it is kept."""
        things = self.sight.things.values()
        prints = _column(things, 2)
        columns = [_column(things, 0), _column(things, 1), *(_column(prints, number) for number in range(3))]
        said = {"base": self.base, "used": self.used, "folders": sorted(self.sight.folders)}
        return json.dumps({**said, "paths": list(self.sight.things), **dict(zip(_COLUMNS, columns, strict=True))})


def _column(rows: Iterable[Any], number: int) -> list[Any]:
    return list(map(itemgetter(number), rows))


def _things(
    paths: Iterable[str], modes: Iterable[str], blobs: Iterable[str], *looks: Iterable[int]
) -> dict[str, Thing]:
    prints = map(partial(tuple.__new__, Print), zip(*looks, strict=True))
    return dict(zip(paths, map(partial(tuple.__new__, Thing), zip(modes, blobs, prints, strict=True)), strict=True))


def _older(things: Mapping[str, Any]) -> dict[str, Thing]:
    """Each path had a list of its own once: what stands in a workspace since then is ours as well."""
    return {path: Thing(mode, blob, Print(*looks)) for path, (mode, blob, *looks) in things.items()}
