"""The names of loops. Reporters say what they talk about; only the recorder turns that into a loop's name."""

from __future__ import annotations

import re
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, StringConstraints

from amends.common.policy import Id

INSTALLATION = "installation"
LOOP = re.compile(r"^(installation|[0-9]{1,19}-(pr-[0-9]{1,19}|policy|br-[0-9a-f]{16}-[0-9]{1,9}))$")


class About(BaseModel):
    """What a report is about: a pull request (repo, number), a repository's policy (repo alone), or a loop by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    repo: Id | None = None
    number: Id | None = None
    loop: Annotated[str, StringConstraints(pattern=LOOP.pattern)] | None = None


def loop_name(about: About) -> str | None:
    """The loop it is about; None when it names none."""
    if about.loop is not None:
        return about.loop if about.repo is None and about.number is None else None
    if about.repo is None:
        return INSTALLATION if about.number is None else None
    return f"{about.repo}-policy" if about.number is None else f"{about.repo}-pr-{about.number}"


class PullId(NamedTuple):
    """A pull request, by the numbers that never change."""

    repo: int
    number: int


LoopKind = Literal["change", "installation", "policy"]


def kind_of(loop: str) -> LoopKind:
    """Whether the loop follows a change or holds settings."""
    if loop == INSTALLATION:
        return "installation"
    return "policy" if loop.endswith("-policy") else "change"


def policy_loop(loop: str) -> str:
    """Where the policy of this loop's repository is kept."""
    return f"{loop.split('-', 1)[0]}-policy"
