"""A thing that was looked at, and how it is told: by `amends doctor`, and by `amends init` while it asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from amends.cli.output import as_json, coloured, say, say_json, shown

Status = Literal["ok", "warn", "fail"]


class Check(NamedTuple):
    """One thing that was looked at: ok, warn or fail, and what would mend it."""

    name: str
    status: Status
    found: str
    remedy: str = ""


def tell(checks: Iterable[Check]) -> list[Check]:
    """Say each of them as it comes."""
    told = []
    for check in checks:
        told.append(check)
        if as_json():
            say_json(check._asdict())
            continue
        say(f"{coloured(check.status, f'{check.status:<5}')} {check.name:<11} {shown(check.found)}")
        if check.remedy:
            say(f"{'':<17} -> {shown(check.remedy)}")
    return told


def failed(checks: Iterable[Check]) -> bool:
    """Whether anything is wrong."""
    return any(check.status == "fail" for check in checks)
