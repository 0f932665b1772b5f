"""What there is to say about where a loop stands: values, the same for the command line, the panel and a comment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from amends.common.standing import Status


class Condition(NamedTuple):
    """One thing that has to be so for the loop to go on; `remedy` says how it comes to be so."""

    what: str
    remedy: str
    met: bool = False


class Turn(NamedTuple):
    """Somebody the loop waits for: a service, a person, or time. `due` is in the log's microseconds."""

    who: str
    what: str
    due: int | None = None


class Happened(NamedTuple):
    """One event, in short."""

    pos: int
    time: int
    type: str
    said: str


class Order(NamedTuple):
    """Something that a person can say now: on the command line, or as a comment on the pull request."""

    command: str
    comment: str
    effect: str


class Deed(NamedTuple):
    """Something that was done, at `pos`, or is not done: why, who brought it about, under which value of the policy."""

    pos: int
    what: str
    why: str
    by: str
    under: str


class Account(NamedTuple):
    """What was done, the newest last, and what was not."""

    done: tuple[Deed, ...]
    undone: tuple[Deed, ...]


@dataclass(frozen=True)
class Handover:
    """What the human who takes over has to know."""

    reason: str
    means: str
    remedy: str
    tried: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a loop stands where it stands at one version of it, and what would move it."""

    loop: str
    name: str
    title: str
    url: str
    status: Status
    version: int
    pos: int
    time: int
    stuck: str
    why: str
    conditions: tuple[Condition, ...]
    next: str
    turns: tuple[Turn, ...]
    last: tuple[Happened, ...]
    handover: Handover | None
    orders: tuple[Order, ...]
    account: Account | None = None
