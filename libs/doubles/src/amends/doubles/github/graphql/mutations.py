"""What GraphQL can change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from amends.doubles.github.acts import conversation, labels, pulls, reviewers, reviewing, threads
from amends.doubles.github.acts.words import react, unreact
from amends.doubles.github.caller import Need, demand
from amends.doubles.github.graphql.fields import Arguments, Asking, Fields, Resolver, add
from amends.doubles.github.graphql.repositories import find, home_of
from amends.doubles.github.graphql.said import CONTENTS, repository_of, said_of
from amends.doubles.github.refusal import Refused, not_found
from amends.doubles.github.rules import check_edit
from amends.doubles.github.state.accounts import Account, Team
from amends.doubles.github.state.repositories import Label
from amends.doubles.github.state.talk import Anchor, Comment, Issue, IssueComment, Pull, Review, Thread

Act = Callable[[Asking, Arguments], dict[str, Any]]
_WRITE = Need("pull_requests", "write")
_TALK = Need("pull_requests", "write", also="issues")


def thing(asking: Asking, node: object, kind: type | tuple[type, ...], need: Need | None = _WRITE) -> Any:  # noqa: ANN401
    """A node of the right kind, that the caller may change."""
    found = find(asking, str(node))
    if not isinstance(found, kind):
        raise Refused(404, f"Could not resolve to a node with the global id of '{node}'")
    home = home_of(found)
    if home is not None and need is not None:
        demand(asking.caller, home, need)
    return found


def mutation(name: str, act: Act, **payload: str) -> None:
    """Make a mutation and its payload known: payload field -> key of what the act returns."""
    kind = name[0].upper() + name[1:] + "Payload"
    add(
        "Mutation",
        {name: lambda _, asking, arguments: {**act(asking, arguments["input"]), "input": arguments["input"]}},
    )
    fields: Fields = {field: _part(key) for field, key in payload.items()}
    add(kind, {"clientMutationId": lambda one, _, __: one["input"].get("clientMutationId"), **fields})


def _part(key: str) -> Resolver:
    return lambda one, _, __: one[key]


def _resolve(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: Thread = thing(asking, said["threadId"], Thread, None)
    threads.resolve(asking.world, asking.caller, found)
    return {"thread": found}


def _unresolve(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: Thread = thing(asking, said["threadId"], Thread, None)
    threads.unresolve(asking.world, asking.caller, found)
    return {"thread": found}


def _reply(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: Thread = thing(asking, said["pullRequestReviewThreadId"], Thread)
    return {"comment": threads.reply(asking.world, asking.caller, found, said["body"])}


def _anchor(said: Arguments) -> Anchor:
    start = said.get("startLine")
    line = None if said.get("subjectType") == "FILE" else said.get("line")
    return Anchor(said["path"], line, said.get("side") or "RIGHT", start, said.get("startSide") if start else None)


def _thread(asking: Asking, said: Arguments) -> dict[str, Any]:
    """Within one's pending review if one is named, otherwise for itself."""
    remark = threads.Remark(said["body"], _anchor(said))
    if (node := said.get("pullRequestReviewId")) is not None:
        review: Review = thing(asking, node, Review)
        return {"thread": threads.begin(asking.world, asking.caller, review, remark).thread}
    pull: Pull = thing(asking, said.get("pullRequestId"), Pull)
    return {"thread": threads.comment(asking.world, asking.caller, pull, remark).thread}


def _review(asking: Asking, said: Arguments) -> dict[str, Any]:
    pull: Pull = thing(asking, said["pullRequestId"], Pull)
    remarks = [threads.Remark(one["body"], _anchor(one)) for one in said.get("threads") or []]
    old = said.get("comments") or []
    remarks += [threads.Remark(one["body"], Anchor(one["path"]), one["position"]) for one in old]
    draft = reviewing.Draft(said.get("event"), said.get("body") or "", said.get("commitOID"), tuple(remarks))
    return {"review": reviewing.write(asking.world, asking.caller, pull, draft)}


def _submit(asking: Asking, said: Arguments) -> dict[str, Any]:
    if (node := said.get("pullRequestReviewId")) is not None:
        review: Review = thing(asking, node, Review)
    else:
        pull: Pull = thing(asking, said.get("pullRequestId"), Pull)
        own = (one for one in pull.reviews if one.state == "PENDING" and one.said.author is asking.caller.account)
        if (mine := next(own, None)) is None:
            raise not_found()
        review = mine
    reviewing.submit(asking.world, asking.caller, review, said["event"], said.get("body"))
    return {"review": review}


def _update_review(asking: Asking, said: Arguments) -> dict[str, Any]:
    review: Review = thing(asking, said["pullRequestReviewId"], Review)
    reviewing.edit(asking.world, asking.caller, review, said["body"])
    return {"review": review}


def _delete_review(asking: Asking, said: Arguments) -> dict[str, Any]:
    review: Review = thing(asking, said["pullRequestReviewId"], Review)
    reviewing.discard(asking.world, asking.caller, review)
    return {"review": review}


def _dismiss(asking: Asking, said: Arguments) -> dict[str, Any]:
    review: Review = thing(asking, said["pullRequestReviewId"], Review)
    reviewing.dismiss(asking.world, asking.caller, review, said["message"])
    return {"review": review}


def _request(asking: Asking, said: Arguments) -> dict[str, Any]:
    """`union` false replaces who is asked. `botIds` works on GitHub, though its published schema lacks it."""
    pull: Pull = thing(asking, said["pullRequestId"], Pull)
    asked: list[Account | Team] = []
    for field, kind in (("userIds", Account), ("botIds", Account), ("teamIds", Team)):
        asked += [thing(asking, node, kind) for node in said.get(field) or []]
    if not said.get("union"):
        gone = [one.login for one in pull.reviewers if one not in asked]
        reviewers.withdraw(asking.world, asking.caller, pull, gone)
    reviewers.request_by_node(asking.world, asking.caller, pull, asked)
    return {"pull": pull, "actor": asking.caller.account}


def _say(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: Pull | Issue = thing(asking, said["subjectId"], (Pull, Issue), _TALK)
    issue = found.issue if isinstance(found, Pull) else found
    return {"edge": ("", made := conversation.say(asking.world, asking.caller, issue, said["body"]), made)}


def _update_comment(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: IssueComment = thing(asking, said["id"], IssueComment, _TALK)
    conversation.edit(asking.world, asking.caller, found, said["body"])
    return {"comment": found}


def _delete_comment(asking: Asking, said: Arguments) -> dict[str, Any]:
    conversation.delete(asking.world, asking.caller, thing(asking, said["id"], IssueComment, _TALK))
    return {}


def _update_inline(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: Comment = thing(asking, said["pullRequestReviewCommentId"], Comment)
    threads.edit(asking.world, asking.caller, found, said["body"])
    return {"comment": found}


def _delete_inline(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: Comment = thing(asking, said["id"], Comment)
    threads.delete(asking.world, asking.caller, found)
    return {"review": found.review, "comment": found}


def _minimize(asking: Asking, said: Arguments) -> dict[str, Any]:
    found: Comment | IssueComment | Review = thing(asking, said["subjectId"], (Comment, IssueComment, Review), _TALK)
    check_edit(asking.caller, repository_of(found), said_of(found))
    said_of(found).minimized = said["classifier"].lower() if "classifier" in said else None
    return {"found": found}


def _react(asking: Asking, said: Arguments) -> dict[str, Any]:
    found = thing(asking, said["subjectId"], (Comment, IssueComment, Review, Issue, Pull), _TALK)
    word = next(name for name, content in CONTENTS.items() if content == said["content"])
    reaction, _ = react(asking.world, asking.caller, said_of(found), word)
    return {"reaction": reaction, "subject": found}


def _unreact(asking: Asking, said: Arguments) -> dict[str, Any]:
    found = thing(asking, said["subjectId"], (Comment, IssueComment, Review, Issue, Pull), _TALK)
    own = [one for one in said_of(found).reactions if one.account is asking.caller.account]
    mine = next((one for one in own if CONTENTS[one.content] == said["content"]), None)
    if mine is None:
        raise not_found()
    unreact(said_of(found), mine.id)
    return {"reaction": mine, "subject": found}


def _labels(asking: Asking, said: Arguments, *, on: bool) -> dict[str, Any]:
    found: Pull | Issue = thing(
        asking, said["labelableId"], (Pull, Issue), Need("issues", "write", "triage", "pull_requests")
    )
    issue = found.issue if isinstance(found, Pull) else found
    names = [thing(asking, node, Label, None).name for node in said["labelIds"]]
    if on:
        labels.add(asking.world, asking.caller, issue, names)
    for name in () if on else names:
        labels.remove(asking.world, asking.caller, issue, name)
    return {"labelable": found}


def _draft(asking: Asking, said: Arguments, *, on: bool) -> dict[str, Any]:
    pull: Pull = thing(asking, said["pullRequestId"], Pull)
    pulls.draft(asking.world, asking.caller, pull, on=on)
    return {"pull": pull}


def _close(asking: Asking, said: Arguments, *, on: bool) -> dict[str, Any]:
    pull: Pull = thing(asking, said["pullRequestId"], Pull)
    (pulls.close if on else pulls.reopen)(asking.world, asking.caller, pull.issue)
    return {"pull": pull}


def _update_pull(asking: Asking, said: Arguments) -> dict[str, Any]:
    pull: Pull = thing(asking, said["pullRequestId"], Pull)
    pulls.retitle(asking.world, asking.caller, pull, said.get("title"), said.get("body"))
    if said.get("baseRefName") is not None:
        pulls.retarget(asking.world, asking.caller, pull, said["baseRefName"])
    return {"pull": pull}


mutation("resolveReviewThread", _resolve, thread="thread")
mutation("unresolveReviewThread", _unresolve, thread="thread")
mutation("addPullRequestReviewThreadReply", _reply, comment="comment")
mutation("addPullRequestReviewThread", _thread, thread="thread")
mutation("addPullRequestReview", _review, pullRequestReview="review")
mutation("submitPullRequestReview", _submit, pullRequestReview="review")
mutation("updatePullRequestReview", _update_review, pullRequestReview="review")
mutation("deletePullRequestReview", _delete_review, pullRequestReview="review")
mutation("dismissPullRequestReview", _dismiss, pullRequestReview="review")
mutation("requestReviews", _request, pullRequest="pull", actor="actor")
mutation("addComment", _say, commentEdge="edge")
mutation("updateIssueComment", _update_comment, issueComment="comment")
mutation("deleteIssueComment", _delete_comment)
mutation("updatePullRequestReviewComment", _update_inline, pullRequestReviewComment="comment")
mutation(
    "deletePullRequestReviewComment", _delete_inline, pullRequestReview="review", pullRequestReviewComment="comment"
)
mutation("minimizeComment", _minimize, minimizedComment="found")
mutation("unminimizeComment", _minimize, unminimizedComment="found")
mutation("addReaction", _react, reaction="reaction", subject="subject")
mutation("removeReaction", _unreact, reaction="reaction", subject="subject")
mutation("addLabelsToLabelable", lambda asking, said: _labels(asking, said, on=True), labelable="labelable")
mutation("removeLabelsFromLabelable", lambda asking, said: _labels(asking, said, on=False), labelable="labelable")
mutation("convertPullRequestToDraft", lambda asking, said: _draft(asking, said, on=True), pullRequest="pull")
mutation("markPullRequestReadyForReview", lambda asking, said: _draft(asking, said, on=False), pullRequest="pull")
mutation("closePullRequest", lambda asking, said: _close(asking, said, on=True), pullRequest="pull")
mutation("reopenPullRequest", lambda asking, said: _close(asking, said, on=False), pullRequest="pull")
mutation("updatePullRequest", _update_pull, pullRequest="pull")
