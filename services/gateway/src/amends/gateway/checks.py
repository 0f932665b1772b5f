"""Deliveries about checks. For heads in forks, and for every status, GitHub does not say which pull request it is."""

from __future__ import annotations

from amends.common.events import ChecksFinished
from amends.common.github.models import Check, Status
from amends.common.github.sightings import check_finished
from amends.gateway.found import Found, Ignored, Observed, Sight
from amends.gateway.payloads import OfCheck, OfStatus, Unreadable


def check_run(sight: Sight, delivery: OfCheck) -> Found:
    run = delivery.check_run
    ended = _ended(sight, run) if delivery.action == "completed" else sight.ignored("undecided")
    if isinstance(ended, Ignored):
        return ended
    numbers = [one.number for one in run.pull_requests if one.base.repo is None or one.base.repo.id == sight.repo]
    if not numbers:  # so it is for heads in forks
        return Observed(sight.repo, sight.full_name, sight.actor, check=ended)
    return Observed(sight.repo, sight.full_name, sight.actor, tuple((number, ended) for number in numbers))


def status(sight: Sight, delivery: OfStatus) -> Found:
    if delivery.name.lower() not in {"", sight.full_name.lower()}:
        raise Unreadable("name: it is not what repository.full_name says")
    ended = _ended(sight, delivery)
    return ended if isinstance(ended, Ignored) else Observed(sight.repo, sight.full_name, sight.actor, check=ended)


def _ended(sight: Sight, check: Check | Status) -> ChecksFinished | Ignored:
    if not (check.sha if isinstance(check, Status) else check.head_sha):
        return sight.ignored("not_named")
    return check_finished(check) or sight.ignored("undecided")
