"""Reviews and requests for them."""

from __future__ import annotations

from typing import Any, cast

from amends.doubles.github.acts import reviewers as asking
from amends.doubles.github.acts import reviewing as acts
from amends.doubles.github.acts.threads import Remark
from amends.doubles.github.refusal import Refused, field_error, invalid
from amends.doubles.github.rest.call import Answer, Call
from amends.doubles.github.rest.pages import paged, visible
from amends.doubles.github.rest.pulls import READ, WRITE, seen_head
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.rules import shown_reviews
from amends.doubles.github.shapes import accounts, pulls, talk
from amends.doubles.github.state.talk import Anchor, Side

ROUTES = Routes()
_AT = "/repos/{owner}/{repo}/pulls/{pull_number}"


@ROUTES.on(f"GET {_AT}/reviews", READ)
def listed(call: Call) -> Answer:
    shown = shown_reviews(call.pull(), call.caller.account)
    return paged(call, visible(call, shown, lambda one: one.node), lambda one: talk.review(call.world, one))


@ROUTES.on(f"POST {_AT}/reviews", WRITE)
def written(call: Call) -> Answer:
    """Answers 200 and not 201."""
    remarks = tuple(_remark(call, one) for one in call.fields.get("comments") or [])
    draft = acts.Draft(call.text("event"), call.text("body") or "", call.text("commit_id"), remarks)
    return Answer(200, talk.review(call.world, acts.write(call.world, call.caller, call.pull(), draft)))


def _remark(call: Call, said: Any) -> Remark:  # noqa: ANN401 - a part of the body
    if not isinstance(said, dict) or not isinstance(said.get("path"), str) or not isinstance(said.get("body"), str):
        raise Refused(422, "Invalid request.\n\nFor 'properties/comments', path and body are needed.")
    anchor = anchor_of(said)
    if anchor.line is None and said.get("position") is None:
        raise invalid(field_error("PullRequestReviewComment", "position", "missing_field"))
    return Remark(said["body"], anchor, said.get("position"), call.text("commit_id"))


def anchor_of(said: dict[str, Any]) -> Anchor:
    side, start_side = said.get("side") or "RIGHT", said.get("start_side")
    for name, value in (("side", side), ("start_side", start_side)):
        if value not in {"LEFT", "RIGHT", "side", None}:
            raise invalid(field_error("PullRequestReviewComment", name, "invalid"))
    start = None if said.get("start_line") is None else cast("Side", start_side or side)
    return Anchor(said["path"], said.get("line"), cast("Side", side), said.get("start_line"), start)


@ROUTES.on(f"GET {_AT}/reviews/{{review_id}}", READ)
def one(call: Call) -> Answer:
    return Answer(200, talk.review(call.world, call.review()))


@ROUTES.on(f"PUT {_AT}/reviews/{{review_id}}", WRITE)
def edited(call: Call) -> Answer:
    review = call.review()
    acts.edit(call.world, call.caller, review, call.needed("body"))
    return Answer(200, talk.review(call.world, review))


@ROUTES.on(f"DELETE {_AT}/reviews/{{review_id}}", WRITE)
def discarded(call: Call) -> Answer:
    review = call.review()
    shape = talk.review(call.world, review)
    acts.discard(call.world, call.caller, review)
    return Answer(200, shape)


@ROUTES.on(f"GET {_AT}/reviews/{{review_id}}/comments", READ)
def comments(call: Call) -> Answer:
    said = visible(call, call.review().comments, lambda one: one.node)
    return paged(call, said, lambda one: talk.review_listed(call.world, one))


@ROUTES.on(f"POST {_AT}/reviews/{{review_id}}/events", WRITE)
def submitted(call: Call) -> Answer:
    review = call.review()
    acts.submit(call.world, call.caller, review, call.needed("event"), call.text("body"))
    return Answer(200, talk.review(call.world, review))


@ROUTES.on(f"PUT {_AT}/reviews/{{review_id}}/dismissals", WRITE)
def dismissed(call: Call) -> Answer:
    review = call.review()
    acts.dismiss(call.world, call.caller, review, call.needed("message"))
    return Answer(200, talk.review(call.world, review))


@ROUTES.on(f"GET {_AT}/requested_reviewers", READ)
def requested(call: Call) -> Answer:
    """Bots that were asked are not among them: REST never lists one."""
    pull, urls = call.pull(), call.world.urls
    people = [accounts.user(urls, one) for one in pull.reviewers if one.kind == "User"]
    return Answer(200, {"users": people, "teams": [accounts.team(urls, one) for one in pull.teams]})


@ROUTES.on(f"POST {_AT}/requested_reviewers", WRITE)
def request(call: Call) -> Answer:
    pull = call.pull()
    asking.request(call.world, call.caller, pull, call.names("reviewers"), call.names("team_reviewers"))
    return Answer(201, pulls.simple(call.world, pull, seen_head(call, pull)))


@ROUTES.on(f"DELETE {_AT}/requested_reviewers", WRITE)
def withdrawn(call: Call) -> Answer:
    pull = call.pull()
    asking.withdraw(call.world, call.caller, pull, call.names("reviewers"), call.names("team_reviewers"))
    return Answer(200, pulls.simple(call.world, pull))
