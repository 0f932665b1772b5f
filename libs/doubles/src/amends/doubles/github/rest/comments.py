"""Inline comments and their replies."""

from __future__ import annotations

from collections.abc import Iterable

from amends.doubles.github.acts import threads as acts
from amends.doubles.github.refusal import Refused, field_error, invalid
from amends.doubles.github.rest.call import NO_CONTENT, Answer, Call
from amends.doubles.github.rest.pages import paged, visible
from amends.doubles.github.rest.pulls import READ, WRITE
from amends.doubles.github.rest.reactions import add_reactions, add_withdrawal
from amends.doubles.github.rest.reviews import anchor_of
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.rules import shown_threads
from amends.doubles.github.shapes import talk
from amends.doubles.github.state.talk import Comment, Pull, Thread

ROUTES = Routes()
_AT = "/repos/{owner}/{repo}/pulls"
_COMMENT = f"{_AT}/comments/{{comment_id}}"


@ROUTES.on(f"GET {_AT}/comments", READ)
def all_listed(call: Call) -> Answer:
    return _list(call, call.repository.pulls)


@ROUTES.on(f"GET {_AT}/{{pull_number}}/comments", READ)
def listed(call: Call) -> Answer:
    return _list(call, [call.pull()])


def _list(call: Call, pulls: Iterable[Pull]) -> Answer:
    viewer, since = call.caller.account, call.since
    found = [
        one
        for pull in pulls
        for thread in shown_threads(pull, viewer)
        for one in thread.comments
        if (one.review.state != "PENDING" or one.said.author is viewer) and (since is None or one.said.updated >= since)
    ]
    by_time = call.query.get("sort") == "updated"
    found.sort(key=lambda one: (one.said.updated if by_time else one.said.created, one.id))
    if call.query.get("direction") == "desc" and "sort" in call.query:
        found.reverse()
    return paged(call, visible(call, found, lambda one: one.node), lambda one: talk.comment(call.world, one))


@ROUTES.on(f"POST {_AT}/{{pull_number}}/comments", WRITE)
def made(call: Call) -> Answer:
    pull, body = call.pull(), call.needed("body")
    if (root := call.integer("in_reply_to")) is not None:
        return _created(call, acts.reply(call.world, call.caller, _thread(pull, root), body))
    for name in ("path", "commit_id"):
        if call.text(name) is None:
            raise invalid(field_error("PullRequestReviewComment", name, "missing_field"))
    anchor = anchor_of(call.fields)
    position = call.integer("position")
    if anchor.line is None and position is None and call.text("subject_type") != "file":
        raise invalid(field_error("PullRequestReviewComment", "line", "missing_field"))
    remark = acts.Remark(body, anchor, position, call.text("commit_id"))
    return _created(call, acts.comment(call.world, call.caller, pull, remark))


def _created(call: Call, comment: Comment) -> Answer:
    shape = talk.comment(call.world, comment)
    return Answer(201, shape, {"location": shape["url"]})


def _thread(pull: Pull, root: int) -> Thread:
    """Replies go to a thread's first comment, and to no other."""
    for thread in pull.threads:
        numbers = [one.id for one in thread.comments]
        if root == numbers[0]:
            return thread
        if root in numbers:
            raise invalid("in_reply_to is not a top-level comment", message="Validation Failed")
    raise Refused(404, "Not Found")


@ROUTES.on(f"POST {_AT}/{{pull_number}}/comments/{{comment_id}}/replies", WRITE)
def replied(call: Call) -> Answer:
    thread = _thread(call.pull(), call.number("comment_id"))
    return _created(call, acts.reply(call.world, call.caller, thread, call.needed("body")))


@ROUTES.on(f"GET {_COMMENT}", READ)
def one(call: Call) -> Answer:
    return Answer(200, talk.comment(call.world, call.comment()))


@ROUTES.on(f"PATCH {_COMMENT}", WRITE)
def edited(call: Call) -> Answer:
    comment = call.comment()
    acts.edit(call.world, call.caller, comment, call.needed("body"))
    return Answer(200, talk.comment(call.world, comment))


@ROUTES.on(f"DELETE {_COMMENT}", WRITE)
def deleted(call: Call) -> Answer:
    acts.delete(call.world, call.caller, call.comment())
    return NO_CONTENT


add_reactions(ROUTES, _COMMENT, (READ, WRITE), lambda call: call.comment().said)
add_withdrawal(ROUTES, _COMMENT, WRITE, lambda call: call.comment().said)
