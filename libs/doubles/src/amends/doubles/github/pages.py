"""What a browser gets: a pull request as plain text, for the eyes of a demo."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amends.doubles.github.anchors import merge_base
from amends.doubles.github.http import Reply, Request
from amends.doubles.github.rules import shown_reviews, shown_threads
from amends.doubles.github.state.talk import Pull, Said
from amends.doubles.github.state.world import World

_PULL = re.compile(r"/(?P<repo>[^/]+/[^/]+)/pull/(?P<number>\d+)(?P<diff>\.diff|\.patch)?(/.*)?")


def page(world: World, request: Request) -> Reply:
    match = _PULL.fullmatch(request.path)
    repo = world.find_repository(match["repo"]) if match else None
    issue = repo.issues.get(int(match["number"])) if match and repo else None
    if match is None or issue is None or issue.pull is None or issue.repo.private:
        return Reply(404, b"Not Found", {"content-type": "text/plain"})
    pull = issue.pull
    if match["diff"]:
        raw = world.git.patch(pull.repo.folder, merge_base(world, pull, pull.head), pull.head)
        return Reply(200, raw, {"content-type": "text/plain; charset=utf-8"})
    return Reply(200, "\n".join(_lines(pull)).encode(), {"content-type": "text/plain; charset=utf-8"})


def _lines(pull: Pull) -> Iterator[str]:
    issue = pull.issue
    state = "merged" if pull.merged else "open" if issue.open else "closed"
    yield f"{pull.repo.full_name}#{pull.number} {issue.title} [{state}{', draft' if pull.draft else ''}]"
    yield f"{pull.head_ref} -> {pull.base_ref} at {pull.head[:12]}"
    if issue.labels:
        yield "labels: " + ", ".join(one.name for one in issue.labels)
    if pull.reviewers:
        yield "waiting for: " + ", ".join(one.login for one in pull.reviewers)
    yield from _said("description", issue.said)
    for review in shown_reviews(pull, None):
        if review.said.body or review.state != "COMMENTED":
            yield from _said(review.state.lower().replace("_", " "), review.said)
    for thread in shown_threads(pull, None):
        place = "outdated" if thread.current is None else f"line {thread.current.line}"
        resolved = ", resolved" if thread.resolved_by else ""
        yield f"\n--- {thread.origin.anchor.path}, {place}{resolved}"
        for comment in thread.comments:
            yield from _said("", comment.said)
    for one in issue.comments:
        yield from _said("comment", one.said)


def _said(kind: str, said: Said) -> Iterator[str]:
    name = "ghost" if said.author.gone else said.author.login
    yield f"\n{name}{f' ({kind})' if kind else ''}:"
    yield from (f"    {line}" for line in said.body.splitlines())
