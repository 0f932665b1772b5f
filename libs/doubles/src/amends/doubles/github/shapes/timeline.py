"""What happened to an issue, as its timeline tells it."""

from __future__ import annotations

from amends.doubles.github.clock import stamp
from amends.doubles.github.refusal import Json
from amends.doubles.github.shapes import talk
from amends.doubles.github.shapes.accounts import maybe_user, team, user
from amends.doubles.github.state.accounts import Account, Team
from amends.doubles.github.state.repositories import Label
from amends.doubles.github.state.talk import Issue, IssueComment, Mark, Review
from amends.doubles.github.state.world import World


def mark(world: World, issue: Issue, one: Mark) -> Json:
    match one.of:
        case IssueComment():
            shape = talk.issue_comment(world, one.of)
            return {**shape, "event": "commented", "actor": shape["user"]}
        case Review():
            return {**talk.review(world, one.of), "state": one.of.state.lower(), "event": "reviewed"}
        case Label():
            return {**_plain(world, issue, one), "label": {"name": one.of.name, "color": one.of.color}}
        case Team():
            return {**_request(world, issue, one), "requested_team": team(world.urls, one.of)}
        case Account() if one.event.startswith("review_request"):
            return {**_request(world, issue, one), "requested_reviewer": user(world.urls, one.of)}
        case Account():
            return {**_plain(world, issue, one), "assignee": user(world.urls, one.of)}
        case (Review() as review, str() as message):
            said = {"state": "approved", "review_id": review.id, "dismissal_message": message}
            return {**_plain(world, issue, one), "dismissed_review": said}
        case _:
            return {
                **_plain(world, issue, one),
                **({"lock_reason": issue.lock_reason} if one.event == "locked" else {}),
            }


def _request(world: World, issue: Issue, one: Mark) -> Json:
    return {**_plain(world, issue, one), "review_requester": user(world.urls, one.actor)}


def _plain(world: World, issue: Issue, one: Mark) -> Json:
    number = issue.timeline.index(one) + 1
    api = world.urls.api(f"/repos/{issue.repo.full_name}/issues/events/{number}")
    return {
        "id": number,
        "node_id": f"TE_{issue.id}_{number}",
        "url": api,
        "actor": maybe_user(world.urls, one.actor),
        "event": one.event,
        "commit_id": None,
        "commit_url": None,
        "created_at": stamp(one.at),
        "performed_via_github_app": None,
    }
