"""What a process does to the outside, told before and after: tests list these moments, and end the process at each.

Nobody is told anything unless a test, in this very process, puts somebody into `watching`: no setting, no variable and
no file does that. Until then an effect costs one look at `watching`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

When = Literal["before", "after"]
Watching = Callable[[str, object, When], None]

watching: Watching | None = None
_UNSEEN: AbstractContextManager[None] = nullcontext()


class _Seen:
    def __init__(self, kind: str, what: object, watched_by: Watching) -> None:
        self._kind, self._what, self._told = kind, what, watched_by

    def __enter__(self) -> None:
        self._told(self._kind, self._what, "before")

    def __exit__(self, *_: object) -> None:
        self._told(self._kind, self._what, "after")


def effect(kind: str, what: object) -> AbstractContextManager[None]:
    """The block is one effect. `what` says which as far as it is known there; whoever watches makes a name of it."""
    return _UNSEEN if watching is None else _Seen(kind, what, watching)


def passing(kind: str, what: object, when: When) -> None:
    """One end of an effect that is no block, or is too quick for one."""
    if watching is not None:
        watching(kind, what, when)
