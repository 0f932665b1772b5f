"""Answers `checks.requested`: whether checks have begun for a commit of ours; if none has, a human has to know.

A forge starts nothing for some who push (a token of a workflow, a first-time contributor), and says nothing about it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import TypeAdapter

from amends.common.delivery import Never, pull_of
from amends.common.envelope import Event
from amends.common.events import ChecksCounted, ChecksRequested, PrClosed
from amends.common.github.client import Client, Reach
from amends.common.github.errors import Denied, Missing
from amends.common.github.models import Check, Many, Part, Status, Words
from amends.common.github.names import in_path
from amends.common.github.sightings import check_name
from amends.common.identity import PullId
from amends.publisher.live import Live, seen

log = logging.getLogger(__name__)
_MOST = 20
ANY = "any"  # the name of the check when none is required and none began


class _Runs(Part):
    check_runs: Many[Check] = ()


class _Statuses(Part):
    statuses: Many[Status] = ()


class _Named(Part):
    context: Words = ""


class _Required(Part):
    contexts: Many[Words] = ()
    required_status_checks: Many[_Named] = ()


class _Protection(Part):
    required_status_checks: _Required | None = None


class _Branch(Part):
    protection: _Protection | None = None


class _Rule(Part):
    type: Words = ""
    parameters: _Required | None = None


class Pushed(NamedTuple):
    """What was pushed, and where."""

    at: PullId
    sha: str


_RUNS, _STATUSES = TypeAdapter(_Runs), TypeAdapter(_Statuses)
_BRANCH, _RULES = TypeAdapter(_Branch), TypeAdapter(list[_Rule])


@dataclass(frozen=True)
class Watcher:
    """Looks, with a token that reads."""

    client: Client

    async def watch(self, event: Event) -> Sequence[ChecksCounted]:
        """The checks that should have begun and did not."""
        request = event.fact
        if not isinstance(request, ChecksRequested):
            raise Never(f"{event.type} asks for no checks")
        at = pull_of(event.loop)
        try:
            missing = await self._missing(await self.client.repository(at.repo), Pushed(at, request.sha))
        except (Missing, Denied) as error:
            log.info("whether checks began cannot be seen", extra={"loop": event.loop, "error": str(error)[:200]})
            missing = []
        return [ChecksCounted(n=request.n, missing=tuple(missing))]

    async def _missing(self, reach: Reach, pushed: Pushed) -> Sequence[str]:
        live = await seen(reach, pushed.at)
        if isinstance(live.standing, PrClosed) or live.pull.head.sha != pushed.sha:
            return []
        began = await _began(reach, pushed.sha)
        required = await _required(reach, live)
        if required:
            return [check_name(name) for name in sorted(required - began)[:_MOST]]
        # With nothing required, it is the base branch that shows whether anything should have begun.
        return [] if began or not await _began(reach, live.pull.base.sha) else [ANY]


async def _began(reach: Reach, sha: str) -> set[str]:
    runs = await reach.get(f"/commits/{sha}/check-runs?per_page=100", _RUNS)
    told = await reach.get(f"/commits/{sha}/status?per_page=100", _STATUSES)
    return {one.name for one in runs.check_runs} | {one.context for one in told.statuses}


async def _required(reach: Reach, live: Live) -> set[str]:
    """By the branch's protection, and by rulesets."""
    base = in_path(live.pull.base.ref)
    branch = await reach.get(f"/branches/{base}", _BRANCH)
    protected = branch.protection.required_status_checks if branch.protection else None
    rules = await reach.get(f"/rules/branches/{base}", _RULES)
    named = (one for rule in rules if rule.parameters for one in rule.parameters.required_status_checks)
    return {name for name in (*(protected.contexts if protected else ()), *(one.context for one in named)) if name}
