"""A handle on a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

from amends.doubles.github.acts import checks, conversation, labels, pulls, reviewers, reviewing, threads
from amends.doubles.github.acts.threads import Remark
from amends.doubles.github.control.actors import MAINTAINER, account, caller
from amends.doubles.github.control.talk import CommentHandle, ReviewHandle, ThreadHandle
from amends.doubles.github.refusal import not_found
from amends.doubles.github.rules import decision
from amends.doubles.github.state.talk import Anchor, Pull, Side
from amends.doubles.github.state.world import World

if TYPE_CHECKING:
    from amends.doubles.github.control.repositories import RepositoryHandle

_EVENTS = {"approved": "APPROVE", "changes_requested": "REQUEST_CHANGES", "commented": "COMMENT", "pending": None}


class Place(TypedDict, total=False):
    """Where an inline comment is; without a line it is about the whole file."""

    path: str
    line: int
    side: Side
    start_line: int
    start_side: Side
    commit: str


class Inline(Place):
    """An inline comment of a review."""

    body: str


def remark(said: Inline) -> Remark:
    anchor = Anchor(
        said["path"], said.get("line"), said.get("side", "RIGHT"), said.get("start_line"), said.get("start_side")
    )
    return Remark(said["body"], anchor, None, said.get("commit"))


@dataclass(frozen=True)
class PullHandle:
    world: World
    of: Pull
    repo: RepositoryHandle

    @property
    def number(self) -> int:
        return self.of.number

    @property
    def id(self) -> int:
        return self.of.id

    @property
    def node_id(self) -> str:
        return self.of.node

    @property
    def head(self) -> str:
        return self.of.head

    @property
    def open(self) -> bool:
        return self.of.issue.open

    @property
    def merged(self) -> bool:
        return self.of.merged is not None

    @property
    def labels(self) -> list[str]:
        return [one.name for one in self.of.issue.labels]

    @property
    def waiting_for(self) -> list[str]:
        """Who is asked for a review."""
        return [one.login for one in self.of.reviewers]

    @property
    def decision(self) -> str | None:
        return decision(self.of)

    @property
    def reviews(self) -> list[ReviewHandle]:
        return [ReviewHandle(self.world, one) for one in self.of.reviews]

    @property
    def threads(self) -> list[ThreadHandle]:
        return [ThreadHandle(self.world, one) for one in self.of.threads]

    @property
    def conversation(self) -> list[CommentHandle]:
        return [CommentHandle(self.world, one) for one in self.of.issue.comments]

    def push(self, files: Mapping[str, str | bytes | None], by: str = MAINTAINER, message: str = "Change") -> str:
        """A commit on the head branch, with all that follows from a push."""
        if self.of.head_repo is None:
            raise not_found()
        home = self.repo.other(self.of.head_repo)
        return home.commit(self.of.head_ref, files, by=by, message=message)

    def review(self, by: str, state: str, body: str = "", comments: Sequence[Inline] = ()) -> ReviewHandle:
        """`state` is approved, changes_requested, commented or pending."""
        if state not in _EVENTS:
            raise ValueError(f"state {state!r}: there is {', '.join(_EVENTS)}")
        draft = reviewing.Draft(_EVENTS[state], body, None, tuple(remark(one) for one in comments))
        with self.world.lock:
            return ReviewHandle(self.world, reviewing.write(self.world, caller(self.world, by), self.of, draft))

    def comment(self, by: str, body: str, **place: Unpack[Place]) -> ThreadHandle:
        """An inline comment for itself."""
        said = remark({**place, "body": body})
        with self.world.lock:
            made = threads.comment(self.world, caller(self.world, by), self.of, said)
        return ThreadHandle(self.world, made.thread)

    def say(self, by: str, body: str) -> CommentHandle:
        """A comment in the conversation."""
        with self.world.lock:
            return CommentHandle(self.world, conversation.say(self.world, caller(self.world, by), self.of.issue, body))

    def request_review(self, *logins: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            reviewers.request(self.world, caller(self.world, by), self.of, logins)

    def label(self, *names: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            labels.add(self.world, caller(self.world, by), self.of.issue, names)

    def unlabel(self, name: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            labels.remove(self.world, caller(self.world, by), self.of.issue, name)

    def assign(self, *logins: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            found = [account(self.world, login) for login in logins]
            labels.assign(self.world, caller(self.world, by), self.of.issue, found)

    def close(self, by: str = MAINTAINER) -> None:
        with self.world.lock:
            pulls.close(self.world, caller(self.world, by), self.of.issue)

    def reopen(self, by: str = MAINTAINER) -> None:
        with self.world.lock:
            pulls.reopen(self.world, caller(self.world, by), self.of.issue)

    def merge(self, by: str = MAINTAINER) -> str:
        with self.world.lock:
            sha = pulls.merge(self.world, caller(self.world, by), self.of)
            self.repo.noted(self.of.base_ref, by)
            return sha

    def draft(self, *, on: bool = True, by: str = MAINTAINER) -> None:
        with self.world.lock:
            pulls.draft(self.world, caller(self.world, by), self.of, on=on)

    def edit(self, title: str | None = None, body: str | None = None, by: str = MAINTAINER) -> None:
        with self.world.lock:
            pulls.retitle(self.world, caller(self.world, by), self.of, title, body)

    def retarget(self, base: str, by: str = MAINTAINER) -> None:
        with self.world.lock:
            pulls.retarget(self.world, caller(self.world, by), self.of, base)

    def lock(self, reason: str | None = None, by: str = MAINTAINER) -> None:
        with self.world.lock:
            pulls.lock(self.world, caller(self.world, by), self.of.issue, reason)

    def unlock(self, by: str = MAINTAINER) -> None:
        with self.world.lock:
            pulls.unlock(self.world, caller(self.world, by), self.of.issue)

    def queue(self, *, on: bool = True, by: str = MAINTAINER) -> None:
        """Into the merge queue, or out of it."""
        with self.world.lock:
            pulls.queue(self.world, caller(self.world, by), self.of, on=on)

    def status(self, context: str, state: str, by: str = MAINTAINER) -> None:
        said = {"context": context, "state": state}
        with self.world.lock:
            checks.report_status(self.world, caller(self.world, by), self.of.repo, self.of.head, said)

    def check(self, name: str, conclusion: str | None, summary: str | None = None) -> None:
        """End the run of this name on the head, or start one; a second one of the same name is a re-run."""
        self.repo.check(self.of.head, name, conclusion, summary)

    def lose(self, reads: int = 1) -> None:
        """404 for the next reads."""
        self.world.lag.lose(self.of.node, reads)

    def stale(self, reads: int = 1) -> None:
        """Show the head before this one for the next reads."""
        self.world.lag.stale_head(self.of.node, self.of.heads[-2], reads)
