"""Issues and the conversation of pull requests: comments, labels, assignees, locks, timeline."""

from __future__ import annotations

from collections.abc import Iterable

from amends.doubles.github.acts import conversation, labels, pulls
from amends.doubles.github.caller import Need, role_of
from amends.doubles.github.refusal import Json, field_error, invalid, not_found
from amends.doubles.github.rest.call import NO_CONTENT, Answer, Call
from amends.doubles.github.rest.pages import paged, visible
from amends.doubles.github.rest.reactions import add_reactions, add_withdrawal
from amends.doubles.github.rest.routes import Routes
from amends.doubles.github.shapes import repositories, talk
from amends.doubles.github.shapes.timeline import mark
from amends.doubles.github.state.accounts import Account
from amends.doubles.github.state.talk import Issue, IssueComment

ROUTES = Routes()
# A pull request is an issue: an App may talk in one with either permission.
_READ, _WRITE = Need("issues", also="pull_requests"), Need("issues", "write", also="pull_requests")
_TRIAGE = Need("issues", "write", "triage", "pull_requests")
_AT = "/repos/{owner}/{repo}/issues"
_ONE = f"{_AT}/{{issue_number}}"
_COMMENT = f"{_AT}/comments/{{comment_id}}"


@ROUTES.on(f"GET {_AT}", _READ)
def listed(call: Call) -> Answer:
    state, since = call.query.get("state", "open"), call.since
    wanted = [name for name in call.query.get("labels", "").split(",") if name]
    found = [
        one
        for one in call.repository.issues.values()
        if (state == "all" or one.open == (state == "open"))
        and (since is None or one.said.updated >= since)
        and all(any(label.name == name for label in one.labels) for name in wanted)
    ]
    by_update = call.query.get("sort") == "updated"
    found.sort(key=lambda one: (one.said.updated if by_update else one.said.created, one.number))
    if call.query.get("direction", "desc") == "desc":
        found.reverse()
    return paged(call, found, lambda one: talk.issue(call.world, one))


@ROUTES.on(f"POST {_AT}", _WRITE)
def opened(call: Call) -> Answer:
    title, body = call.needed("title"), call.text("body") or ""
    issue = pulls.open_issue(call.world, call.caller, call.repository, title, body)
    return Answer(201, talk.issue(call.world, issue))


@ROUTES.on(f"GET {_AT}/comments", _READ)
def all_comments(call: Call) -> Answer:
    return _comments(call, call.repository.issues.values())


@ROUTES.on(f"GET {_COMMENT}", _READ)
def comment(call: Call) -> Answer:
    return Answer(200, talk.issue_comment(call.world, call.issue_comment()))


@ROUTES.on(f"PATCH {_COMMENT}", _WRITE)
def edited(call: Call) -> Answer:
    found = call.issue_comment()
    conversation.edit(call.world, call.caller, found, call.needed("body"))
    return Answer(200, talk.issue_comment(call.world, found))


@ROUTES.on(f"DELETE {_COMMENT}", _WRITE)
def deleted(call: Call) -> Answer:
    conversation.delete(call.world, call.caller, call.issue_comment())
    return NO_CONTENT


add_reactions(ROUTES, _COMMENT, (_READ, _WRITE), lambda call: call.issue_comment().said)
add_withdrawal(ROUTES, _COMMENT, _WRITE, lambda call: call.issue_comment().said)


@ROUTES.on(f"GET {_ONE}", _READ)
def one(call: Call) -> Answer:
    return Answer(200, talk.issue(call.world, call.issue()))


@ROUTES.on(f"GET {_ONE}/comments", _READ)
def comments(call: Call) -> Answer:
    return _comments(call, [call.issue()])


def _comments(call: Call, issues: Iterable[Issue]) -> Answer:
    since = call.since
    found: list[IssueComment] = [
        one for issue in issues for one in issue.comments if since is None or one.said.updated >= since
    ]
    found.sort(key=lambda one: (one.said.updated if call.query.get("sort") == "updated" else one.said.created, one.id))
    if call.query.get("direction") == "desc" and "sort" in call.query:
        found.reverse()
    return paged(call, visible(call, found, lambda one: one.node), lambda one: talk.issue_comment(call.world, one))


@ROUTES.on(f"POST {_ONE}/comments", _WRITE)
def said(call: Call) -> Answer:
    made = conversation.say(call.world, call.caller, call.issue(), call.needed("body"))
    shape = talk.issue_comment(call.world, made)
    return Answer(201, shape, {"location": shape["url"]})


add_reactions(ROUTES, _ONE, (_READ, _WRITE), lambda call: call.issue().said)


@ROUTES.on(f"GET {_ONE}/labels", _READ)
def labels_of(call: Call) -> Answer:
    return paged(call, call.issue().labels, lambda one: repositories.label(call.world, call.repository, one))


def _labels(call: Call) -> list[str]:
    """The body is a list, or an object with a list of names or of labels."""
    said = call.body if isinstance(call.body, list) else call.fields.get("labels", [])
    names = [one.get("name") if isinstance(one, dict) else one for one in said] if isinstance(said, list) else [None]
    if not all(isinstance(name, str) and name for name in names):
        raise invalid(field_error("Label", "name", "invalid"))
    return [str(name) for name in names]


@ROUTES.on(f"POST {_ONE}/labels", _TRIAGE)
def labelled(call: Call) -> Answer:
    issue = call.issue()
    labels.add(call.world, call.caller, issue, _labels(call))
    return Answer(200, [repositories.label(call.world, issue.repo, one) for one in issue.labels])


@ROUTES.on(f"PUT {_ONE}/labels", _TRIAGE)
def relabelled(call: Call) -> Answer:
    issue = call.issue()
    labels.replace(call.world, call.caller, issue, _labels(call))
    return Answer(200, [repositories.label(call.world, issue.repo, one) for one in issue.labels])


@ROUTES.on(f"DELETE {_ONE}/labels/{{name}}", _TRIAGE)
def unlabelled(call: Call) -> Answer:
    issue = call.issue()
    labels.remove(call.world, call.caller, issue, call.params["name"])
    return Answer(200, [repositories.label(call.world, issue.repo, one) for one in issue.labels])


@ROUTES.on(f"POST {_ONE}/assignees", _TRIAGE)
def assigned(call: Call) -> Answer:
    """Who may not be assigned is left out, without a word."""
    issue = call.issue()
    found = [call.world.find_account(login) for login in call.names("assignees")]
    fit = [one for one in found if one is not None and role_of(issue.repo, one) != "none"]
    labels.assign(call.world, call.caller, issue, fit)
    return Answer(201, talk.issue(call.world, issue))


@ROUTES.on(f"DELETE {_ONE}/assignees", _TRIAGE)
def unassigned(call: Call) -> Answer:
    issue = call.issue()
    found: list[Account] = [one for one in issue.assignees if one.login in call.names("assignees")]
    labels.unassign(call.world, call.caller, issue, found)
    return Answer(200, talk.issue(call.world, issue))


@ROUTES.on(f"PUT {_ONE}/lock", Need("issues", "write", "write"))
def locked(call: Call) -> Answer:
    pulls.lock(call.world, call.caller, call.issue(), call.text("lock_reason"))
    return NO_CONTENT


@ROUTES.on(f"DELETE {_ONE}/lock", Need("issues", "write", "write"))
def unlocked(call: Call) -> Answer:
    pulls.unlock(call.world, call.caller, call.issue())
    return NO_CONTENT


@ROUTES.on(f"GET {_ONE}/timeline", _READ)
def timeline(call: Call) -> Answer:
    issue = call.issue()
    return paged(call, issue.timeline, lambda one: mark(call.world, issue, one))


@ROUTES.on("GET /repos/{owner}/{repo}/labels", _READ)
def all_labels(call: Call) -> Answer:
    return paged(call, call.repository.labels, lambda one: repositories.label(call.world, call.repository, one))


@ROUTES.on("POST /repos/{owner}/{repo}/labels", Need("issues", "write", "write"))
def label_made(call: Call) -> Answer:
    color, text = call.text("color") or "ededed", call.text("description")
    made = labels.create(call.world, call.repository, call.needed("name"), color, text)
    return Answer(201, repositories.label(call.world, call.repository, made))


@ROUTES.on("GET /repos/{owner}/{repo}/labels/{name}", _READ)
def label(call: Call) -> Answer:
    found = labels.find(call.repository, call.params["name"])
    if found is None:
        raise not_found()
    shape: Json = repositories.label(call.world, call.repository, found)
    return Answer(200, shape)
