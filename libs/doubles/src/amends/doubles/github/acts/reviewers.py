"""Asking for reviews, and taking it back."""

from __future__ import annotations

from collections.abc import Sequence

from amends.doubles.github.caller import Caller
from amends.doubles.github.refusal import invalid
from amends.doubles.github.rules import check_reviewer, check_team
from amends.doubles.github.state.accounts import Account, Team
from amends.doubles.github.state.talk import Mark, Pull
from amends.doubles.github.state.world import Happening, World


def request(world: World, caller: Caller, pull: Pull, logins: Sequence[str], slugs: Sequence[str] = ()) -> None:
    """As REST does it: one bad name refuses all."""
    if not logins and not slugs:
        raise invalid("No reviewers given", message="Validation Failed")
    found = [world.find_account(login) for login in logins]
    for account in found:
        check_reviewer(pull, account)
    for slug in slugs:
        check_team(pull, slug)
    for account in found:
        if account is not None:
            _ask(world, caller, pull, account)
    for team in pull.repo.known_teams:
        if team.slug in slugs:
            _ask(world, caller, pull, team)


def request_by_node(world: World, caller: Caller, pull: Pull, asked: Sequence[Account | Team]) -> None:
    """As GraphQL's requestReviews does it, which also takes bots that review on request."""
    for one in asked:
        if isinstance(one, Team):
            check_team(pull, one.slug)
        elif not (one.kind == "Bot" and one.reviews_on_request):
            check_reviewer(pull, one)
    for one in asked:
        _ask(world, caller, pull, one)


def withdraw(world: World, caller: Caller, pull: Pull, logins: Sequence[str], slugs: Sequence[str] = ()) -> None:
    wanted = {login.casefold() for login in logins}
    for account in [one for one in pull.reviewers if one.login.casefold() in wanted]:
        pull.reviewers.remove(account)
        _tell(world, caller, pull, "review_request_removed", account)
    for team in [one for one in pull.teams if one.slug in slugs]:
        pull.teams.remove(team)
        _tell(world, caller, pull, "review_request_removed", team)


def _ask(world: World, caller: Caller, pull: Pull, one: Account | Team) -> None:
    """Asking somebody who is asked already changes nothing and tells nobody."""
    if one in pull.reviewers or one in pull.teams:
        return
    if isinstance(one, Team):
        pull.teams.append(one)
    else:
        pull.reviewers.append(one)
    _tell(world, caller, pull, "review_requested", one)


def _tell(world: World, caller: Caller, pull: Pull, action: str, one: Account | Team) -> None:
    pull.issue.said.updated = world.clock.moment()
    pull.issue.timeline.append(Mark(action, caller.someone, world.clock.moment(), one))
    name = "requested_team" if isinstance(one, Team) else "requested_reviewer"
    parts = {"pull_request": pull, name: one}
    world.emit(Happening("pull_request", action, caller.someone, pull.repo, parts))
