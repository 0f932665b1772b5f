"""Comments in the conversation of an issue or a pull request."""

from __future__ import annotations

from amends.doubles.github.acts.words import check_body, said
from amends.doubles.github.caller import Caller
from amends.doubles.github.rules import check_edit, check_unlocked
from amends.doubles.github.state.talk import Issue, IssueComment, Mark
from amends.doubles.github.state.world import Happening, World


def say(world: World, caller: Caller, issue: Issue, body: str) -> IssueComment:
    check_unlocked(caller, issue)
    text = said(world, caller, check_body(body))
    number = world.ids.take("issue_comment")
    made = IssueComment(number, "", issue, text)
    made.node = world.known("issue_comment", number, made)
    issue.comments.append(made)
    issue.said.updated = text.created
    issue.timeline.append(Mark("commented", caller.someone, text.created, made))
    world.lag.created(made.node)
    _tell(world, caller, made, "created")
    return made


def edit(world: World, caller: Caller, comment: IssueComment, body: str) -> None:
    check_edit(caller, comment.issue.repo, comment.said)
    before = comment.said.body
    comment.said.edit(check_body(body), caller.someone, world.clock.moment())
    comment.issue.said.updated = comment.said.updated
    _tell(world, caller, comment, "edited", changes={"body": {"from": before}})


def delete(world: World, caller: Caller, comment: IssueComment) -> None:
    check_edit(caller, comment.issue.repo, comment.said)
    _tell(world, caller, comment, "deleted")
    issue = comment.issue
    issue.comments.remove(comment)
    issue.timeline[:] = [mark for mark in issue.timeline if mark.of is not comment]
    issue.said.updated = world.clock.moment()
    world.nodes.pop(comment.node, None)


def _tell(world: World, caller: Caller, comment: IssueComment, action: str, **parts: object) -> None:
    about = {**parts, "issue": comment.issue, "comment": comment}
    world.emit(Happening("issue_comment", action, caller.someone, comment.issue.repo, about))
